"""An operation that is killed in the middle: nothing is lost, nothing is half visible, and another run finishes.

Files that the killed process was writing stay open in HDFS, with its leases.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import pme_parquet as pme
from tests.support import java
from tests.support.frames import people
from tests.support.hdfs import server
from tests.support.source import rows
from tests.support.storage import file_systems, s3a
from tests.support.storage.file_systems import NEVER
from tests.support.storage.place import ENC, MATERIAL, READING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from tests.hdfs.place import InHdfs

STOPPING = {
    "fs.hdfs.impl": "hdfs.StoppingHdfs",
    "fs.hdfs.impl.disable.cache": "true",
    "fs.AbstractFileSystem.hdfs.impl": "hdfs.StoppingHdfs$Context",
}
NEW = {"footer": "footer-2", "pii": "pii-2", "pay": "pay-2"}
EITHER = {"plaintextFiles": "allow"}
# A point is a part of the changes that a clean run makes. `make test` takes the first ones, in the middle.
POINTS = (5, 8, 0, 1, 2, 3, 4, 6, 7, 9, 10, 11)
COPY = "copy"
KINDS = ("_pme_snapshots/snapshot", "_pme_snapshots/part", MATERIAL, "part-", "_SUCCESS")


class Operation(NamedTuple):
    """An operation on a table, and what the table is before."""

    act: Callable[[InHdfs], object]
    prepare: Callable[[InHdfs], object]


def append(place: InHdfs) -> None:
    options = ENC.options() | {"snapshot": "update"}
    people(place.spark, 20).coalesce(1).write.format("pme-parquet").options(**options).mode("append").save(place.path)


def sealed(place: InHdfs) -> None:
    place.write(people(place.spark))
    pme.seal(place.spark, place.path, options=READING)


def rotate(place: InHdfs) -> None:
    pme.rotate(place.spark, place.path, options=READING, master_keys=NEW, allow_unused=True)


def to_external(place: InHdfs) -> None:
    pme.rotate(place.spark, place.path, options=READING, master_keys=NEW, allow_unused=True, key_material="external")


def in_place(place: InHdfs) -> None:
    done = pme.encrypt(place.spark, place.path, enc=ENC, in_place=True)
    assert done.failed == ()


def copy(place: InHdfs) -> None:
    pme.encrypt(place.spark, place.path, place.beside(COPY).path, ENC)


def written(place: InHdfs) -> None:
    place.write(people(place.spark))


def plain(place: InHdfs) -> None:
    people(place.spark).write.parquet(place.path)


OPERATIONS = {
    "in place": Operation(in_place, plain),
    "to external": Operation(to_external, written),
    "rotate": Operation(rotate, written),
    "copy": Operation(copy, plain),
    "append": Operation(append, sealed),
}


@contextmanager
def stopping(spark: SparkSession, after: int) -> Iterator[None]:
    """Let the client of the session make this many changes."""
    with s3a.configured(spark, STOPPING), file_systems.stopping(spark, after):
        yield


@pytest.fixture(scope="module")
def loaded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    java.load(spark, tmp_path_factory, Path(server.__file__).with_name("StoppingHdfs.java"))


def shape(names: set[str]) -> list[str]:
    """Return the kinds of files: names of data are random."""
    return sorted(next((kind for kind in KINDS if name.startswith(kind)), name) for name in names)


def assert_nothing_lost(name: str, place: InHdfs) -> None:
    """Fail unless the table is what it was or what it will be, or a reader is told that it is neither."""
    before = rows(people(place.spark))
    if name == "copy":
        target = place.beside(COPY)
        assert target.names() == set() or target.rows() == before
    if name != "append":
        assert place.rows(**EITHER) == before
        return
    after = rows(people(place.spark).union(people(place.spark, 20)))
    try:
        assert place.rows(snapshot="require") in (before, after)
    except pme.SnapshotMismatchError:
        # The file is there, and its version is not.
        assert place.rows(snapshot="off") == after


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_killed_operation(spark: SparkSession, name: str, point: int, place: InHdfs) -> None:
    operation = OPERATIONS[name]
    clean = place.beside("clean")
    operation.prepare(clean)
    operation.prepare(place)
    with stopping(spark, NEVER):
        operation.act(clean)
        changes = NEVER - file_systems.changes_left(spark)
    # The last change may clean up after all is done, which may fail.
    with stopping(spark, (changes - 1) * point // len(POINTS)), pytest.raises(Exception) as failed:  # noqa: PT011 as Spark and HDFS have it
        operation.act(place)
    assert "stopped" in str(failed.value) or "failed" in str(failed.value)
    assert_nothing_lost(name, place)
    if name == "append":
        return
    with stopping(spark, NEVER):
        operation.act(place)
    done, expected = (where.beside(COPY) if name == "copy" else where for where in (place, clean))
    assert done.rows() == rows(people(spark))
    assert shape(done.names()) == shape(expected.names())
    assert not [name for name in place.around() if "pme" in name]
    assert pme.verify(spark, done.path, options=READING).collect() == []
