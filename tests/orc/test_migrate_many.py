"""A partitioned table of many files moves as a whole.

``PME_TEST_ALL`` moves 1,000 files in 100 partitions, which takes minutes, else there are 40 in 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.orc.migrating import Keys, write
from tests.support import needs
from tests.support.canary import data_files

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

PARTITIONS, FILES, ROWS = (100, 10, 20_000) if needs.ALL else (8, 5, 800)


@pytest.mark.nightly
def test_many_files_in_many_partitions(spark: SparkSession, tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    columns = ["id", "concat('ssn-', id) AS ssn", "id * 1.5D AS salary", f"id % {PARTITIONS} AS day"]
    frame = spark.range(0, ROWS, 1, FILES).selectExpr(*columns)
    write(frame, tmp_path / "source", keys, "mig_pii: ssn; mig_pay: salary", "day")
    done = pme.migrate_orc(spark, tmp_path / "source", tmp_path / "target", keys.enc)
    assert (done.files, done.rows, done.already) == (PARTITIONS * FILES, ROWS, 0)
    assert len(data_files(tmp_path / "target")) == PARTITIONS * FILES
    got = spark.read.format("pme-parquet").options(**keys.full).load(str(tmp_path / "target"))
    assert got.select("id", "ssn", "salary", "day").exceptAll(frame).count() == 0
    assert got.count() == ROWS
