"""Parts of ``encrypt_job``: other sessions, disks that stop, kills, and steps that go wrong."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pme_parquet as pme
import pme_parquet.delta
from tests.delta import encrypt_killed_job
from tests.delta.delta_tables import clear_logs
from tests.delta.encrypt_tables import OPEN, Killed, follow
from tests.delta.watched import COMPARE, CONFLICT, GO_ON, NO_ROWS, REWRITE, watched
from tests.support.canary import files_under
from tests.support.file_systems import NEVER, STOPPING, changes_left, stopping
from tests.support.processes import PATIENCE_TO_HALT, environment
from tests.support.session import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.delta.encrypt_tables import Encrypting

STRIDE = 5
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


class AfterRewrites:
    """Acts after some rewrites, before the first comparison."""

    def __init__(self, times: int, act: Callable[[], object]) -> None:
        self.left = times
        self.act = act
        self.is_rewritten = False

    def __call__(self, step: str) -> str:
        if step == COMPARE and self.is_rewritten and self.left:
            self.left -= 1
            self.act()
        self.is_rewritten = step == REWRITE
        return GO_ON


def concurrent(job: Encrypting) -> None:
    """Let another session append plaintext after each rewrite."""
    for name, times in {"once": 1, "always": 100}.items():
        # The other implementation cannot read an encrypted checkpoint.
        table = job.written(name, "TBLPROPERTIES ('delta.checkpointInterval' = '100')")
        with watched(job.spark, AfterRewrites(times, partial(job.outsider, name))):
            job.encrypt(name, table, OPEN)
    job.read("once rows", "once")
    job.encrypt("always again", job.place("always"), OPEN)
    job.read("always rows", "always")


def stopped(job: Encrypting) -> None:
    """Let the disk stop after any number of changes, and run again."""
    table = Path(job.written("stopped"))
    counted = shutil.copytree(table, job.work / "tables" / "counted")
    for name, value in STOPPING.items():
        job.spark.conf.set(name, value)
    with stopping(job.spark, NEVER):
        pme.delta.encrypt_table(job.spark, counted, OPEN)
        changes = NEVER - changes_left(job.spark)
    for after in range(0, changes, STRIDE):
        copy = shutil.copytree(table, job.work / "tables" / f"stopped-{after}")
        with stopping(job.spark, after):
            job.attempt(f"stopped {after} first", partial(pme.delta.encrypt_table, job.spark, copy, OPEN))
        clear_logs(job.spark)
        with stopping(job.spark, NEVER):
            job.encrypt(f"stopped {after}", str(copy), OPEN)
            job.read(f"stopped {after} rows", copy.name)


def killed(job: Encrypting) -> None:
    """Kill the process at points of a run, and run again."""
    table = Path(job.written("killed"))
    for point in encrypt_killed_job.POINTS:
        name = f"killed {point}"
        copy = shutil.copytree(table, job.work / "tables" / name)
        scratch = job.work / "scratch" / point
        scratch.mkdir(parents=True)
        arguments = [str(scratch), str(copy), point, str(job.work / "classes")]
        ended = subprocess.run(
            [sys.executable, "-m", encrypt_killed_job.__name__, *arguments],
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE_TO_HALT,
            check=False,
        )
        version = job.spark.sql(f"DESCRIBE HISTORY delta.`{copy}`").count() - 1
        # Hadoop keeps a checksum next to each file of a local disk.
        marks = [file for file in files_under(copy / "_pme_encrypting") if not file.name.startswith(".")]
        job.encrypt(name, str(copy), encrypt_killed_job.ENC)
        job.encrypt(f"{name} again", str(copy), encrypt_killed_job.ENC)
        left = [one.name for one in copy.iterdir() if one.name.startswith("_pme")]
        job.killed[point] = Killed(ended.returncode, ended.stderr[-2000:], version, len(marks), left)
        follow(job, name, str(copy), job.result(name).statements)
        job.read(f"{name} rows", name)


def told(job: Encrypting) -> None:
    """Let a step go wrong, and follow what the error says; commits have the user's own text."""
    table = job.written("told")
    # Of the two versions that are compared, the second one.
    steps = iter([GO_ON, GO_ON, NO_ROWS])
    with watched(job.spark, lambda _: next(steps, GO_ON)):
        job.encrypt("told: rows", table, OPEN)
    name = f"delta.`file:{table}`"
    again = f"INSERT OVERWRITE {name} SELECT * FROM {name} VERSION AS OF 3"
    job.spark.conf.set("pme-parquet.plaintextFiles", "allow")
    job.note("told: advice", again)
    job.spark.conf.unset("pme-parquet.plaintextFiles")
    job.read("told rows", "told")
    job.spark.conf.set(USER_METADATA, "ticket 7")
    job.keep("told: rotated", lambda: pme.delta.rotate(job.spark, table, OPEN))
    history = job.spark.sql(f"DESCRIBE HISTORY delta.`{table}` LIMIT 1").select("userMetadata").collect()
    job.attempt("told: user metadata", lambda: [*(row[0] for row in history), job.spark.conf.get(USER_METADATA)])
    job.spark.conf.unset(USER_METADATA)
    job.sql(f"DELETE FROM delta.`{table}`")
    job.keep("told: empty", lambda: pme.delta.rotate(job.spark, table, OPEN))


def conflicts(job: Encrypting) -> None:
    """Let another session come first each time."""
    table = job.written("conflicts")
    job.encrypt("conflicts", table, OPEN)
    with watched(job.spark, lambda _: CONFLICT):
        job.keep("conflicts: rotated", lambda: pme.delta.rotate(job.spark, table, OPEN))
