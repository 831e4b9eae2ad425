"""A store that fails in the middle of an operation: nothing is lost, nothing is half visible, and another run finishes.

A clean run of each operation shows how many requests it makes. A fault is at one of them: the store stops answering a
client that does not ask again, or it fails once for one that does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

import pme_parquet as pme
from tests.storage import copies
from tests.storage.changes import COPIES, OPERATIONS, assert_nothing_lost, sealed, shape
from tests.storage.faults import at, concerns
from tests.storage.place import READING, InBucket
from tests.support import needs
from tests.support.frames import people, people_rows
from tests.support.source import rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.storage.s3 import Fault, Request

pytestmark = needs.s3a

# A point is a part of the requests that a clean run makes.
POINTS = range(20)


class Prepared(NamedTuple):
    """A table before an operation, and what a clean run asks for and leaves."""

    files: dict[str, bytes]
    requests: list[Request]
    names: set[str]


@pytest.fixture(scope="module")
def clean() -> dict[str, Prepared]:
    return {}


def prepared(name: str, place: InBucket, clean: dict[str, Prepared]) -> Prepared:
    if name not in clean:
        operation, place = (OPERATIONS | COPIES)[name], place.beside("clean")
        operation.prepare(place)
        files = place.content()
        with place.store.counted() as requests:
            operation.act(place)
        asked = [one for one in requests if concerns(place, one.key)]
        clean[name] = Prepared(files, asked, operation.result(place).names())
    return clean[name]


def restored(name: str, place: InBucket, files: dict[str, bytes]) -> InBucket:
    if name == "append":
        # A seal is of one place only.
        sealed(place)
        return place
    for file, content in files.items():
        place.store.files.pipe_file(f"{place.bucket}/{place.name}/{file}", content)
    return place


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_store_that_stops(name: str, point: int, hasty: InBucket, clean: dict[str, Prepared]) -> None:
    before = prepared(name, hasty, clean)
    place = restored(name, hasty, before.files)
    stop = len(before.requests) * point // len(POINTS)
    with place.store.failing(at(place, stop, "busy", ever_after=True)), pytest.raises(Exception) as failed:  # noqa: PT011 each storage has its own
        OPERATIONS[name].act(place)
    assert not isinstance(failed.value, AssertionError) or "failed" in str(failed.value)
    assert_nothing_lost(name, place)
    if name == "append":
        return
    OPERATIONS[name].act(place)
    assert place.rows() == people_rows(place.spark)
    assert shape(place.names()) == shape(before.names)
    assert pme.verify(place.spark, place.path, options=READING).collect() == []


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("fault", ["busy", "gone", "lost", "cut"])
@pytest.mark.parametrize("name", ["append", "to external", "in place"])
def test_a_fault_that_passes(
    spark: SparkSession, name: str, fault: Fault, point: int, place: InBucket, clean: dict[str, Prepared]
) -> None:
    before = prepared(name, place, clean)
    place = restored(name, place, before.files)
    with place.store.failing(at(place, len(before.requests) * point // len(POINTS), fault, ever_after=False)):
        OPERATIONS[name].act(place)
    more = people(spark, 20) if name == "append" else people(spark).limit(0)
    assert place.rows() == rows(people(spark).union(more))
    assert shape(place.names()) == shape(before.names)
    assert pme.verify(spark, place.path, options=READING).collect() == []


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_whose_store_stops_appears_whole_or_no_reader_takes_it(
    name: str, point: int, hasty: InBucket, clean: dict[str, Prepared]
) -> None:
    before = prepared(name, hasty, clean)
    place = restored(name, hasty, before.files)
    appears = next(at for at, one in enumerate(before.requests) if copies.UNFINISHED in one.key)
    stop = copies.where_it_appears(point, len(POINTS), len(before.requests), appears)
    with place.store.failing(at(place, stop, "busy", ever_after=True)):
        failed = copies.act(name, place)
    assert place.content() == before.files
    if not copies.assert_whole_or_refused(name, place, before.names, failed=failed):
        copies.assert_the_next_run_ends_it(name, place, before.names)
