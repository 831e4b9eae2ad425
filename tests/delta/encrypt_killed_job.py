"""An encryption that is killed: ``python -m tests.delta.encrypt_killed_job SCRATCH TABLE POINT CLASSES``.

JVM and Python end as by ``kill -9``. ``CLASSES`` has the file system that halts in the middle of a write.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pme_parquet as pme
import pme_parquet.delta
from tests.delta import delta_tables
from tests.delta.watched import GO_ON, watched
from tests.support import java
from tests.support.file_systems import STOPPING, stop_after

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENC = pme.Encryption(
    footer_key="footer", column_keys={"pii": ["ssn", "home", "jobs", "notes"]}, unlisted_columns="plaintext"
)
# Before which step of a run everything ends, or the number of changes that the disk makes after it.
POINTS: dict[str, tuple[int, int | None]] = {
    "between the commits": (1, None),
    "writing": (1, 4),
    "committed": (2, None),
    "compared": (3, 0),
}


class Ending:
    """Lets the process end at a step: first a rewrite, then two comparisons."""

    def __init__(self, spark: SparkSession, step: int, changes: int | None) -> None:
        jvm: Any = spark._jvm
        self.spark, self.step, self.changes = spark, step, changes
        self.process = int(jvm.java.lang.ProcessHandle.current().pid())
        self.steps = 0

    def __call__(self, _: str) -> str:
        self.steps += 1
        if self.steps == self.step and self.changes is None:
            os.kill(self.process, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        if self.steps == self.step and self.changes is not None:
            stop_after(self.spark, self.changes, halts=True)
        return GO_ON


def main(scratch: Path, table: str, point: str, classes: Path) -> None:
    """Encrypt the table until the point."""
    spark = delta_tables.session(scratch)
    java.add_to_class_path(spark, classes)
    for name, value in STOPPING.items():
        spark.conf.set(name, value)
    stop_after(spark, 1_000_000)
    with watched(spark, Ending(spark, *POINTS[point])):
        pme.delta.encrypt_table(spark, table, ENC)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4]))
