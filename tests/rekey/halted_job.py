"""An encryption whose JVM halts in the middle: ``python -m tests.rekey.halted_job WAY TABLE CLASSES AFTER``.

It ends like its JVM. It encrypts ``TABLE`` until the disk has had this many changes; ``CLASSES`` has the file system.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.support.file_systems import STOPPING, until_halted
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

INTERNAL = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": ["name", "ssn"]})
EXTERNAL = pme.Encryption(kms=TEST_KMS, uniform_key="footer", key_material="external")


def copied(spark: SparkSession, table: Path) -> pme.Copied:
    """Encrypt to a copy beside the table."""
    return pme.encrypt(spark, str(table), str(copy_of(table)), INTERNAL)


def copy_of(table: Path) -> Path:
    """Return the path of the copy."""
    return table.with_name("copy")


def in_place(spark: SparkSession, table: Path) -> pme.Copied:
    """Encrypt in place."""
    return pme.encrypt(spark, str(table), enc=INTERNAL, in_place=True)


def in_place_external(spark: SparkSession, table: Path) -> pme.Copied:
    """Encrypt in place, with key material beside the files."""
    return pme.encrypt(spark, str(table), enc=EXTERNAL, in_place=True)


WAYS: dict[str, Callable[[SparkSession, Path], pme.Copied]] = {
    "copy": copied,
    "in place": in_place,
    "in place, external": in_place_external,
}


def main(way: str, table: Path, classes: Path, after: int) -> int:
    """Encrypt the table, and return the exit code of the JVM, or 0 if it did not end."""

    def encrypt(spark: SparkSession) -> None:
        for name, value in STOPPING.items():
            spark.conf.set(name, value)
        WAYS[way](spark, table)

    return until_halted(table, classes, after, encrypt)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])))
