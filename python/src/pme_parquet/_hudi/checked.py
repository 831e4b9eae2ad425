"""What a check of a Hudi table found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pme_parquet._checks.findings import CheckFinding, CheckResult
from pme_parquet._display.words import printable

if TYPE_CHECKING:
    from pme_parquet._display.content import Shown

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class HudiFinding(CheckFinding):
    """What anyone who can read the storage of a Hudi table learns.

    Attributes:
        kind: a short name, for example `statistics`, `log file` or `plaintext file`.
        severity: `high`: values are readable. `low`: something about values is, or will be. `note`: nothing is, but
            read it. `unread`: this was not looked at.
        column: the protected column; empty if there is none, `*` if it may be any.
        file: its path below the table, without values of partition columns; empty for the whole table.
        what: a sentence that contains no value of the table.
    """


@dataclass(frozen=True)
class HudiCheck(CheckResult):
    """The result of a check. Print it, display it in a notebook, or use its attributes.

    Attributes:
        path: the checked table.
        version: the version of Hudi's table format; None if `hoodie.properties` does not say.
        type: `COPY_ON_WRITE` or `MERGE_ON_READ`; None if `hoodie.properties` does not say.
        columns: the protected columns; empty for all.
        columns_from: how these were found, in words.
        findings: what anyone can read, and what was not looked at; the worst first.
        looked_at: numbers of files by what they are.
        storage: how the storage was reached, in words without secrets; empty for local files.
    """

    path: str
    version: int | None
    type: str | None
    columns: tuple[str, ...]
    columns_from: str
    findings: tuple[HudiFinding, ...] = field(repr=False)
    looked_at: dict[str, int]
    storage: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Everything, as for JSON."""
        return {
            "path": self.path,
            "storage": self.storage,
            "version": self.version,
            "type": self.type,
            "ok": self.ok,
            "columns": list(self.columns),
            "columns_from": self.columns_from,
            "looked_at": self.looked_at,
            "findings": [asdict(finding) for finding in self.findings],
        }

    @property
    def _shown(self) -> Shown:
        names = ", ".join(map(printable, self.columns[:_SHOWN])) + (", …" if len(self.columns) > _SHOWN else "")
        return self._shown_as("Hudi table", f"protected columns ({self.columns_from}): {names or 'all'}")
