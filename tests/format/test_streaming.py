"""A stream whose batches a function of Python writes; `StreamsSuite` has the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.frames import people
from tests.support.source import rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Source

MINUTE = 60


def stream(source: Source, path: Path) -> DataFrame:
    reader = source.spark.readStream.format(source.format).schema(people(source.spark).schema)
    return reader.options(**source.read_options).load(str(path))


@pytest.mark.newest
def test_a_function_of_python_writes_each_batch(spark: SparkSession, ours: Source, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    ours.writer(people(spark)).save(str(inbox))
    query = stream(ours, inbox).writeStream.foreachBatch(lambda batch, _: ours.write(batch))
    assert query.trigger(availableNow=True).start().awaitTermination(MINUTE)
    assert rows(ours.read()) == rows(people(spark))
