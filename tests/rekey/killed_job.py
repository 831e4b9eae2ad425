"""A job that copies a table and prints the process id of its JVM: ``python -m tests.rekey.killed_job DIRECTORY``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pme_parquet as pme
from tests.support.session import INTERPRETED, TEST_KMS, builder, session_settings

NEW = pme.Encryption(kms=TEST_KMS, uniform_key="new")


def main(directory: Path) -> None:
    """Copy ``source`` to ``table``."""
    spark = builder(session_settings(directory / "scratch") | INTERPRETED).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    jvm: Any = spark._jvm
    sys.stdout.write(f"{jvm.java.lang.ProcessHandle.current().pid()}\n")
    sys.stdout.flush()
    pme.rekey(spark, str(directory / "source"), str(directory / "table"), NEW)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
