"""Records what each process of `make test` runs and how long it takes, and checks that every test runs in one of them.

A test that is marked ``nightly`` does not count.

``python -m tests.support.ran 3.5.9 4.3.0`` prints a table and fails if a test runs in none.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support import selection

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target" / "tests"
# Whether another process has collected all tests: it takes ten seconds of processor time.
COLLECTED = bool(os.environ.get("PME_TEST_COLLECTED"))
SKIPPED = -1

# The number of rows of each test that run in a process, or that all of them are skipped there.
Rows = dict[str, int]

# How many of the slowest tests are printed.
SLOWEST = 30

# The seconds of each test in this process, of all of its rows, with their fixtures.
_seconds: defaultdict[str, float] = defaultdict(float)


def write_down(items: Iterable[pytest.Item], kept: set[pytest.Item], process: str) -> None:
    """Write what this process runs to `target/tests`."""
    rows: Rows = {}
    skipped: dict[str, bool] = {}
    for item in items:
        if selection.is_nightly(item):
            continue
        name = selection.name(item)
        skipped[name] = skipped.get(name, True) and selection.is_skipped(item)
        rows[name] = rows.get(name, 0) + (item in kept)
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not COLLECTED:
        (FOLDER / "files.json").write_text(json.dumps(selection.files(items), indent=1))
    counted = {name: SKIPPED if skipped[name] else count for name, count in rows.items()}
    (FOLDER / f"{process}.json").write_text(json.dumps(counted, indent=1))


def has_none(file: Path, process: str) -> bool:
    """Return whether the process that collected before this one says that this one runs no test of a file."""
    if not COLLECTED or not file.name.startswith("test_"):
        return False
    return file.relative_to(ROOT).as_posix() not in _files()[process]


@cache
def _files() -> dict[str, list[str]]:
    found: dict[str, list[str]] = _read("files")
    return found


def add_seconds(report: pytest.TestReport) -> None:
    """Add the time of a test, or of its fixtures."""
    _seconds[report.nodeid.partition("[")[0]] += report.duration


def write_seconds(process: str) -> None:
    """Write the seconds of each test to `target/tests`."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{process}-seconds.json").write_text(json.dumps(_seconds, indent=1))


def folder_of(test: str) -> str:
    """Return the folder of a test below `tests`."""
    return test.split("/")[1]


def forgotten(found: list[Rows]) -> list[str]:
    """Return the tests that no process runs, although one could."""
    names = {name for rows in found for name in rows}
    counts = {name: [rows.get(name, SKIPPED) for rows in found] for name in names}
    return sorted(name for name, some in counts.items() if max(some) == 0)


def table(headings: list[str], found: list[Rows], seconds: list[dict[str, float]]) -> str:
    """Return how many rows of each folder's tests each process ran, and in how many seconds."""
    folders = sorted({folder_of(name) for rows in found for name in rows})
    lines = ["".join([f"{'rows (seconds)':14}", *(f"{heading:>14}" for heading in headings)])]
    for folder in [*folders, ""]:
        line = f"{folder or 'all':14}"
        for rows, took in zip(found, seconds, strict=True):
            count = sum(max(rows[name], 0) for name in rows if folder in {"", folder_of(name)})
            spent = sum(took[name] for name in took if folder in {"", folder_of(name)})
            line += f"{f'{count} ({spent:.0f})':>14}"
        lines.append(line)
    return "\n".join(lines)


def slowest(headings: list[str], seconds: list[dict[str, float]]) -> str:
    """Return the slowest tests of all processes, with the process of each."""
    found = [(took[name], heading, name) for heading, took in zip(headings, seconds, strict=True) for name in took]
    lines = [f"{spent:5.1f} s  {heading:8} {name}\n" for spent, heading, name in sorted(found, reverse=True)[:SLOWEST]]
    return f"The slowest tests, with their fixtures:\n{''.join(lines)}"


def main(versions: list[str]) -> int:
    """Print what ran in each process; return 1 if a test ran in none. The versions are those of the two Sparks."""
    found: list[Rows] = [_read(process) for process in selection.PROCESSES]
    seconds: list[dict[str, float]] = [_read(f"{process}-seconds") for process in selection.PROCESSES]
    headings = [*versions, selection.BESIDE]
    sys.stdout.write(f"{slowest(headings, seconds)}{table(headings, found, seconds)}\n")
    missed = forgotten(found)
    if missed:
        names = "".join(f"  {name}\n" for name in missed)
        sys.stdout.write(f"These tests ran in no process, although none of them is marked `nightly`:\n{names}")
    return 1 if missed else 0


def _read(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
