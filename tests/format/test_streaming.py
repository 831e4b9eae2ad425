"""Streams: from the format, into the format, restarted from a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.canary import assert_encrypted_footers
from tests.support.frames import people
from tests.support.source import rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

    from tests.support.source import Conf, Pair, Source

MINUTE = 60


def stream(source: Source, path: Path, **options: str) -> DataFrame:
    reader: DataStreamReader = source.spark.readStream.format(source.format).schema(people(source.spark).schema)
    return reader.options(**{**source.read_options, **options}).load(str(path))


def sink(df: DataFrame, source: Source) -> DataStreamWriter:
    options = {**source.write_options, "checkpointLocation": f"{source.path}-checkpoint"}
    return df.writeStream.format(source.format).options(**options).trigger(availableNow=True)


def drain(writer: DataStreamWriter, path: str) -> None:
    query = writer.start(path)
    assert query.awaitTermination(MINUTE)


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    return tmp_path / "inbox"


def test_a_stream_reads_and_writes_the_format(spark: SparkSession, pair: Pair, inbox: Path) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).save(str(inbox / source.table))
        drain(sink(stream(source, inbox / source.table), source), source.path)
        return source.read()

    assert len(pair.same(job)) == 20
    assert_encrypted_footers(pair.ours.path)


def test_a_restart_from_the_checkpoint_reads_only_new_files(spark: SparkSession, pair: Pair, inbox: Path) -> None:
    def job(source: Source) -> DataFrame:
        for start in (0, 20):
            source.writer(people(spark, start)).mode("append").save(str(inbox / source.table))
            drain(sink(stream(source, inbox / source.table), source), source.path)
        return source.read()

    assert len(pair.same(job)) == 40
    assert_encrypted_footers(pair.ours.path)


def test_a_partitioned_sink(spark: SparkSession, pair: Pair, inbox: Path) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).save(str(inbox / source.table))
        drain(sink(stream(source, inbox / source.table), source).partitionBy("country"), source.path)
        return source.read()

    assert len(pair.same(job)) == 20
    assert_encrypted_footers(pair.ours.path)


def test_a_stream_into_a_table(spark: SparkSession, pair: Pair, inbox: Path) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).save(str(inbox / source.table))
        query = sink(stream(source, inbox / source.table), source).toTable(source.table)
        assert query.awaitTermination(MINUTE)
        return source.reader().table(source.table)  # Spark keeps no options of the stream with the table

    assert len(pair.same(job)) == 20


def test_schema_inference_for_streams(spark: SparkSession, pair: Pair, inbox: Path, conf: Conf) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).save(str(inbox / source.table))
        reader = spark.readStream.format(source.format).options(**source.read_options)
        drain(sink(reader.load(str(inbox / source.table)), source), source.path)
        return source.read()

    with conf({"spark.sql.streaming.schemaInference": "true"}):
        assert len(pair.same(job)) == 20


def test_files_are_read_in_batches(spark: SparkSession, pair: Pair, inbox: Path) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark).repartition(4)).save(str(inbox / source.table))
        drain(sink(stream(source, inbox / source.table, maxFilesPerTrigger="1"), source), source.path)
        return source.read()

    assert len(pair.same(job)) == 20


def test_aggregates_over_a_stream(spark: SparkSession, pair: Pair, inbox: Path) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).save(str(inbox / source.table))
        counts = stream(source, inbox / source.table).groupBy("country").count()
        query = counts.writeStream.format("memory").queryName(f"{source.table}_q").outputMode("complete")
        assert query.trigger(availableNow=True).start().awaitTermination(MINUTE)
        return spark.table(f"{source.table}_q")

    assert len(pair.same(job)) == 3


def test_for_each_batch_writes_the_format(spark: SparkSession, ours: Source, inbox: Path) -> None:
    ours.writer(people(spark)).save(str(inbox))
    query = stream(ours, inbox).writeStream.foreachBatch(lambda batch, _: ours.write(batch))
    assert query.trigger(availableNow=True).start().awaitTermination(MINUTE)
    assert rows(ours.read()) == rows(people(spark))
