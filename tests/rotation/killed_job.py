"""A rotation whose JVM halts in the middle: ``python -m tests.rotation.killed_job TABLE CLASSES AFTER``.

It ends as its JVM does. ``TABLE`` is rotated until so many changes are made; ``CLASSES`` has the file system.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Any, Literal

import pme_parquet as pme
from tests.rotation.file_systems import STOPPING, stop_after
from tests.rotation.tables import NEW, Remembering
from tests.support.java import add_to_class_path
from tests.support.session import builder, session_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 10


def rotate(
    spark: SparkSession, table: Path, kms: pme.PythonKms, key_material: Literal["internal", "external"] | None = None
) -> pme.RotationReport:
    """Put a table's keys under new master keys, on the file system that stops."""
    return pme.rotate(spark, table, kms=kms, master_keys=NEW, key_material=key_material, options=STOPPING)


def main(table: Path, classes: Path, after: int) -> int:
    """Rotate the table, and return what the JVM ended with, or 0 where it did not end."""
    spark = builder(session_settings(table.parent / "scratch")).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    add_to_class_path(spark, classes)
    stop_after(spark, after, halts=True)
    gateway: Any = spark.sparkContext._gateway
    try:
        rotate(spark, table, pme.PythonKms(Remembering()))
    except Exception:
        # Python is told that nobody answers any more; what else went wrong is to be seen.
        with suppress(TimeoutExpired):
            ended: int = gateway.proc.wait(PATIENCE)
            return ended
        raise
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
