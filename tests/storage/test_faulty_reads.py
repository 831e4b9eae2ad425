"""Reads from a store that fails: all rows, or an error.

A clean read shows how many requests it makes. A fault is at one of them, or at it and all after it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.storage.changes import READS, sealed
from tests.storage.faults import at
from tests.storage.place import ENC
from tests.support import needs
from tests.support.expect import refused
from tests.support.frames import people, people_rows
from tests.support.storage import s3

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from tests.storage.place import InBucket
    from tests.support.storage.s3 import Fault

pytestmark = needs.s3a

# Of the files that a listing may lack, `make test` tries one.
MOST = None if needs.ALL else 1
POINTS = (2, 0, 1, 3)
FAULTS = ("cut", "silent", "busy", "gone", "lost")
PATIENCE = {"connection.timeout": "500ms", "connection.request.timeout": "500ms"}


@contextmanager
def impatient(spark: SparkSession, place: InBucket) -> Iterator[None]:
    """Let clients wait shortly for an answer: S3A has a least time, except in tests."""
    session: Any = spark
    settings = session._jvm.org.apache.hadoop.fs.s3a.impl.AWSClientConfig
    settings.setMinimumOperationDuration(session._jvm.java.time.Duration.ofMillis(1))
    named = {f"fs.s3a.bucket.{place.bucket}.{name}": value for name, value in PATIENCE.items()}
    try:
        with s3.configured(spark, named | {"fs.s3a.impl.disable.cache": "true"}):
            yield
    finally:
        settings.resetMinimumOperationDuration()


def requests_of(place: InBucket, read: Callable[[InBucket], object]) -> tuple[object, int]:
    """Return what a clean read returns, and how many requests it makes."""
    with place.store.counted() as requests:
        expected = read(place)
    return expected, sum(not one.key or one.key.startswith(place.name) for one in requests)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("what", READS)
def test_a_fault_that_passes_costs_no_row(
    spark: SparkSession, what: str, fault: Fault, point: int, place: InBucket
) -> None:
    sealed(place)
    with impatient(spark, place):
        expected, made = requests_of(place, READS[what])
        with place.store.failing(at(place, made * point // len(POINTS), fault, ever_after=False)):
            assert READS[what](place) == expected


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("what", ["rows", "sealed rows"])
def test_a_store_that_stops_costs_no_row(
    spark: SparkSession, what: str, fault: Fault, point: int, hasty: InBucket
) -> None:
    sealed(hasty)
    with impatient(spark, hasty):
        expected, made = requests_of(hasty, READS[what])
        with hasty.store.failing(at(hasty, made * point // len(POINTS), fault, ever_after=True)):
            try:
                read = READS[what](hasty)
            except Exception:  # noqa: BLE001 Spark and each client have their own
                return
    assert read == expected


def test_a_listing_that_lacks_a_file(spark: SparkSession, place: InBucket) -> None:
    sealed(place)
    place.write(people(spark, 20), ENC, "append")
    everything = people_rows(spark, 0, 20)
    assert place.rows() == everything
    for name in sorted(place.data())[:MOST]:
        with place.store.forgetting(name):
            with refused("PME_SNAPSHOT_MISMATCH"):
                place.rows()
            # Without its seal a table has what the listing has, as with Spark's own source.
            assert len(place.rows(snapshot="off")) < len(everything)
    assert place.rows() == everything


def test_a_listing_that_lacks_the_newest_snapshot(spark: SparkSession, place: InBucket) -> None:
    sealed(place)
    place.write(people(spark, 20), ENC, "append")
    with place.store.forgetting("snapshot-0000000002.json"), refused("PME_SNAPSHOT_NOT_AUTHENTIC", "older than"):
        place.rows()
