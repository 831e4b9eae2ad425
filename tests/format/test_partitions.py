"""Directories of partitions: written, overwritten one by one, pruned before any file is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from tests.support.canary import assert_encrypted_footers, files_under
from tests.support.frames import people
from tests.support.source import plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf, Pair, Source


def directories(source: Source) -> set[str]:
    return {path.parent.name for path in files_under(source.path) if path.suffix == ".parquet"}


def test_partition_by_makes_the_same_directories(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).partitionBy("country").save(source.path)
        return source.read()

    assert len(pair.same(job)) == 20
    assert directories(pair.ours) == directories(pair.theirs) == {"country=de", "country=fr", "country=it"}
    assert_encrypted_footers(pair.ours.path)


def test_nested_partitions_of_odd_values_read_back(spark: SparkSession, pair: Pair) -> None:
    frame = spark.createDataFrame(
        [(1, "a/b", 2020), (2, "sp ace", 2021), (3, None, 2021), (4, "ü:=%", 2020)], "id INT, name STRING, year INT"
    )

    def job(source: Source) -> DataFrame:
        source.writer(frame).partitionBy("year", "name").save(source.path)
        return source.read()

    assert len(pair.same(job)) == 4


def test_static_overwrite_drops_the_other_partitions(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).partitionBy("country").save(source.path)
        source.writer(people(spark, 0, 1)).partitionBy("country").mode("overwrite").save(source.path)
        return source.read()

    assert len(pair.same(job)) == 1


def test_dynamic_overwrite_keeps_the_other_partitions(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).partitionBy("country").save(source.path)
        update = people(spark, 300, 1)
        source.writer(update, partitionOverwriteMode="dynamic").partitionBy("country").mode("overwrite").save(
            source.path
        )
        return source.read()

    assert len(pair.same(job)) == 14


def test_dynamic_overwrite_by_session_setting(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).partitionBy("country").save(source.path)
        source.writer(people(spark, 300, 1)).partitionBy("country").mode("overwrite").save(source.path)
        return source.read()

    with conf({"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
        assert len(pair.same(job)) == 14


def test_partition_filters_are_pushed_down(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).partitionBy("country").save(source.path)
        return source.read().where("country = 'fr' AND id > 3")

    assert len(pair.same(job)) == 6
    text = plan(pair.ours.read().where("country = 'fr'"))
    assert "PartitionFilters: [isnotnull(country" in text


def test_pruned_partitions_are_not_read(spark: SparkSession, ours: Source) -> None:
    ours.writer(people(spark)).partitionBy("country").save(ours.path)
    for path in files_under(ours.path):
        if path.parent.name == "country=it":
            path.write_bytes(b"not a Parquet file")
    known = ours.reader().schema(people(spark).schema).load(ours.path)
    assert known.where("country = 'de'").count() == 7


def test_dynamic_partition_pruning_is_planned(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    dimension = spark.createDataFrame([("de", "Deutschland"), ("fr", "France")], "code STRING, label STRING")
    dimension.createOrReplaceTempView("pme_dimension")

    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).partitionBy("country").mode("overwrite").save(source.path)
        keys = spark.table("pme_dimension").where("label LIKE 'D%'")
        return source.read().join(keys, f.col("country") == f.col("code")).select("id", "label")

    with conf({"spark.sql.optimizer.dynamicPartitionPruning.enabled": "true"}):
        assert len(pair.same(job)) == 7
        text = plan(job(pair.ours))
        assert "dynamicpruning" in text
        assert "dynamicpruningexpression(true)" not in text


def test_partition_values_win_over_a_given_schema(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark).selectExpr("id", "CAST(id % 2 AS INT) AS p")).partitionBy("p").save(source.path)
        return source.reader().schema("id BIGINT, p STRING").load(source.path)

    assert len(pair.same(job)) == 20
