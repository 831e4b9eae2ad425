"""An HDFS that fails once, or from one moment on: all rows or an error, and nothing is lost.

A clean run shows how often a client asks or changes something. A fault is at one of these.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.storage import changes
from tests.storage.changes import READS, assert_nothing_lost, sealed, shape
from tests.storage.hdfs.stopping import load, stopping
from tests.storage.place import READING
from tests.support import file_systems
from tests.support.file_systems import NEVER
from tests.support.frames import people_rows
from tests.support.storage import s3

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.storage.hdfs.place import InHdfs

pytestmark = [pytest.mark.oldest, pytest.mark.nightly]

FAULTY = {"fs.hdfs.impl": "hdfs.FaultyHdfs", "fs.hdfs.impl.disable.cache": "true"}
CLOSED = "the connection was closed"
POINTS = (3, 0, 5, 1, 2, 4, 6, 7)


@pytest.fixture(scope="module")
def loaded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    load(spark, tmp_path_factory, "FaultyHdfs.java")


@contextmanager
def failing(spark: SparkSession, after: int, *, passes: bool) -> Iterator[Any]:
    """Let a question or a read fail after this many; return the class that counts."""
    jvm: Any = spark._jvm
    with s3.configured(spark, FAULTY):
        jvm.hdfs.FaultyHdfs.fail(after, passes)
        yield jvm.hdfs.FaultyHdfs


def read(place: InHdfs, what: str) -> object | None:
    """Return what a read returns, and nothing if it is an error."""
    try:
        return READS[what](place)
    except Exception as failed:
        # As Spark and HDFS have it.
        if CLOSED not in str(failed):
            raise
        return None


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("what", READS)
@pytest.mark.parametrize("passes", [True, False], ids=["once", "ever after"])
def test_a_read_that_meets_a_fault_returns_all_or_fails(
    spark: SparkSession, what: str, point: int, place: InHdfs, *, passes: bool
) -> None:
    sealed(place)
    with failing(spark, NEVER, passes=True) as counter:
        # Another read of the same table asks less.
        READS[what](place)
        counter.fail(NEVER, True)  # noqa: FBT003 Java's
        expected = READS[what](place)
        made = NEVER - counter.left()
    with failing(spark, made * point // len(POINTS), passes=passes) as counter:
        found = read(place, what)
        assert counter.left() <= 0
    if what == "verify" and found:
        # It says which file could not be read, and reads the others.
        assert all(finding.file for finding in found)  # type: ignore[attr-defined]
    else:
        assert found is None or (passes and found == expected)
    assert READS[what](place) == expected


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", ["append", "to external", "in place"])
def test_an_operation_that_meets_a_fault_loses_nothing(
    spark: SparkSession, name: str, point: int, place: InHdfs
) -> None:
    operation = changes.OPERATIONS[name]
    clean = place.beside("clean")
    operation.prepare(clean)
    operation.prepare(place)
    with stopping(spark, NEVER):
        operation.act(clean)
        made = NEVER - file_systems.changes_left(spark)
    after = made * point // len(POINTS)
    with stopping(spark, after, passes=True):
        is_done = acts(operation, place)
    assert_nothing_lost(name, place)
    if name == "append":
        if is_done:
            assert place.rows() == people_rows(spark, 0, 20)
        return
    if not is_done:
        operation.act(place)
    assert place.rows() == people_rows(spark)
    assert shape(place.names()) == shape(clean.names())
    assert not [name for name in place.around() if "pme" in name]
    assert pme.verify(spark, place.path, options=READING).collect() == []


def acts(operation: changes.Operation, place: InHdfs) -> bool:
    """Return whether an operation does not fail."""
    try:
        operation.act(place)
    except Exception as failed:
        if CLOSED not in str(failed) and "failed" not in str(failed):
            raise
        return False
    return True
