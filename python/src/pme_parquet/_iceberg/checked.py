"""What a check of an Iceberg table found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pme_parquet._checks.findings import CheckFinding, CheckResult
from pme_parquet._display.words import printable

if TYPE_CHECKING:
    from pme_parquet._display.content import Shown


@dataclass(frozen=True, slots=True)
class IcebergFinding(CheckFinding):
    """What anyone who can read the storage of an Iceberg table learns.

    Attributes:
        kind: a short name, for example `ignored key`, `plaintext file` or `data keys`.
        severity: `high`: values, or keys of files, are readable. `low`: something about values is. `note`: nothing is,
            but read it. `unread`: this was not looked at.
        column: a column's name; empty if there is none, `*` if it may be any.
        file: its path below the table, without values of partition columns; empty for the whole table.
        what: a sentence that contains no value of the table.
    """


@dataclass(frozen=True)
class IcebergCheck(CheckResult):
    """The result of a check. Print it, display it in a notebook, or use its attributes.

    Attributes:
        path: the checked table.
        version: the number in the name of its newest metadata file; None if that has none.
        key: the master key that its newest metadata names; None if it names none.
        findings: what anyone can read, and what was not looked at; the worst first.
        looked_at: numbers of files by what they are.
        storage: how the storage was reached, in words without secrets; empty for local files.
    """

    path: str
    version: int | None
    key: str | None
    findings: tuple[IcebergFinding, ...] = field(repr=False)
    looked_at: dict[str, int]
    storage: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Everything, as for JSON."""
        return {
            "path": self.path,
            "storage": self.storage,
            "version": self.version,
            "key": self.key,
            "ok": self.ok,
            "looked_at": self.looked_at,
            "findings": [asdict(finding) for finding in self.findings],
        }

    @property
    def _shown(self) -> Shown:
        return self._shown_as("Iceberg table", f"encryption.key-id: {printable(self.key) if self.key else 'none'}")
