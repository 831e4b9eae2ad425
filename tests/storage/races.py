"""Tests of two runs at once in a storage: at most one of two different ones ends, and no row is lost.

The folder of a storage imports them, and has the fixture ``place``.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.storage.changes import EITHER, OPERATIONS
from tests.storage.place import ENC, EXTERNAL, READING
from tests.support.expect import refused
from tests.support.frames import people, people_rows
from tests.support.kms.clients import PATIENCE, Waiting, at_once, during

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.storage.place import Place


CHANGES = ["rotate", "to external", "in place"]


@pytest.mark.parametrize("name", CHANGES)
def test_two_that_do_the_same_at_once_lose_nothing(name: str, place: Place) -> None:
    OPERATIONS[name].prepare(place)
    at_once(lambda: OPERATIONS[name].act(place))
    assert place.rows(**EITHER) == people_rows(place.spark)
    OPERATIONS[name].act(place)
    assert place.rows() == people_rows(place.spark)
    assert pme.verify(place.spark, place.path, options=READING).collect() == []
    assert not [left for left in place.names() if "pme" in left]


@pytest.mark.parametrize("name", CHANGES)
def test_readers_meanwhile_see_the_rows_or_fail_cleanly(name: str, place: Place) -> None:
    OPERATIONS[name].prepare(place)
    expected = people_rows(place.spark)
    stop, seen, wrong = threading.Event(), threading.Event(), []

    def look() -> None:
        while not stop.is_set():
            try:
                found = place.rows(**EITHER)
            except pme.PmeError:
                continue
            except Exception as error:  # noqa: BLE001 the test shows it
                found = [str(error)]
            seen.set()
            if found != expected:
                wrong.append(found)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        assert seen.wait(PATIENCE)
        OPERATIONS[name].act(place)
    finally:
        stop.set()
        reader.join()
    assert wrong == []


def test_a_rotation_refuses_to_run_next_to_one_that_does_something_else(spark: SparkSession, place: Place) -> None:
    place.write(people(spark), EXTERNAL)
    client = Waiting()

    def slow() -> None:
        kms = pme.PythonKms(client)
        pme.rotate(spark, place.path, kms=kms, master_keys={"footer": "footer-2"}, key_material="internal")

    def quick() -> None:
        before = place.content()
        with refused("PME_UNSUPPORTED", "has not ended"):
            pme.rotate(spark, place.path, options=READING, master_keys={"footer": "footer-3"})
        assert place.content() == before

    assert during(client, slow, quick) == []
    assert place.rows() == people_rows(spark)
    assert not [left for left in place.names() if "pme" in left.lower()]


def test_the_first_finished_of_two_copies_to_one_target_wins(spark: SparkSession, place: Place) -> None:
    # One file, and so one task: while it waits, the other copy has a core.
    people(spark).coalesce(1).write.parquet(place.path)
    target, client = place.beside("target"), Waiting()
    slow = pme.Encryption(kms=pme.PythonKms(client), uniform_key="slow")
    [failure] = during(
        client,
        lambda: pme.encrypt(spark, place.path, target.path, slow),
        lambda: pme.encrypt(spark, place.path, target.path, ENC),
    )
    assert isinstance(failure, pme.PmeError), failure
    assert failure.condition == "PME_BAD_OPTION", failure
    assert "it is not empty" in str(failure)
    assert target.rows() == people_rows(spark)
    assert not [name for name in place.around() if "pme" in name]
