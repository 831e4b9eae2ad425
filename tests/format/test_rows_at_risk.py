"""What a job of Python may lose of a table. ``jvm/spark`` has the other ways, in RowsAtRiskSuite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.support.expect import refused, untouched
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ENC = pme.Encryption(kms=TEST_KMS, uniform_key="footer")


def test_an_overwrite_of_what_an_rdd_of_python_reads_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    pme.write(spark.range(6), table, ENC)
    rows = pme.read(spark, table, TEST_KMS).rdd.map(lambda row: (row.id,)).toDF(["id"])
    with untouched(table), refused("PME_UNSUPPORTED", "overwrite", "would be lost", "another directory"):
        pme.write(rows, table, ENC, mode="overwrite")


def test_an_append_in_another_partition_layout_names_what_to_type(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    frame = spark.range(6).selectExpr("id", "id % 2 AS day")
    pme.write(frame, table, ENC, partition_by=["day"])
    with untouched(table), refused("PME_UNSUPPORTED", "partition", "partitionBy('day')"):
        pme.write(frame, table, ENC, mode="append")


def test_an_append_has_the_same_partition_columns_in_the_same_order(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    frame = spark.range(6).selectExpr("id", "id % 2 AS day", "id % 3 AS hour")
    pme.write(frame, table, ENC, partition_by=["day", "hour"])
    with untouched(table), refused("PME_UNSUPPORTED", "partition", "partitionBy('day', 'hour')"):
        pme.write(frame, table, ENC, mode="append", partition_by=["hour", "day"])
    pme.write(frame, table, ENC, mode="append", partition_by=["day", "hour"])
    assert pme.read(spark, table, TEST_KMS).count() == 12


def test_an_overwrite_of_the_table_that_it_reads_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    pme.write(spark.range(6), table, ENC)
    with untouched(table), refused("PME_UNSUPPORTED", "overwrite", "would be lost", "another directory"):
        pme.write(pme.read(spark, table, TEST_KMS), table, ENC, mode="overwrite")
