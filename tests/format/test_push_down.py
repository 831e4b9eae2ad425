"""What Spark pushes into a Parquet scan: columns, nested fields, filters, aggregates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.frames import people
from tests.support.source import plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf, Pair, Source

pytestmark = pytest.mark.rows(2)


def test_only_selected_columns_are_read(spark: SparkSession, ours: Source) -> None:
    ours.write(people(spark))
    assert "ReadSchema: struct<id:bigint,ssn:string>" in plan(ours.read().select("id", "ssn"))


def test_only_selected_nested_fields_are_read(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark), "overwrite")
        return source.read().select("address.street", "scores")

    pair.same(job)
    text = plan(pair.ours.read().select("address.street"))
    assert "ReadSchema: struct<address:struct<street:string>>" in text


def test_counting_reads_no_column(spark: SparkSession, ours: Source) -> None:
    ours.write(people(spark))
    assert "ReadSchema: struct<>" in plan(ours.read().groupBy().count())
    assert ours.read().count() == 20


@pytest.mark.parametrize(
    ("condition", "pushed"),
    [
        ("id = 3", "EqualTo(id,3)"),
        ("id > 3 AND id <= 9", "GreaterThan(id,3)"),
        ("name IS NULL", "IsNull(name)"),
        ("name IN ('name-1', 'name-2', 'nobody')", "In(name"),
        ("name LIKE 'name-1%'", "StringStartsWith(name,name-1)"),
        ("name <=> NULL OR id = 5", "Or("),
        ("NOT (ssn = 'ssn-1')", "Not(EqualTo(ssn,ssn-1))"),
        ("address.zip >= 18", "GreaterThanOrEqual(address.zip,18)"),
        ("salary < 4.5", "LessThan(salary,4.5"),
    ],
)
def test_filters_are_pushed_down(spark: SparkSession, pair: Pair, condition: str, pushed: str) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark))
        return source.read().where(condition)

    assert pair.same(job)
    assert plan(pair.theirs.read().where(condition)).count(pushed) > 0
    assert plan(pair.ours.read().where(condition)).count(pushed) > 0


def test_filters_stay_in_spark_when_push_down_is_off(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark))
        return source.read().where("id = 3")

    with conf({"spark.sql.parquet.filterPushdown": "false"}):
        assert len(pair.same(job)) == 1


def test_aggregates_are_pushed_down(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark), "overwrite")
        return source.read().selectExpr("count(*) AS n", "count(name) AS names", "min(id) AS low", "max(id) AS high")

    with conf({"spark.sql.parquet.aggregatePushdown": "true", "spark.sql.sources.useV1SourceList": ""}):
        assert len(pair.same(job)) == 1
        assert "PushedAggregation: [COUNT(*), COUNT(name), MIN(id), MAX(id)]" in plan(job(pair.theirs))
        assert "PushedAggregation: [COUNT(*), COUNT(name), MIN(id), MAX(id)]" in plan(job(pair.ours))


def test_aggregates_are_pushed_down_with_no_other_setting(spark: SparkSession, ours: Source, conf: Conf) -> None:
    ours.write(people(spark))
    with conf({"spark.sql.parquet.aggregatePushdown": "true"}):
        totals = ours.read().selectExpr("count(*)", "max(id)")
        assert "PushedAggregation: [COUNT(*), MAX(id)]" in plan(totals)
        assert [tuple(row) for row in totals.collect()] == [(20, 19)]


def test_aggregates_by_partition_are_pushed_down(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).partitionBy("country").mode("overwrite").save(source.path)
        return source.read().groupBy("country").agg({"id": "max"})

    with conf({"spark.sql.parquet.aggregatePushdown": "true"}):
        assert len(pair.same(job)) == 3
        assert "PushedAggregation: [MAX(id)]" in plan(job(pair.ours))


def test_limits_and_top_n(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark))
        return source.read().orderBy("salary", ascending=False).limit(3)

    assert len(pair.same(job)) == 3
