"""What came of parts of ``delta_job``, and what is readable in their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.delta import delta_job
from tests.delta.delta_tables import CANARY, Result
from tests.support.canary import find_canaries
from tests.support.processes import result_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.support.metastore import Outcome

PATIENCE = 1800
# The results of `delta_evolutions.changes`.
CHANGES = {
    "append": [],
    "updated": ["(1,)"],
    "deleted": ["(1,)"],
    "merged": ["(2, 0, 1, 1)"],
    "evolved": [],
    "inserted": [],
    "cloned insert": [],
    "old": ["(4,)"],
    "changes": ["(True,)"],
    "rows": ["(20, 20)"],
}
REWRITES = {
    "purged": "numFilesAdded=1",
    "optimized": "numFilesAdded=1",
    "z-ordered": "numFilesAdded=1",
    "vacuumed": "tables",
    "cloned": "",
    "restored": "",
}
# Findings of `check`.
CHECKPOINT = ("note", "encrypted checkpoint", "")
VECTORS = ("note", "deletion vectors", "")
# A shallow clone has files of its source, by their absolute paths.
ELSEWHERE = [("unread", "not looked at", ""), ("unread", "outside path", "")]


class Ran:
    """What came of the job, and where its tables are."""

    def __init__(self, work: Path, parts: Iterable[str], patience: int = PATIENCE) -> None:
        self.result = result_of(delta_job, Result, str(work), *parts, patience=patience)
        self.done, self.checks = self.result.done, self.result.checks
        self.tables = work / "tables"

    def refused(self, prefix: str, text: str) -> list[str]:
        """Return the steps with such a name, each of which must have been refused with the text."""
        steps = [step for step in self.done if step == prefix or step.startswith(f"{prefix} ")]
        for step in steps:
            assert_refused(self.done[step], text)
        return steps

    def readable(self, *names: str) -> list[str]:
        return [str(found) for name in names for found in find_canaries(self.tables / name, [CANARY])]

    def checkpoints(self, name: str) -> list[bytes]:
        files = sorted((self.tables / name / "_delta_log").glob("*.checkpoint*.parquet"))
        return [file.read_bytes()[-4:] for file in files]


def assert_refused(step: Outcome, text: str, condition: str = "PME_UNSUPPORTED") -> None:
    """Fail unless a step was refused for this reason, without a value of the table."""
    assert step.condition == condition, step
    assert text in step.message, step
    assert CANARY not in step.message, step


def assert_changed(ran: Ran, prefix: str = "") -> None:
    """Fail unless all statements of `delta_evolutions.changes` did what they should."""
    for step, outcome in CHANGES.items():
        assert ran.done[f"{prefix}{step}"].rows == outcome, step
    for step, metrics in REWRITES.items():
        assert [row for row in ran.done[f"{prefix}{step}"].rows or [] if metrics in row], step


def assert_encrypted(ran: Ran, *tables: str) -> None:
    assert ran.readable(*tables) == []
    # A search does not see into compressed pages.
    files = [file for name in tables for file in (ran.tables / name).rglob("*.parquet")]
    assert {file.read_bytes()[-4:] for file in files} == {b"PARE"}
