"""A migration whose JVM halts in the middle: ``python -m tests.orc.halted_migration SOURCE CLASSES AFTER``.

It ends like its JVM. It migrates ``SOURCE`` until the disk has had this many changes; ``CLASSES`` has the file system.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.orc.migrating import Keys
from tests.support.file_systems import STOPPING, until_halted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def migrate(spark: SparkSession, source: Path) -> pme.Migrated:
    """Migrate to a target beside the source, with keys beside the source."""
    return pme.migrate_orc(spark, source, source.with_name("target"), Keys(source.parent).enc)


def main(source: Path, classes: Path, after: int) -> int:
    """Migrate the table, and return the exit code of the JVM, or 0 if it did not end."""

    def change(spark: SparkSession) -> None:
        for name, value in STOPPING.items():
            spark.conf.set(name, value)
        migrate(spark, source)

    return until_halted(source, classes, after, change)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
