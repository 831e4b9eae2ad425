"""A stream that fails while it writes leaves no file behind, and no key material for a file that does not exist."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.leaks.canaries import COLUMN_KEYS, EVERYWHERE, PROTECTED, canaries
from tests.support.canary import data_files, files_under, find_canaries

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from tests.support.source import Conf, Source

MINUTE = 60
PREFIX, SUFFIX = "_KEY_MATERIAL_FOR_", ".json"
FATAL = 110
EXTERNAL = {**EVERYWHERE, "keyMaterial": "external", "columnKeys": COLUMN_KEYS}

# In the last column, so that the file is open and has some of its rows when the error is raised.
DYING = f"IF(id = {FATAL}, raise_error('stop here'), id) AS late"

# After the other of two tasks, which does not have this row, is done.


@pytest.fixture
def external(ours: Source) -> Source:
    return replace(ours, write_options={**ours.write_options, **EXTERNAL})


def fill(inbox: Path, frame: DataFrame) -> None:
    """Add a file before the stream: its next batch."""
    frame.coalesce(1).write.mode("append").parquet(str(inbox))


def stream(source: Source, inbox: Path, frame: DataFrame) -> DataStreamWriter:
    arriving = source.spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", "1").parquet(str(inbox))
    options = {**source.write_options, "checkpointLocation": f"{source.path}-checkpoint"}
    writer = arriving.selectExpr("*", DYING).writeStream.format(source.format).options(**options)
    return writer.trigger(availableNow=True)


def materials_of(root: str) -> set[str]:
    """Return the names of the data files for which there is key material."""
    return {
        str(path.relative_to(root).with_name(path.name[len(PREFIX) : -len(SUFFIX)]))
        for path in files_under(root)
        if path.name.startswith(PREFIX)
    }


def files_of(root: str) -> set[str]:
    return {str(path.relative_to(root)) for path in data_files(root)}


def test_a_failed_batch_leaves_nothing(spark: SparkSession, external: Source, tmp_path: Path) -> None:
    frame = canaries(spark)
    fill(tmp_path / "inbox", frame)
    with pytest.raises(Exception, match="stop here"):
        stream(external, tmp_path / "inbox", frame).start(external.path).awaitTermination(MINUTE)
    assert files_of(external.path) == set()
    assert materials_of(external.path) == set()
    assert find_canaries(external.path, PROTECTED) == []


def test_a_failed_batch_removes_nothing_of_earlier_batches(
    spark: SparkSession, external: Source, tmp_path: Path
) -> None:
    frame = canaries(spark)
    for part in (frame.where(f"id < {FATAL - 10}"), frame.where(f"id >= {FATAL - 10}")):
        fill(tmp_path / "inbox", part)
    with pytest.raises(Exception, match="stop here"):
        stream(external, tmp_path / "inbox", frame).start(external.path).awaitTermination(MINUTE)
    assert len(files_of(external.path)) == 1
    assert materials_of(external.path) == files_of(external.path)
    assert external.read().count() == FATAL - 10


def test_a_failed_partitioned_batch_leaves_nothing(
    spark: SparkSession, external: Source, conf: Conf, tmp_path: Path
) -> None:
    frame = canaries(spark)
    fill(tmp_path / "inbox", frame)
    writer = stream(external, tmp_path / "inbox", frame).partitionBy("part")
    # Otherwise Spark sorts by partition first, and the batch fails before it opens a file.
    with conf({"spark.sql.maxConcurrentOutputFileWriters": "10"}), pytest.raises(Exception, match="stop here"):
        writer.start(external.path).awaitTermination(MINUTE)
    assert files_of(external.path) == set()
    assert materials_of(external.path) == set()


def test_a_failed_batch_of_many_files_leaves_nothing(spark: SparkSession, external: Source, tmp_path: Path) -> None:
    frame = canaries(spark)
    fill(tmp_path / "inbox", frame)
    writer = stream(external, tmp_path / "inbox", frame).option("maxRecordsPerFile", "20")
    with pytest.raises(Exception, match="stop here"):
        writer.start(external.path).awaitTermination(MINUTE)
    assert files_of(external.path) == set()
    assert materials_of(external.path) == set()


def test_a_failed_write_of_a_frame_leaves_nothing_either(spark: SparkSession, external: Source) -> None:
    with pytest.raises(Exception, match="stop here"):
        # One task: Spark lets others finish while it removes what they write.
        external.write(canaries(spark).coalesce(1).selectExpr("*", DYING))
    assert materials_of(external.path) == set()


def test_a_stream_that_succeeds_has_material_for_every_file(
    spark: SparkSession, external: Source, tmp_path: Path
) -> None:
    frame = canaries(spark).where(f"id < {FATAL}")
    fill(tmp_path / "inbox", frame)
    assert stream(external, tmp_path / "inbox", frame).start(external.path).awaitTermination(MINUTE)
    assert files_of(external.path)
    assert materials_of(external.path) == files_of(external.path)
