"""An operation that is killed in the middle: nothing is lost, nothing is half visible, and another run finishes.

Files that the killed process was writing stay open in HDFS, with its leases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.storage import changes, copies
from tests.storage.changes import assert_nothing_lost, shape
from tests.storage.copies import in_directories
from tests.storage.hdfs.stopping import load, stopping
from tests.storage.place import READING
from tests.support import file_systems
from tests.support.file_systems import NEVER
from tests.support.frames import people_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.storage.hdfs.place import InHdfs

pytestmark = pytest.mark.oldest

# A point is a part of the changes that a clean run makes. `make test` takes the first ones, in the middle.
POINTS = (5, 8, 0, 1, 2, 3, 4, 6, 7, 9, 10, 11)


@pytest.fixture(scope="module")
def loaded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    load(spark, tmp_path_factory)


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", changes.OPERATIONS)
def test_a_killed_operation(spark: SparkSession, name: str, point: int, place: InHdfs) -> None:
    operation = changes.OPERATIONS[name]
    clean = place.beside("clean")
    operation.prepare(clean)
    operation.prepare(place)
    with stopping(spark, NEVER):
        operation.act(clean)
        made = NEVER - file_systems.changes_left(spark)
    # The last change may clean up after all is done, which may fail.
    with stopping(spark, (made - 1) * point // len(POINTS)), pytest.raises(Exception) as failed:  # noqa: PT011 as Spark and HDFS have it
        operation.act(place)
    assert "stopped" in str(failed.value) or "failed" in str(failed.value)
    assert_nothing_lost(name, place)
    if name == "append":
        return
    with stopping(spark, NEVER):
        operation.act(place)
    assert place.rows() == people_rows(spark)
    assert shape(place.names()) == shape(clean.names())
    assert not [name for name in place.around() if "pme" in name]
    assert pme.verify(spark, place.path, options=READING).collect() == []


@pytest.mark.nightly
@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", changes.COPIES)
def test_a_killed_copy_appears_whole_or_not_at_all(spark: SparkSession, name: str, point: int, place: InHdfs) -> None:
    operation = changes.COPIES[name]
    clean = place.beside("clean")
    operation.prepare(clean)
    operation.prepare(place)
    files = place.content()
    with stopping(spark, NEVER):
        operation.act(clean)
        made = NEVER - file_systems.changes_left(spark)
    with stopping(spark, made * point // len(POINTS)):
        failed = copies.act(name, place)
        assert file_systems.changes_left(spark) == 0
    assert place.content() == files
    expected = operation.result(clean).names()
    if not copies.assert_whole_or_refused(name, place, expected, failed=failed):
        # HDFS moves a directory in one step.
        assert operation.result(place).names() == set()
        with stopping(spark, NEVER):
            operation.act(place)
    done = operation.result(place)
    assert done.rows() == people_rows(spark)
    assert in_directories(done.names()) == in_directories(expected)
    assert not [name for name in place.around() if "pme" in name]
    assert pme.verify(spark, done.path, options=READING).collect() == []
