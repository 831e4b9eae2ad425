"""A stream from the format and into it, and one whose batches a function of Python writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.canary import assert_encrypted_footers
from tests.support.frames import people
from tests.support.source import rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Pair, Source

MINUTE = 60


def stream(source: Source, path: Path) -> DataFrame:
    reader = source.spark.readStream.format(source.format).schema(people(source.spark).schema)
    return reader.options(**source.read_options).load(str(path))


@pytest.mark.oldest
def test_a_restart_from_the_checkpoint_reads_only_new_files(spark: SparkSession, pair: Pair, tmp_path: Path) -> None:
    def job(source: Source) -> DataFrame:
        inbox = tmp_path / source.table
        for start in (0, 20):
            source.writer(people(spark, start)).mode("append").save(str(inbox))
            sink = stream(source, inbox).writeStream.format(source.format).options(**source.write_options)
            sink = sink.option("checkpointLocation", f"{source.path}-checkpoint").trigger(availableNow=True)
            assert sink.partitionBy("country").start(source.path).awaitTermination(MINUTE)
        return source.read()

    assert len(pair.same(job)) == 40
    assert_encrypted_footers(pair.ours.path)


@pytest.mark.newest
def test_a_function_of_python_writes_each_batch(spark: SparkSession, ours: Source, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    ours.writer(people(spark)).save(str(inbox))
    query = stream(ours, inbox).writeStream.foreachBatch(lambda batch, _: ours.write(batch))
    assert query.trigger(availableNow=True).start().awaitTermination(MINUTE)
    assert rows(ours.read()) == rows(people(spark))
