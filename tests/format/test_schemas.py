"""Where the schema comes from: one footer, all footers, the user; and how names are matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.frames import people

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf, Pair, Source

pytestmark = pytest.mark.rows(2)


def two_schemas(spark: SparkSession, source: Source) -> None:
    source.write(spark.range(3).selectExpr("id", "CAST(id AS STRING) AS a", "named_struct('x', id) AS s"))
    source.write(spark.range(3).selectExpr("id", "id * 2.5 AS b", "named_struct('x', id, 'y', 'q') AS s"))


def test_inferred_schema_has_comments_and_nullability(spark: SparkSession, pair: Pair) -> None:
    frame = people(spark).withMetadata("name", {"comment": "as in the passport", "level": 3})

    def job(source: Source) -> DataFrame:
        source.write(frame)
        return source.read()

    pair.same(job)
    assert pair.ours.read().schema["name"].metadata == {"comment": "as in the passport", "level": 3}


def test_merge_schema_by_option(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        two_schemas(spark, source)
        return source.read(mergeSchema="true").select("id", "a", "b", "s")

    assert len(pair.same(job)) == 6


def test_merge_schema_by_session_setting(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    def job(source: Source) -> DataFrame:
        two_schemas(spark, source)
        return source.read().select("id", "a", "b", "s")

    with conf({"spark.sql.parquet.mergeSchema": "true"}):
        assert len(pair.same(job)) == 6


def test_merge_schema_across_partitions(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(spark.range(2).selectExpr("id")).save(f"{source.path}/p=1")
        source.writer(spark.range(2).selectExpr("id", "'v' AS v")).save(f"{source.path}/p=2")
        return source.read(mergeSchema="true")

    assert len(pair.same(job)) == 4


def test_a_given_schema_adds_and_drops_columns(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark))
        return (
            source.reader()
            .schema("missing INT, id BIGINT, address STRUCT<street: STRING, none: INT>")
            .load(source.path)
        )

    assert len(pair.same(job)) == 20


@pytest.mark.parametrize("sensitive", ["true", "false"])
def test_names_are_matched_as_the_session_says(spark: SparkSession, pair: Pair, conf: Conf, sensitive: str) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark))
        return source.reader().schema("ID BIGINT, Name STRING").load(source.path)

    with conf({"spark.sql.caseSensitive": sensitive}):
        assert len(pair.same(job)) == 20


def test_columns_that_differ_only_in_case(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    def job(source: Source) -> DataFrame:
        source.write(spark.range(4).selectExpr("id AS a", "id * 10 AS A"))
        return source.read().where("A > 10")

    with conf({"spark.sql.caseSensitive": "true"}):
        assert len(pair.same(job)) == 2


def test_field_ids_are_matched(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    def job(source: Source) -> DataFrame:
        source.write(spark.range(3).withMetadata("id", {"parquet.field.id": 7}))
        schema = spark.range(1).withColumnRenamed("id", "other").withMetadata("other", {"parquet.field.id": 7}).schema
        return source.reader().schema(schema).load(source.path)

    with conf({"spark.sql.parquet.fieldId.read.enabled": "true"}):
        assert len(pair.same(job)) == 3
