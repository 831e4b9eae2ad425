"""Frames at the edges: no rows, no columns, a thousand columns, names nobody expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.canary import assert_encrypted_footers, data_files
from tests.support.errors import DONE
from tests.support.frames import people
from tests.support.source import rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Pair, Source

pytestmark = pytest.mark.rows(2)

ODD_NAMES = [
    "a.b",
    "with space",
    "größe 尺寸",
    "colon:colon",
    "semi;colon,comma",
    "{brace}(paren)",
    "a=b",
    "tab\there",
    "#%$",
]


def test_an_empty_frame_keeps_its_schema(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark).where("id < 0"))
        return source.read()

    assert pair.same(job) == []
    assert_encrypted_footers(pair.ours.path)


def test_an_empty_partitioned_frame_is_written_as_spark_writes_it(spark: SparkSession, pair: Pair) -> None:
    for source in (pair.ours, pair.theirs):
        source.writer(people(spark).where("id < 0")).partitionBy("country").save(source.path)
    assert len(data_files(pair.ours.path)) == len(data_files(pair.theirs.path))


def test_a_frame_without_columns_is_refused_as_by_spark(spark: SparkSession, pair: Pair) -> None:
    frame = spark.range(3).select()
    outcomes = pair.outcomes(lambda source: source.write(frame))
    assert outcomes[0] == outcomes[1] != DONE


def test_no_column_selected_gives_as_many_rows(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark))
        return source.read().select()

    assert len(pair.same(job)) == 20


def test_only_the_partition_column_selected(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).partitionBy("country").save(source.path)
        return source.read().select("country")

    assert len(pair.same(job)) == 20


def test_a_thousand_columns(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(spark.range(0, 3, 1, 1).selectExpr(*[f"id + {index} AS c{index}" for index in range(1000)]))
        return source.read()

    assert len(pair.same(job)) == 3


@pytest.mark.parametrize("scan", ["auto", "v2"])
@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_read_back_and_filter(spark: SparkSession, pair: Pair, name: str, scan: str) -> None:
    def job(source: Source) -> DataFrame:
        source.write(spark.range(5).selectExpr(f"id AS `{name}`", f"named_struct('{name}', id) AS s"))
        return source.read(scan=scan).where(f"`{name}` > 1").select(f"`{name}`", f"s.`{name}`")

    assert len(pair.same(job)) == 3


def test_rows_of_many_row_groups(spark: SparkSession, ours: Source) -> None:
    frame = spark.range(0, 2000, 1, 1).selectExpr("id", "sha2(CAST(id AS STRING), 512) AS text")
    small = {"parquet.block.size": "16384", "parquet.page.size": "1024", "parquet.page.size.row.check.min": "10"}
    ours.write(frame, **small)
    assert rows(ours.read()) == rows(frame)


def test_long_values_are_split_into_pages_and_read_back(spark: SparkSession, ours: Source) -> None:
    frame = spark.range(0, 3, 1, 1).selectExpr("id", "repeat(sha2(CAST(id AS STRING), 256), 40000) AS text")
    ours.write(frame, compression="uncompressed")
    assert (
        ours.read().selectExpr("id", "sha2(text, 256) AS s").collect()
        == frame.selectExpr("id", "sha2(text, 256) AS s").collect()
    )
