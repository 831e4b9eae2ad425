"""Caching, adaptive execution, readers and scan paths: the same rows whichever way Spark goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.frames import people
from tests.support.source import plan, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf, Pair, Source

pytestmark = pytest.mark.rows(2)


def test_a_cached_frame_sees_what_is_appended_to_its_path(spark: SparkSession, pair: Pair) -> None:
    for source in (pair.ours, pair.theirs):
        source.write(people(spark))
        cached = source.read().cache()
        try:
            assert cached.count() == 20
            source.write(people(spark, 20))
            assert cached.count() == 40
        finally:
            cached.unpersist()


def test_a_cached_frame_is_used(spark: SparkSession, ours: Source) -> None:
    ours.write(people(spark))
    cached = ours.read().cache()
    try:
        assert rows(cached) == rows(people(spark))
        assert "InMemoryTableScan" in plan(ours.read().where("id = 3"))
    finally:
        cached.unpersist()


def test_adaptive_execution_of_a_join(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark), "overwrite")
        left, right = source.read().alias("l"), source.read().alias("r")
        joined = left.join(right, left["ssn"] == right["ssn"]).groupBy("l.country").count()
        joined.collect()
        return joined

    with conf({"spark.sql.adaptive.enabled": "true", "spark.sql.autoBroadcastJoinThreshold": "-1"}):
        assert len(pair.same(job)) == 3
        assert "isFinalPlan=true" in plan(job(pair.ours))


@pytest.mark.parametrize("scan", ["auto", "v1", "v2"])
@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_every_scan_path_gives_the_same_rows(
    spark: SparkSession, pair: Pair, conf: Conf, scan: str, vectorized: str
) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).partitionBy("country").mode("overwrite").save(source.path)
        options = {"scan": scan} if source is pair.ours else {}
        frame = source.read(**options)
        return frame.where("id > 2 AND country <> 'fr'").select("address.street", "tags", "scores", "country", "salary")

    with conf({"spark.sql.parquet.enableVectorizedReader": vectorized}):
        assert len(pair.same(job)) == 11


@pytest.mark.parametrize(("scan", "node"), [("v1", "Scan pme-parquet"), ("v2", "BatchScan")])
def test_scan_chooses_the_read_path(spark: SparkSession, ours: Source, scan: str, node: str) -> None:
    ours.write(people(spark))
    assert node in plan(ours.read(scan=scan))


@pytest.mark.parametrize("scan", ["auto", "v1", "v2"])
def test_nested_columns_are_read_vectorized_or_not(spark: SparkSession, ours: Source, conf: Conf, scan: str) -> None:
    ours.write(people(spark))
    for setting in ("true", "false"):
        with conf({"spark.sql.parquet.enableNestedColumnVectorizedReader": setting}):
            assert rows(ours.read(scan=scan)) == rows(people(spark))


def test_small_batches_and_small_splits(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    def job(source: Source) -> DataFrame:
        source.write(spark.range(0, 3000, 1, 1), **{"parquet.block.size": "4096"})
        return source.read().where("id % 500 = 0")

    with conf({"spark.sql.parquet.columnarReaderBatchSize": "64", "spark.sql.files.maxPartitionBytes": "4096"}):
        assert len(pair.same(job)) == 6


def test_files_hidden_from_spark_stay_hidden(spark: SparkSession, ours: Source) -> None:
    ours.write(people(spark))
    with open(f"{ours.path}/_notes", "w", encoding="utf-8") as notes:  # noqa: PTH123 - a path as Spark takes it
        notes.write("not data")
    assert ours.read().count() == 20


def test_a_frame_outlives_many_other_readers(spark: SparkSession, ours: Source) -> None:
    ours.write(people(spark))
    first = ours.read()
    for seconds in range(100, 180):
        ours.read(**{"parquet.encryption.cache.lifetime.seconds": str(seconds)})
    spark._jvm.java.lang.System.gc()  # type: ignore[union-attr]
    assert rows(first) == rows(people(spark))


def test_a_frame_is_read_again_and_again(spark: SparkSession, ours: Source) -> None:
    ours.write(people(spark))
    frame = ours.read().where("id < 4")
    assert [frame.count() for _ in range(3)] == [4, 4, 4]
    assert rows(frame.union(frame)) == sorted(rows(frame) * 2)
