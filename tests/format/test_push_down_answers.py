"""Aggregates that Spark pushes down: the answers of the rows, whatever footers know and whichever files there are."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import types as t

from tests.support.canary import data_files
from tests.support.source import plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.support.source import Conf, Source

pytestmark = pytest.mark.rows(2)

PUSHED = {"spark.sql.parquet.aggregatePushdown": "true"}
every_scan = pytest.mark.parametrize("scan", ["auto", "v2"])


@pytest.fixture
def pushing(conf: Conf) -> Iterator[None]:
    with conf(PUSHED):
        yield


def answers(source: Source, schema: str, *asked: str, **options: str) -> list[tuple[object, ...]]:
    frame = source.reader(**options).schema(schema).load(source.path).selectExpr(*asked)
    assert "PushedAggregation: [" in plan(frame)
    assert "PushedAggregation: []" not in plan(frame)
    return [tuple(row) for row in frame.collect()]


@every_scan
@pytest.mark.usefixtures("pushing")
def test_no_files_are_no_rows(spark: SparkSession, ours: Source, scan: str) -> None:
    ours.write(spark.range(3).coalesce(1))
    for file in data_files(ours.path):
        file.unlink()
    asked = ["count(*)", "count(id)", "min(id)"]
    assert answers(ours, "id BIGINT", *asked, scan=scan) == [(0, 0, None)]


@pytest.mark.usefixtures("pushing")
def test_no_files_have_no_groups_and_chosen_partitions_may_have_no_files(spark: SparkSession, ours: Source) -> None:
    ours.writer(spark.range(9).selectExpr("id", "id % 3 AS day")).partitionBy("day").save(ours.path)
    frame = ours.read(scan="v2")
    assert frame.where("day = 7").groupBy("day").count().collect() == []
    assert [tuple(row) for row in frame.where("day = 7").selectExpr("count(*)", "max(id)").collect()] == [(0, None)]


@every_scan
@pytest.mark.usefixtures("pushing")
def test_a_footer_without_statistics_is_not_asked(spark: SparkSession, ours: Source, scan: str) -> None:
    ours.write(spark.range(4).selectExpr("id", "CAST(NULL AS INT) AS empty").coalesce(1))
    ours.write(
        spark.range(4, 9).selectExpr("id", "CAST(id AS INT) AS empty").coalesce(1),
        **{"parquet.column.statistics.enabled": "false"},
    )
    asked = ["count(*)", "count(empty)", "min(empty)", "max(empty)", "max(id)"]
    assert answers(ours, "id BIGINT, empty INT", *asked, scan=scan) == [(9, 5, 4, 8, 8)]


@pytest.mark.usefixtures("pushing")
def test_nan_is_the_largest_number(spark: SparkSession, ours: Source) -> None:
    ours.write(spark.sql("SELECT explode(array(1.0D, double('NaN'))) AS x").coalesce(1))
    ours.write(spark.sql("SELECT 3.0D AS x").coalesce(1))
    row = ours.read().selectExpr("min(x)", "max(x)", "count(x)").first()
    assert row is not None
    assert (row[0], str(row[1]), row[2]) == (1.0, "nan", 3)


@pytest.mark.usefixtures("pushing")
def test_columns_of_footers_are_found_by_name(spark: SparkSession, ours: Source) -> None:
    schema = "s STRUCT<a: INT, b: INT>, x INT, y INT"
    ours.write(spark.sql("SELECT named_struct('a', 1, 'b', 2) AS s, 10 AS x, 20 AS y").coalesce(1))
    ours.write(spark.sql("SELECT 40 AS y, 30 AS x").coalesce(1))
    ours.write(spark.sql("SELECT 50 AS y").coalesce(1))
    asked = ["max(x)", "min(y)", "max(y)", "count(x)", "count(s)", "count(*)"]
    assert answers(ours, schema, *asked) == [(30, 20, 50, 2, 1, 3)]


@pytest.mark.usefixtures("pushing")
def test_each_type_of_column_answers_as_its_rows_do(spark: SparkSession, ours: Source, conf: Conf) -> None:
    columns = {
        "a": "CAST(id AS TINYINT)",
        "b": "CAST(id AS SMALLINT)",
        "c": "CAST(id AS INT)",
        "d": "id",
        "e": "id > 5",
        "f": "date_add(DATE '1970-01-01', CAST(id AS INT) - 1)",
        "g": "date_add(DATE '1000-01-01', CAST(id AS INT))",
    }
    rows = spark.range(1, 20).selectExpr(*(f"{value} AS {name}" for name, value in columns.items()))
    # Spark 3.5 asks what old dates mean.
    with conf({"spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED"}):
        ours.write(rows.repartition(3))
    asked = [f"{function}({name})" for name in columns for function in ("min", "max", "count")]
    frame = ours.read()
    pushed = frame.selectExpr(*asked)
    assert "PushedAggregation: [MIN(a)" in plan(pushed)
    spark.conf.set("spark.sql.parquet.aggregatePushdown", "false")
    assert pushed.collect() == ours.read().selectExpr(*asked).collect()


@pytest.mark.usefixtures("pushing")
def test_a_null_partition_is_counted_as_its_rows_are(spark: SparkSession, ours: Source) -> None:
    frame = spark.range(6).selectExpr("id", "IF(id < 2, NULL, id % 2) AS day")
    ours.writer(frame).partitionBy("day").save(ours.path)
    schema = t.StructType([t.StructField("id", t.LongType()), t.StructField("day", t.LongType())])
    with contextlib.nullcontext(ours.reader(scan="v2").schema(schema).load(ours.path)) as read:
        assert [tuple(row) for row in read.selectExpr("count(day)", "count(*)").collect()] == [(4, 6)]
        found = read.groupBy("day").agg({"id": "max"}).collect()
        assert sorted(tuple(row) for row in found if row.day is not None) == [(0, 4), (1, 5)]
