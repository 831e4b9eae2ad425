"""What a check found. `view` shows it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pme_parquet._checks.findings import CheckResult
from pme_parquet._display.words import printable

if TYPE_CHECKING:
    from pme_parquet._delta.findings import DeltaFinding
    from pme_parquet._display.content import Shown


_SHOWN = 20


@dataclass(frozen=True)
class DeltaCheck(CheckResult):
    """The result of a check. Print it, display it in a notebook, or use its attributes.

    Attributes:
        path: the checked table.
        version: its newest version; None if nobody can read the table.
        columns: the protected columns by their newest names; empty if none was found.
        columns_from: how these were found, in words.
        findings: what anyone can read, and what was not looked at; the worst first.
        looked_at: numbers: commits, checkpoints, and data files by what the log says of them.
        storage: how the storage was reached, in words without secrets; empty for local files.
        live_by: who says which files are live: `deltalake` or `the session's Delta`; empty if nobody can.
    """

    path: str
    version: int | None
    columns: tuple[str, ...]
    columns_from: str
    findings: tuple[DeltaFinding, ...] = field(repr=False)
    looked_at: dict[str, int]
    storage: str = ""
    live_by: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Everything, as for JSON."""
        return {
            "path": self.path,
            "storage": self.storage,
            "version": self.version,
            "live_by": self.live_by,
            "ok": self.ok,
            "columns": list(self.columns),
            "columns_from": self.columns_from,
            "looked_at": self.looked_at,
            "findings": [asdict(finding) for finding in self.findings],
        }

    @property
    def _shown(self) -> Shown:
        names = ", ".join(map(printable, self.columns[:_SHOWN])) + (", …" if len(self.columns) > _SHOWN else "")
        return self._shown_as("Delta table", f"protected columns ({self.columns_from}): {names or 'none'}")
