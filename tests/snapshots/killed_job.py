"""Steps on a sealed table, and a job whose JVM halts in one.

``python -m tests.snapshots.killed_job STEP TABLE CLASSES AFTER`` ends like its JVM. It takes the step until there were
this many changes; ``CLASSES`` has the file system.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.snapshots.tables import KEYS, KMS
from tests.support.file_systems import STOPPING, until_halted
from tests.support.frames import people

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

UPDATE = KEYS | STOPPING | {"snapshot": "update"}


def seal(spark: SparkSession, table: Path) -> None:
    """Seal the table, with another index than before, so that it gets new parts."""
    pme.seal(spark, table, index=[pme.MinMax("id")], options=KMS | STOPPING)


def expire(spark: SparkSession, table: Path) -> None:
    """Delete all versions but the newest."""
    pme.expire_snapshots(spark, table, keep=1, options=KMS | STOPPING)


def append(spark: SparkSession, table: Path) -> None:
    """Append 20 people, and seal."""
    people(spark, 20).coalesce(2).write.format("pme-parquet").options(**UPDATE).mode("append").save(str(table))


def overwrite(spark: SparkSession, table: Path) -> None:
    """Overwrite all with 20 people, and seal."""
    people(spark, 20).coalesce(2).write.format("pme-parquet").options(**UPDATE).mode("overwrite").save(str(table))


STEPS: dict[str, Callable[[SparkSession, Path], None]] = {
    "seal": seal,
    "expire": expire,
    "append": append,
    "overwrite": overwrite,
}


def main(step: str, table: Path, classes: Path, after: int) -> int:
    """Take the step, and return the exit code of the JVM, or 0 if it did not end."""
    return until_halted(table, classes, after, lambda spark: STEPS[step](spark, table))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])))
