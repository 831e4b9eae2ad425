"""A rotation whose JVM halts in the middle: ``python -m tests.rotation.killed_job TABLE CLASSES AFTER``.

It ends like its JVM. It rotates ``TABLE`` until there were this many changes; ``CLASSES`` has the file system.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pme_parquet as pme
from tests.support.file_systems import STOPPING, until_halted
from tests.support.kms.clients import Remembering
from tests.support.tables import NEW

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def rotate(
    spark: SparkSession, table: Path, kms: pme.PythonKms, key_material: Literal["internal", "external"] | None = None
) -> pme.RotationReport:
    """Wrap a table's keys with new master keys, on the file system that stops."""
    return pme.rotate(spark, table, kms=kms, master_keys=NEW, key_material=key_material, options=STOPPING)


def main(table: Path, classes: Path, after: int) -> int:
    """Rotate the table, and return the exit code of the JVM, or 0 if it did not end."""
    return until_halted(table, classes, after, lambda spark: rotate(spark, table, pme.PythonKms(Remembering())))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
