"""Python processes that start a Spark of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.support import archive
from tests.support.session import ROOT

if TYPE_CHECKING:
    from types import ModuleType

PATIENCE = 240

# Of a process whose JVM halts, which may be late in its work.
PATIENCE_TO_HALT = 300
HALTED = 137


def environment() -> dict[str, str]:
    """Return the environment of such a process: nothing of this one's Spark, and everything that can be imported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    return kept | archive.VARIABLES | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}


def result_of(job: ModuleType, *arguments: str, patience: int = PATIENCE) -> Any:
    """Run a module as a script, and return the JSON in the last line of its output."""
    done = subprocess.run(
        [sys.executable, str(job.__file__), *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=patience,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def assert_halts(job: str, *arguments: object) -> None:
    """Run a module by its name, and fail unless its JVM halts."""
    done = subprocess.run(
        [sys.executable, "-m", job, *map(str, arguments)],
        env=environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_TO_HALT,
        check=False,
    )
    assert done.returncode == HALTED, done.stderr
