"""What `pme.doctor` found, and how it is shown."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from pme_parquet._display.content import Showable
from pme_parquet._display.words import number, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pme_parquet._display.content import Shown

Status = Literal["ok", "warning", "problem"]
_STYLES = {"ok": "green", "warning": "yellow", "problem": "red"}


@dataclass(frozen=True, slots=True)
class Check:
    """What was found of one thing.

    Attributes:
        name: what was looked at.
        status: `ok`; `warning`, where it works and something is to be known, or it could not be looked at; `problem`,
            where reads or writes fail or are not what they should be.
        found: what it is.
        remedy: what to do; empty where it is ok.
    """

    name: str
    status: Status
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Diagnosis(Showable):
    """What `pme.doctor` found. Print it, show it in a notebook, or take it apart.

    Attributes:
        checks: all that was looked at.
    """

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no problem; there may be warnings."""
        return all(check.status != "problem" for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as for JSON."""
        return {"ok": self.ok, "checks": [asdict(check) for check in self.checks]}

    @property
    def _shown(self) -> Shown:
        from pme_parquet._display.content import Shown, Table  # noqa: PLC0415 only when it is shown

        counts = Counter(check.status for check in self.checks)
        parts = (number(counts["problem"], "problem"), number(counts["warning"], "warning"), f"{counts['ok']} ok")
        rows = [row for check in self.checks for row in _rows(check)]
        table = Table((), tuple(row for _, row in rows), tuple(style for style, _ in rows), free=True)
        return Shown(f"pme-parquet doctor: {', '.join(parts)}", (table,) if rows else ())


def _rows(check: Check) -> Iterator[tuple[str, tuple[str, str, str]]]:
    style = _STYLES[check.status]
    yield style, (check.status, printable(check.name), printable(check.found))
    if check.remedy:
        yield style, ("", "", f"-> {printable(check.remedy)}")
