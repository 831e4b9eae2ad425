"""Streams ask a KMS no more often for having batches: once for each key and lifetime, and once for each write job."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.support.kms.counting import Log, Table, encryption, frame, log, written

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

pytestmark = pytest.mark.usefixtures("counting_kms")

MINUTE = 60
BATCHES = 3
LIFETIME = 1

every_reader = pytest.mark.parametrize("reader", ["pages", "spark"])


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Return a table of one file for each batch, all of one write job."""
    return written(spark, tmp_path_factory.mktemp("streamed"), 3, BATCHES)


def arriving(spark: SparkSession, table: Table, user: Log, **options: str) -> DataFrame:
    """Return the table as a stream, a file at a time."""
    reader = spark.readStream.format("pme-parquet").schema(frame(spark, 3, 1).schema)
    return reader.options(**user.options(), maxFilesPerTrigger="1", **options).load(table.path)


def run(stream: DataStreamWriter, directory: Path, path: str | None = None) -> None:
    """Run the stream to its end, and fail unless it had the batches that it was to have."""
    checkpoint = directory / "checkpoint"

    def committed() -> int:
        return sum(path.name.isdigit() for path in checkpoint.glob("commits/*"))

    before = committed()
    query = stream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start(path)
    assert query.awaitTermination(MINUTE)
    assert committed() - before == BATCHES


@every_reader
def test_a_stream_of_batches_asks_once_for_each_key(
    spark: SparkSession, table: Table, tmp_path: Path, reader: str
) -> None:
    user = log(tmp_path)
    run(arriving(spark, table, user, reader=reader).writeStream.format("noop"), tmp_path)
    assert user.count("unwrap") == table.keys()


def test_a_stream_that_lasts_asks_again_when_the_lifetime_is_over(
    spark: SparkSession, table: Table, tmp_path: Path
) -> None:
    user = log(tmp_path)
    seen: list[int] = []

    def slow(batch: DataFrame, _: int) -> None:
        seen.extend(row["id"] for row in batch.collect())
        time.sleep(LIFETIME * 1.5)

    options = {"parquet.encryption.cache.lifetime.seconds": str(LIFETIME)}
    began = time.monotonic()
    run(arriving(spark, table, user, **options).writeStream.foreachBatch(slow), tmp_path)
    asked = user.count("unwrap")
    assert sorted(seen) == [row[0] for row in table.rows()]
    assert set(asked) == set(table.keys())
    assert min(asked.values()) >= BATCHES
    assert max(asked.values()) <= 1 + int((time.monotonic() - began) / LIFETIME)


def test_each_batch_that_is_written_asks_once_for_each_master_key(
    spark: SparkSession, table: Table, target: str, tmp_path: Path
) -> None:
    reading, writing = log(tmp_path), log(tmp_path)
    sink = arriving(spark, table, reading).writeStream.format("pme-parquet")
    run(sink.options(**writing.options(), **encryption(3)), tmp_path, target)
    assert reading.count("unwrap") == table.keys()
    assert writing.count("wrap") == table.keys(times=BATCHES)
    assert reading.count("wrap") == writing.count("unwrap") == {}


def test_a_stream_that_goes_on_where_it_stopped_asks_for_the_keys_of_what_is_new(
    spark: SparkSession, tmp_path: Path
) -> None:
    first = written(spark, tmp_path, 3, BATCHES)
    user = log(tmp_path)
    run(arriving(spark, first, user).writeStream.format("noop"), tmp_path)
    more = frame(spark, 3, BATCHES).write.format("pme-parquet").options(**first.written.options(), **encryption(3))
    more.mode("append").save(first.path)
    user.clear()
    run(arriving(spark, first, user).writeStream.format("noop"), tmp_path)
    assert user.count("unwrap") == first.keys()
