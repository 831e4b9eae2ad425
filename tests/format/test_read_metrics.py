"""The cost of a V2 scan, in the numbers of the SQL tab: counts that stay the same from run to run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.canary import data_files
from tests.support.metrics import scan_metrics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Source

FILES, ROWS = 3, 1000
METRICS = ("pmeReads", "pmeBytesRead", "pmeModules", "pmeFooters", "pmeKeys")


@pytest.fixture
def table(spark: SparkSession, ours: Source) -> Source:
    frame = spark.range(0, FILES * ROWS, 1, FILES).selectExpr("id", "id * 2 AS twice", "id * 3 AS thrice")
    ours.write(frame, **{"parquet.enable.dictionary": "false"})
    return ours


def read(table: Source) -> DataFrame:
    """Read with a given schema: schema inference would open a footer and keep it."""
    return table.reader(scan="v2").schema("id bigint, twice bigint, thrice bigint").load(table.path)


def test_a_v2_scan_counts_its_reads_modules_footers_and_keys(table: Source) -> None:
    found = scan_metrics(read(table), METRICS)
    # Files of less than 64 KiB are read with their tail. Each has a footer, and three columns of a page and its header.
    assert found["pmeReads"] == found["pmeFooters"] == found["pmeKeys"] == FILES
    assert found["pmeBytesRead"] == sum(file.stat().st_size for file in data_files(Path(table.path)))
    assert found["pmeModules"] == FILES * (1 + 3 * 2)


def test_columns_that_are_not_read_are_not_decrypted(table: Source) -> None:
    assert scan_metrics(read(table).select("twice"), METRICS)["pmeModules"] == FILES * (1 + 2)


def test_pages_of_other_columns_without_a_matching_row_are_not_decrypted(spark: SparkSession, ours: Source) -> None:
    # Every page of `scattered` spans all of its values, so no index excludes one.
    columns = [f"id * {number} AS other_{number}" for number in range(8)]
    frame = spark.range(0, 1000, 1, 1).selectExpr("pmod(id * 321, 1000) * 2 AS scattered", *columns)
    ours.write(frame, **{"parquet.enable.dictionary": "false", "parquet.page.row.count.limit": "100"})
    found = scan_metrics(ours.reader(scan="v2").schema(frame.schema).load(ours.path).where("scattered = 642"), METRICS)
    # The footer, a column index, nine offset indexes; ten pages of `scattered`, and the matching page of each column.
    assert found["pmeModules"] == 1 + 1 + 9 + 2 * (10 + 9)
