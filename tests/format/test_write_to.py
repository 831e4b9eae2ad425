"""``DataFrame.writeTo`` against the session catalog, as far as Spark lets its own source go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.errors import outcome
from tests.support.frames import people
from tests.support.source import rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriterV2, SparkSession

    from tests.support.source import Pair, Source

pytestmark = pytest.mark.usefixtures("session_kms")


def writer(df: DataFrame, source: Source) -> DataFrameWriterV2:
    return df.writeTo(source.table).using(source.format).options(**source.write_options)


def test_create(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        writer(people(spark), source).create()
        return spark.table(source.table)

    assert len(pair.same(job)) == 20


def test_create_partitioned_by_a_column(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        frame = people(spark)
        writer(frame, source).partitionedBy(frame["country"]).create()
        return spark.table(source.table)

    assert len(pair.same(job)) == 20


def test_append_and_overwrite_work_as_for_a_parquet_table(spark: SparkSession, pair: Pair) -> None:
    results = []
    for source in (pair.ours, pair.theirs):
        writer(people(spark), source).create()
        frame = people(spark, 20, 5)
        actions = [
            frame.writeTo(source.table).append,
            frame.writeTo(source.table).overwritePartitions,
            writer(frame, source).replace,
            writer(frame, source).createOrReplace,
        ]
        results.append([outcome(action) for action in actions])
    assert results[0] == results[1]
    assert rows(spark.table(pair.ours.table)) == rows(spark.table(pair.theirs.table))
