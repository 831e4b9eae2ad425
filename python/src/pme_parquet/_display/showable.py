"""Results that users print, show in a notebook, or show with rich on a terminal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pme_parquet._display.content import Shown


class Showable(ABC):
    """A result that defines its content in `_shown`. Modules that make the forms are imported when needed."""

    @property
    @abstractmethod
    def _shown(self) -> Shown:
        """The title, tables and lines of every form."""

    def __str__(self) -> str:
        from pme_parquet._display.forms import text  # noqa: PLC0415 only when it is shown

        return text(self._shown)

    def _repr_html_(self) -> str:
        from pme_parquet._display.forms import html  # noqa: PLC0415 as above

        return html(self._shown)

    def __rich__(self) -> RenderableType:
        from pme_parquet._display.forms import rich  # noqa: PLC0415 as above

        return rich(self._shown)
