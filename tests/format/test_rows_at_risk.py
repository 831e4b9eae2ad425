"""What a job of Python may lose of a table. ``jvm/spark`` has the other ways, in RowsAtRiskSuite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.expect import refused, untouched
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ENC = pme.Encryption(kms=TEST_KMS, uniform_key="footer")


@pytest.mark.oldest
def test_an_overwrite_of_what_it_reads_is_refused_and_an_append_in_other_partitions(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = tmp_path / "t"
    frame = spark.range(6).selectExpr("id", "id % 2 AS day")
    pme.write(frame, table, ENC, partition_by=["day"])
    of_python = pme.read(spark, table, TEST_KMS).rdd.map(lambda row: (row.id,)).toDF(["id"])
    for rows in (of_python, pme.read(spark, table, TEST_KMS)):
        with untouched(table), refused("PME_UNSUPPORTED", "overwrite", "would be lost", "another directory"):
            pme.write(rows, table, ENC, mode="overwrite")
    with untouched(table), refused("PME_UNSUPPORTED", "partition", "partitionBy('day')"):
        pme.write(frame, table, ENC, mode="append")
    pme.write(frame, table, ENC, mode="append", partition_by=["day"])
    assert pme.read(spark, table, TEST_KMS).count() == 12
