"""The forms of progress: a bar on a terminal, one in a notebook, lines elsewhere, or nothing."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from pme_parquet._display.words import number, size

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

_MINUTE = 60
_HOUR = 60 * _MINUTE
_SECONDS_BETWEEN_LINES = 5


@dataclass(frozen=True)
class Step:
    """A part of an operation that goes through all files.

    Attributes:
        name: what it does.
        files: number of finished files.
        all_files: number of all files.
        bytes: number of finished bytes; 0 if bytes do not matter.
        all_bytes: number of all bytes.
    """

    name: str
    files: int
    all_files: int
    bytes: int
    all_bytes: int

    @classmethod
    def parsed(cls, text: str) -> Step:
        """The step that the connector reports."""
        name, *numbers = text.split("\t")
        return cls(name, *map(int, numbers))

    @property
    def fraction(self) -> float:
        """The finished fraction: by bytes, if there are any."""
        done, total = (self.bytes, self.all_bytes) if self.all_bytes else (self.files, self.all_files)
        return done / total if total else 1.0

    def __str__(self) -> str:
        files = f"{self.files:,} of {number(self.all_files, 'file')}"
        return f"{files}, {size(self.bytes)} of {size(self.all_bytes)}" if self.all_bytes else files


class Clock:
    """Estimates how long a step still takes, from its pace so far."""

    def __init__(self) -> None:
        self._name = ""
        self._since = 0.0

    def left(self, step: Step) -> str:
        """The estimate in words; empty if there is none yet."""
        if step.name != self._name:
            self._name, self._since = step.name, monotonic()
        if not 0 < step.fraction < 1:
            return ""
        seconds = (monotonic() - self._since) * (1 - step.fraction) / step.fraction
        return f", {_words(seconds)} left"


def _words(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"


class Form(Protocol):
    """Where progress is shown. The file is stderr: results go to stdout."""

    looks: bool

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, why: BaseException | None, at: TracebackType | None
    ) -> None: ...

    def show(self, step: Step | None) -> None:
        """Shows a step. The caller calls it often."""

    def finish(self, step: Step | None) -> None:
        """Ends the display. The caller calls it once."""


def chosen(*, progress: bool | None) -> Form:
    """The form that fits the place where this runs.

    Args:
        progress: None shows it only to people, on a terminal and in a notebook.
    """
    if progress is False:
        return Nothing()
    notebook = _display()
    if notebook is not None:
        return Notebook(notebook)
    if sys.stderr.isatty():
        from rich.console import Console  # noqa: PLC0415 slow to import

        console = Console(stderr=True)
        return Lines() if console.is_dumb_terminal else Bar(console)
    return Lines() if progress else Nothing()


def _display() -> Any:  # noqa: ANN401 IPython need not be here
    """IPython's display function, if a notebook's kernel runs this."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display  # noqa: PLC0415 it is there

    return display


class Nothing:
    """No progress; nothing asks the connector for it."""

    looks = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, step: Step | None) -> None:
        """Shows nothing."""

    def finish(self, step: Step | None) -> None:
        """Shows nothing."""


class Lines(Nothing):
    """One line every few seconds, one for each step, and a last one."""

    looks = True

    def __init__(self) -> None:
        self._clock = Clock()
        self._last: Step | None = None
        self._at = 0.0

    def show(self, step: Step | None) -> None:
        """Prints a line if it is time."""
        if step is None or step == self._last:
            return
        left = self._clock.left(step)
        is_new = self._last is None or step.name != self._last.name
        if is_new or monotonic() - self._at >= _SECONDS_BETWEEN_LINES:
            self._print(step, left)

    def finish(self, step: Step | None) -> None:
        """Prints the state at the end."""
        if step is not None and step != self._last:
            self._print(step, "")

    def _print(self, step: Step, left: str) -> None:
        self._last, self._at = step, monotonic()
        sys.stderr.write(f"{step.name}: {step}{left}\n")
        sys.stderr.flush()


class Bar(Nothing):
    """Rich's bar on a terminal; it disappears at the end."""

    looks = True

    def __init__(self, console: Any) -> None:  # noqa: ANN401 rich is slow to import
        from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415 as above

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"))
        self._clock = Clock()
        self._bar = Progress(*columns, console=console, transient=True)
        self._task = self._bar.add_task("starting", total=None, text="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, step: Step | None) -> None:
        """Moves the bar."""
        if step is not None:
            text = f"{step}{self._clock.left(step)}"
            self._bar.update(self._task, description=step.name, completed=step.fraction, total=1, text=text)

    def finish(self, step: Step | None) -> None:
        """Moves the bar to its end."""
        self.show(step)


class Notebook(Nothing):
    """An HTML bar in a cell's output, which IPython can change in place without widgets."""

    looks = True

    def __init__(self, display: Any) -> None:  # noqa: ANN401 IPython's function
        self._clock = Clock()
        self._display = display
        self._handle: Any = None
        self._last = ""

    def show(self, step: Step | None) -> None:
        """Changes the bar, if there is something new."""
        if step is not None:
            self._put(step, self._clock.left(step))

    def finish(self, step: Step | None) -> None:
        """Leaves the bar as it is at the end."""
        if step is not None:
            self._put(step, "")

    def _put(self, step: Step, left: str) -> None:
        from html import escape  # noqa: PLC0415 only here

        html = f'<progress value="{step.fraction:.3f}" max="1"></progress> {escape(f"{step.name}: {step}{left}")}'
        if html == self._last:
            return
        self._last = html
        shown = {"text/html": html, "text/plain": f"{step.name}: {step}{left}"}
        if self._handle is None:
            self._handle = self._display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)
