"""Records what each process of `make test` runs, and checks that every test runs in one of them.

A test whose rule leaves it to `make test-all` does not count.

``python -m tests.support.ran 3.5.9 4.3.0`` prints a table and fails if a test runs in none.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support import sample

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

FOLDER = Path(__file__).resolve().parents[2] / "target" / "tests"
SKIPPED = -1

# The number of rows of each test that run in a process, or that all of them are skipped there.
Rows = dict[str, int]


def write_down(items: Iterable[pytest.Item], kept: set[pytest.Item], process: str) -> None:
    """Write what this process runs to `target/tests`."""
    rows: Rows = {}
    skipped: dict[str, bool] = {}
    for item in items:
        name = sample.name(item)
        if sample.rule(name) is sample.LEFT:
            continue
        skipped[name] = skipped.get(name, True) and sample.is_skipped(item)
        rows[name] = rows.get(name, 0) + (item in kept)
    FOLDER.mkdir(parents=True, exist_ok=True)
    counted = {name: SKIPPED if skipped[name] else count for name, count in rows.items()}
    (FOLDER / f"{process}.json").write_text(json.dumps(counted, indent=1))


def forgotten(found: list[Rows]) -> list[str]:
    """Return the tests that no process runs, although one could. A process need not list what it does not run."""
    names = {name for rows in found for name in rows}
    counts = {name: [rows.get(name, SKIPPED) for rows in found] for name in names}
    return sorted(name for name, some in counts.items() if max(some) == 0)


def table(headings: list[str], found: list[Rows]) -> str:
    """Return how many tests of each folder each process runs, and how many of their rows."""
    folders = sorted({name.split("/")[1] for rows in found for name in rows})
    lines = ["".join([f"{'tests (rows)':14}", *(f"{heading:>14}" for heading in headings)])]
    for folder in [*folders, ""]:
        line = f"{folder or 'all':14}"
        for rows in found:
            run = Counter(
                {name: count for name, count in rows.items() if name.startswith(f"tests/{folder}") and count > 0}
            )
            line += f"{f'{len(run)} ({run.total()})':>14}"
        lines.append(line)
    return "\n".join(lines)


def main(versions: list[str]) -> int:
    """Print what ran in each process; return 1 if a test ran in none. The versions are those of the two Sparks."""
    found = [json.loads((FOLDER / f"{process}.json").read_text()) for process in sample.PROCESSES]
    sys.stdout.write(f"{table([*versions, sample.BESIDE], found)}\n")
    missed = forgotten(found)
    if missed:
        names = "".join(f"  {name}\n" for name in missed)
        sys.stdout.write(f"These tests ran in no process. Change their rule in tests/support/sample.py:\n{names}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
