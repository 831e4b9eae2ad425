"""Tests of sealed tables in a cloud's store, and of one that stops or fails. The module of a store imports them.

It has the fixtures ``place`` and ``operation``: the name of an operation that the store allows.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.storage import copies
from tests.storage.changes import COPIES, OPERATIONS, READS, assert_nothing_lost, sealed, shape
from tests.storage.clouds.azure import Azure
from tests.storage.place import READING
from tests.support.expect import refused
from tests.support.frames import people, people_rows
from tests.support.source import rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.storage.clouds.place import InCloud

# A point is a part of the requests that a clean run makes.
POINTS = range(6)
POINTS_OF_COPIES = range(12)
TOGETHER = 3


class Fault:
    """Refuses a request that names the place, after so many others: it only, or it and all after it.

    Attributes:
        is_met: whether it has refused one.
    """

    def __init__(self, place: InCloud, after: int, *, passes: bool = False) -> None:
        self._name, self._left, self._passes = place.name, after, passes
        self.is_met = False

    def __call__(self, _: str, url: str) -> bool:
        self._left -= self._name in url
        if self._left >= 0 or (self._passes and self.is_met):
            return False
        self.is_met = True
        return True


def requests_of(place: InCloud, act: Callable[[InCloud], object]) -> int:
    """Return how many requests an operation makes that nothing stops."""
    before = len(place.store.requests)
    act(place)
    return len(place.store.requests) - before


def test_a_table_is_sealed(spark: SparkSession, place: InCloud) -> None:
    place.write(people(spark))
    assert pme.seal(spark, place.path, options=READING, index=[pme.MinMax("id")], expect="unsealed").version == 1
    place.plant(people(spark, 20))
    with refused("PME_SNAPSHOT_MISMATCH", "not in the list"):
        place.rows()
    assert pme.seal(spark, place.path, options=READING, expect=1).version == 2
    assert place.rows(snapshot="require") == people_rows(spark, 0, 20)
    assert pme.verify(spark, place.path, options=READING).collect() == []


def test_a_seal_wins_once(spark: SparkSession, place: InCloud) -> None:
    place.write(people(spark))
    pme.seal(spark, place.path, options=READING, expect="unsealed")
    place.plant(people(spark, 20))
    versions: list[int | None] = []

    def seal() -> None:
        try:
            versions.append(pme.seal(spark, place.path, options=READING, expect="1").version)
        except pme.PmeError as failed:
            assert failed.condition == "PME_SNAPSHOT_CONFLICT"  # noqa: PT017 one of them may succeed
            versions.append(None)

    together = [threading.Thread(target=seal) for _ in range(TOGETHER)]
    for one in together:
        one.start()
    for one in together:
        one.join()
    assert len(versions) == TOGETHER
    made = sorted(version for version in versions if version)
    assert made
    assert made == list(range(2, 2 + len(made)))
    manifests = {name for name in place.names() if name.startswith("_pme_snapshots/snapshot-")}
    assert len(manifests) == 1 + len(made)
    assert place.rows(snapshot="require") == people_rows(spark, 0, 20)


@pytest.mark.parametrize("point", POINTS)
def test_a_store_that_stops(operation: str, point: int, place: InCloud) -> None:
    clean = place.beside("clean")
    OPERATIONS[operation].prepare(clean)
    OPERATIONS[operation].prepare(place)
    made = requests_of(clean, OPERATIONS[operation].act)
    with place.store.busy(Fault(place, made * point // len(POINTS))), pytest.raises(Exception):  # noqa: B017, PT011 each client has its own
        OPERATIONS[operation].act(place)
    assert_nothing_lost(operation, place)
    if operation == "append":
        return
    OPERATIONS[operation].act(place)
    assert place.rows() == people_rows(place.spark)
    assert shape(place.names()) == shape(clean.names())
    assert pme.verify(place.spark, place.path, options=READING).collect() == []


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("what", READS)
@pytest.mark.parametrize("passes", [True, False], ids=["once", "ever after"])
def test_a_read_that_meets_a_fault_returns_all_or_fails(
    spark: SparkSession, what: str, point: int, place: InCloud, *, passes: bool
) -> None:
    sealed(place)
    # Another read of the same table asks less.
    expected = READS[what](place)
    fault = Fault(place, requests_of(place, READS[what]) * point // len(POINTS), passes=passes)
    with place.store.busy(fault):
        try:
            found = READS[what](place)
        except Exception:  # noqa: BLE001 each client has its own
            assert not passes
            found = None
    assert fault.is_met
    if what == "verify" and found:
        # It says which file could not be read, and reads the others.
        assert not passes
        assert all(finding.file for finding in found)  # type: ignore[attr-defined]
    else:
        assert found is None or found == expected
    assert READS[what](place) == expected


@pytest.mark.parametrize("point", POINTS)
def test_a_failure_that_passes(operation: str, point: int, place: InCloud) -> None:
    clean = place.beside("clean")
    OPERATIONS[operation].prepare(clean)
    OPERATIONS[operation].prepare(place)
    made = requests_of(clean, OPERATIONS[operation].act)
    fault = Fault(place, made * point // len(POINTS), passes=True)
    with place.store.busy(fault):
        OPERATIONS[operation].act(place)
    assert fault.is_met
    more = people(place.spark, 20) if operation == "append" else people(place.spark).limit(0)
    assert place.rows() == rows(people(place.spark).union(more))
    assert shape(place.names()) == shape(clean.names())
    assert pme.verify(place.spark, place.path, options=READING).collect() == []


@pytest.mark.parametrize("point", POINTS_OF_COPIES)
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_whose_store_stops_appears_whole_or_no_reader_takes_it(name: str, point: int, place: InCloud) -> None:
    clean = place.beside("clean")
    COPIES[name].prepare(clean)
    COPIES[name].prepare(place)
    files = place.content()
    # Whether a request names the place: the fault counts these, and uploads name it in their bodies only.
    named: list[bool] = []

    def heard(_: str, url: str) -> bool:
        named.append(clean.name in url)
        return False

    before = len(place.store.requests)
    with place.store.busy(heard):
        COPIES[name].act(clean)
    asked = place.store.requests[before:]
    first = next(at for at, one in enumerate(asked) if copies.UNFINISHED in one.key)
    fault = Fault(place, copies.where_it_appears(point, len(POINTS_OF_COPIES), sum(named), sum(named[:first])))
    with place.store.busy(fault):
        failed = copies.act(name, place)
    assert fault.is_met
    assert place.content() == files
    expected = COPIES[name].result(clean).names()
    if not copies.assert_whole_or_refused(name, place, expected, failed=failed):
        is_azure = isinstance(place.store, Azure)
        copies.assert_the_next_run_ends_it(name, place, expected, has_directories=is_azure)
