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
from pme_parquet._delta_tables.logged import LoggedTable
from tests.delta import delta_tables
from tests.support import java
from tests.support.storage.file_systems import STOPPING, stop_after

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENC = pme.Encryption(
    footer_key="footer", column_keys={"pii": ["ssn", "home", "jobs", "notes"]}, unlisted_columns="plaintext"
)
# The method at whose beginning everything ends, or the number of changes that a rewrite makes.
POINTS: dict[str, str | int] = {
    "between the commits": "rewrite",
    "writing": 4,
    "committed": "content",
    "compared": "unmark",
}


def kill_at(spark: SparkSession, point: str | int) -> None:
    """Let the process end at a point."""
    jvm: Any = spark._jvm
    process = int(jvm.java.lang.ProcessHandle.current().pid())
    original = LoggedTable.rewrite

    def kill(*_: object) -> Any:
        os.kill(process, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    def halting(of: LoggedTable, order: str | None, text: str) -> tuple[int, int]:
        stop_after(spark, int(point), halts=True)
        return original(of, order, text)

    if isinstance(point, str):
        setattr(LoggedTable, point, kill)
    else:
        LoggedTable.rewrite = halting  # type: ignore[assignment,method-assign]


def main(scratch: Path, table: str, point: str, classes: Path) -> None:
    """Encrypt the table until the point."""
    spark = delta_tables.session(scratch)
    java.add_to_class_path(spark, classes)
    for name, value in STOPPING.items():
        spark.conf.set(name, value)
    stop_after(spark, 1_000_000)
    kill_at(spark, POINTS[point])
    pme.delta.encrypt_table(spark, table, ENC)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4]))
