"""A measuring process: it gets a job, and answers with a result."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from bench.job import RESULT_MARK
from bench.place import ROOT

if TYPE_CHECKING:
    from bench.job import Job, Result

MOST_SECONDS = 1800


class WorkerFailedError(Exception):
    """A measuring process failed."""


def run_job(job: Job) -> Result:
    """Run a process to its end and return its result."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.worker"],
        input=json.dumps(job),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    said = [line for line in done.stdout.splitlines() if line.startswith(RESULT_MARK)]
    if done.returncode != 0 or not said:
        raise WorkerFailedError("\n".join(done.stderr.strip().splitlines()[-25:]))
    result: Result = json.loads(said[-1].removeprefix(RESULT_MARK))
    return result
