"""What came of parts of ``delta_job``, and what is readable in their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.delta import delta_job
from tests.delta.delta_tables import CANARY
from tests.support.canary import find_canaries
from tests.support.processes import result_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

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
CHECKPOINT = ["note", "encrypted checkpoint", ""]
VECTORS = ["note", "deletion vectors", ""]
# A shallow clone has files of its source, by their absolute paths.
ELSEWHERE = [["unread", "not looked at", ""], ["unread", "outside path", ""]]


class Ran:
    """What came of the job, and where its tables are."""

    def __init__(self, work: Path, parts: Iterable[str], patience: int = PATIENCE) -> None:
        self.done: dict[str, Any] = result_of(delta_job, str(work), *parts, patience=patience)
        self.tables = work / "tables"
        steps = {step: outcome for step, outcome in self.done.items() if step.startswith("step ")}
        assert steps == dict.fromkeys(steps, "done"), steps

    def refused(self, prefix: str, text: str) -> list[str]:
        """Return the steps with such a name, each of which must have been refused with the text."""
        steps = [step for step in self.done if step == prefix or step.startswith(f"{prefix} ")]
        for step in steps:
            assert self.done[step][0] == "PME_UNSUPPORTED", (step, self.done[step])
            assert text in self.done[step][1], (step, self.done[step])
            assert CANARY not in self.done[step][1], step
        return steps

    def said(self, step: str) -> tuple[list[str], list[list[str]]]:
        """Return the protected columns, and the findings of each kind, of a check in the session."""
        return self.done[step]["columns"], self.done[step]["findings"]

    def readable(self, *names: str) -> list[str]:
        return [str(found) for name in names for found in find_canaries(self.tables / name, [CANARY])]

    def checkpoints(self, name: str) -> list[bytes]:
        files = sorted((self.tables / name / "_delta_log").glob("*.checkpoint*.parquet"))
        return [file.read_bytes()[-4:] for file in files]


def assert_changed(ran: Ran, prefix: str = "") -> None:
    """Fail unless all statements of `delta_evolutions.changes` did what they should."""
    for step, outcome in CHANGES.items():
        assert ran.done[f"{prefix}{step}"] == outcome, step
    for step, metrics in REWRITES.items():
        # A statement that failed has a message instead of a row.
        assert [row for row in ran.done[f"{prefix}{step}"] if row.startswith("(") and metrics in row], step


def assert_encrypted(ran: Ran, *tables: str) -> None:
    assert ran.readable(*tables) == []
    # A search does not see into compressed pages.
    files = [file for name in tables for file in (ran.tables / name).rglob("*.parquet")]
    assert {file.read_bytes()[-4:] for file in files} == {b"PARE"}
