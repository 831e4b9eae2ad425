"""Findings of `pme.delta.check`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pme_parquet._checks.findings import CheckFinding, FoundOnce

if TYPE_CHECKING:
    from pme_parquet._delta.protected import Protected


@dataclass(frozen=True, slots=True)
class DeltaFinding(CheckFinding):
    """What anyone who can read the storage of a Delta table learns.

    Attributes:
        kind: a short name, for example `statistics`, `predicate` or `plaintext file`.
        severity: `high`: values are readable. `low`: something about values is. `note`: nothing is, but read it.
            `unread`: this was not looked at.
        column: the protected column by its logical name; empty if there is none, `*` if it may be any.
        file: its path below the table, without values of partition columns; empty for the whole table.
        what: a sentence that contains no value of the table.
    """


class Findings(FoundOnce[DeltaFinding]):
    """Collects findings of protected columns, each once."""

    def __init__(self, protected: Protected) -> None:
        super().__init__(DeltaFinding)
        self.protected = protected
