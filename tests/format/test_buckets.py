"""Bucketed and sorted tables, and joins of them that need no exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.canary import data_files
from tests.support.expect import refused
from tests.support.frames import people
from tests.support.source import plan, rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf, Pair, Source

pytestmark = [pytest.mark.usefixtures("session_kms"), pytest.mark.rows(2)]


def bucketed(spark: SparkSession, source: Source) -> None:
    source.writer(people(spark), path=source.path).bucketBy(3, "id").sortBy("id").saveAsTable(source.table)


def test_a_bucketed_table_reads_back(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        bucketed(spark, source)
        return spark.table(source.table)

    assert len(pair.same(job)) == 20


def test_bucket_files_carry_the_bucket_number(spark: SparkSession, ours: Source) -> None:
    bucketed(spark, ours)
    numbers = {path.name.split("_")[1].split(".")[0] for path in data_files(ours.path)}
    assert numbers == {"00000", "00001", "00002"}


def test_bucketed_join_needs_no_exchange(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    def job(source: Source) -> DataFrame:
        if not spark.catalog.tableExists(source.table):
            bucketed(spark, source)
        left = spark.table(source.table).alias("l")
        return left.join(spark.table(source.table).alias("r"), "id").select("id", "l.name", "r.salary")

    with conf({"spark.sql.autoBroadcastJoinThreshold": "-1"}):
        assert len(pair.same(job)) == 20
        assert "Exchange" not in plan(job(pair.ours))


def test_bucket_pruning_reads_only_the_buckets_asked_for(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    def job(source: Source) -> DataFrame:
        bucketed(spark, source)
        return spark.table(source.table).where("id = 7")

    # With this setting on, Spark ignores the buckets in a scan if no join or aggregate profits from them.
    with conf({"spark.sql.sources.bucketing.autoBucketedScan.enabled": "false"}):
        assert len(pair.same(job)) == 1
        assert "SelectedBucketsCount: 1 out of 3" in plan(spark.table(pair.ours.table).where("id = 7"))


def test_partitioned_and_bucketed_together(spark: SparkSession, pair: Pair, tmp_path: Path) -> None:
    def job(source: Source) -> DataFrame:
        writer = source.writer(people(spark), path=str(tmp_path / source.table))
        writer.partitionBy("country").bucketBy(2, "id").saveAsTable(source.table)
        source.writer(people(spark, 50)).partitionBy("country").bucketBy(2, "id").mode("append").saveAsTable(
            source.table
        )
        return spark.table(source.table)

    assert len(pair.same(job)) == 40


def test_insert_into_a_bucketed_table(spark: SparkSession, pair: Pair) -> None:
    for source in (pair.ours, pair.theirs):
        bucketed(spark, source)
        people(spark, 70, 5).write.insertInto(source.table)
    assert rows(spark.table(pair.ours.table)) == rows(spark.table(pair.theirs.table))


def test_a_protected_column_makes_no_buckets(spark: SparkSession, ours: Source) -> None:
    frame = people(spark)
    keys = {"columnKeys": "pii: name, ssn"}
    for mode in ("overwrite", "append"):
        writer = ours.writer(frame, path=ours.path, **keys).mode(mode)
        with refused("PME_UNSUPPORTED", "'ssn'", "bucketBy", "hash"):
            writer.bucketBy(3, "ssn").saveAsTable(ours.table)
    assert not data_files(ours.path)
    ours.writer(frame, path=ours.path, **keys).bucketBy(3, "id").saveAsTable(ours.table)


@pytest.mark.parametrize("name", ["pme-parquet", "pme-orc"])
def test_a_table_clustered_by_a_protected_column_is_not_made(spark: SparkSession, ours: Source, name: str) -> None:
    table = f"CREATE TABLE {ours.table} (id BIGINT, ssn STRING) USING `{name}`"
    with refused("PME_UNSUPPORTED", "CLUSTERED BY"):
        spark.sql(f"{table} OPTIONS (columnKeys 'pii: ssn') CLUSTERED BY (SSN) INTO 3 BUCKETS")
    assert not spark.catalog.tableExists(ours.table)


def test_keys_of_the_session_bind_buckets_of_a_table(spark: SparkSession, ours: Source, conf: Conf) -> None:
    spark.sql(f"CREATE TABLE {ours.table} (id BIGINT, ssn STRING) {ours.clause()} CLUSTERED BY (ssn) INTO 3 BUCKETS")
    with conf({"spark.datasource.pme-parquet.columnKeys": "pii: ssn"}), refused("PME_UNSUPPORTED", "bucketBy"):
        spark.sql(f"INSERT INTO {ours.table} VALUES (1, 'a')")
