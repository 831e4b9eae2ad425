"""Processes that write, seal, expire and read one table at the same time: a read has whole writes, or is refused."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.snapshots.tables import KEYS, KMS, MISMATCH, ids, plant, seal, write
from tests.support.frames import people

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

ROUNDS = 5
ROWS = 5
EXPIRED = "has expired while it was read"


def whole(rounds: int) -> list[int]:
    """Return the ids of so many writes."""
    return list(range(rounds * ROWS))


def meanwhile(step: Callable[[], None]) -> Callable[[], bool]:
    """Start a thread, and return a function that says whether it runs; it raises what ended the thread."""
    failures: list[Exception] = []

    def run() -> None:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - it is raised below
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def is_running() -> bool:
        if failures:
            raise failures[0]
        return thread.is_alive()

    return is_running


def read(spark: SparkSession, table: str) -> int | None:
    """Return how many whole writes a new session reads; None if it is refused, and the error says what to do."""
    try:
        rows = ids(spark.newSession(), table, snapshot="require")
    except pme.PmeError as error:
        assert error.condition == MISMATCH or EXPIRED in str(error), error  # noqa: PT017 - reading may succeed
        return None
    assert rows == whole(len(rows) // ROWS)
    return len(rows) // ROWS


def test_a_seal_next_to_a_writer_lists_whole_writes_or_is_refused_to_readers(spark: SparkSession, target: str) -> None:
    write(people(spark, 0, ROWS).coalesce(1), target)
    seal(spark, target)

    def appends() -> None:
        for number in range(1, ROUNDS):
            plant(people(spark, number * ROWS, ROWS).coalesce(1), target)

    is_writing = meanwhile(appends)
    seen = [1]
    while is_writing():
        made = seal(spark, target)
        assert made.rows == made.files * ROWS
        found = read(spark, target)
        assert found is None or found >= seen[-1]
        seen += [found] if found else []
    assert seal(spark, target).files == ROUNDS
    assert read(spark, target) == ROUNDS


def test_readers_and_an_expiry_next_to_a_writer_that_seals(spark: SparkSession, target: str) -> None:
    def update(number: int) -> None:
        frame = people(spark, number * ROWS, ROWS).coalesce(1)
        frame.write.format("pme-parquet").options(**KEYS, snapshot="update").mode("append").save(target)

    update(0)

    def updates() -> None:
        for number in range(1, ROUNDS):
            update(number)

    is_writing = meanwhile(updates)

    def expiries() -> None:
        session = spark.newSession()
        while is_writing():
            pme.expire_snapshots(session, target, keep=1, options=KMS)

    is_expiring = meanwhile(expiries)
    seen = [1]
    while is_expiring():
        found = read(spark, target)
        assert found is None or found >= seen[-1]
        seen += [found] if found else []
    pme.expire_snapshots(spark, target, keep=1, options=KMS)
    assert [one.version for one in pme.snapshots(target)] == [ROUNDS]
    assert pme.snapshots(target).problems == ()
    assert read(spark, target) == ROUNDS
