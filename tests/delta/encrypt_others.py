"""Parts of ``encrypt_job``: tables by name, many rows, other sessions meanwhile, and what follows an encryption."""

from __future__ import annotations

from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

from tests.delta.delta_tables import CANARY
from tests.delta.encrypt_tables import COLUMNS, NESTED, OPEN, row
from tests.delta.watched import GO_ON, REWRITE, watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.delta.encrypt_tables import Encrypting

LATE = "TBLPROPERTIES ('delta.checkpointInterval' = '100')"


def named(job: Encrypting) -> None:
    """Encrypt tables by their names in the session's catalog."""
    job.sql("CREATE SCHEMA more")
    for step, name, given in (
        ("named", "people", "people"),
        ("named schema", "more.people", "more.people"),
        ("named catalog", "more.staff", "spark_catalog.`more`.staff"),
    ):
        place = job.place(step.replace(" ", "-"))
        job.openly(f"CREATE TABLE {name} ({COLUMNS}) USING delta LOCATION '{place}'")
        job.openly(f"INSERT INTO {name} {row('0, 8, 1, 2')}")
        job.encrypt(step, given, OPEN)
        job.encrypt(f"{step} again", place, OPEN)
        job.note(f"{step} rows", f"SELECT count(*), count(DISTINCT ssn), sum(id) FROM {name}")
    job.sql("USE more")
    job.encrypt("named current", "people", OPEN)
    job.sql("USE default")
    job.sql("CREATE TABLE other (id LONG) USING parquet")
    job.encrypt("named other", "other", OPEN)


def large(job: Encrypting) -> None:
    """Encrypt a table of many rows in several files."""
    table = job.written("large", LATE)
    job.append("large", "8, 20000, 1, 6")
    job.encrypt("large", table, OPEN)
    job.read("large rows", "large")


def changed(job: Encrypting) -> None:
    """Change an encrypted table with column mapping, and read its versions."""
    for mode in ("name", "id"):
        step, name = f"changed {mode}", f"changed-{mode}"
        more = f"'delta.columnMapping.mode' = '{mode}', 'delta.checkpointInterval' = '100'"
        table = job.written(name, f"TBLPROPERTIES ({more})")
        made = f"delta.`{table}`"
        job.encrypt(step, table, NESTED)
        job.note(f"{step}: updated", f"UPDATE {made} SET ssn = concat(ssn, '-new') WHERE id = 1")
        source = "(SELECT 2L AS id UNION SELECT 50L) s ON t.id = s.id"
        insert = f"INSERT (id, ssn, home) VALUES (s.id, '{CANARY}-50', named_struct('street', '{CANARY}', 'zip', 1))"
        job.note(
            f"{step}: merged",
            f"MERGE INTO {made} t USING {source} WHEN MATCHED THEN UPDATE SET t.day = 'merged' WHEN NOT MATCHED THEN "
            f"{insert}",
        )
        job.note(f"{step}: deleted", f"DELETE FROM {made} WHERE id = 3")
        job.note(f"{step}: renamed", f"ALTER TABLE {made} RENAME COLUMN ssn TO number")
        job.note(f"{step}: optimized", f"OPTIMIZE {made}")
        job.note(f"{step}: rows", f"SELECT id, number, day FROM {made}")
        job.read(f"{step}: then", name, f"VERSION AS OF {job.result(step).version}")
        job.note(f"{step}: plaintext", f"SELECT max(ssn) FROM {made} VERSION AS OF 2")


def deletes(table: str, session: SparkSession) -> Iterator[None]:
    """Delete rows one by one."""
    for at in range(4):
        session.sql(f"DELETE FROM delta.`{table}` WHERE id = {at}").collect()
        yield


def updates(table: str, session: SparkSession) -> Iterator[None]:
    """Update rows one by one."""
    for at in range(4):
        session.sql(f"UPDATE delta.`{table}` SET day = 'other' WHERE id = {at}").collect()
        yield


def columns(table: str, session: SparkSession) -> Iterator[None]:
    """Add columns."""
    for at in range(2):
        session.sql(f"ALTER TABLE delta.`{table}` ADD COLUMNS (added{at} STRING)").collect()
        yield


def streams(table: str, session: SparkSession) -> Iterator[None]:
    """Append by a stream, in one commit for each file of its source."""
    source = f"{table}-source"
    session.sql(f"CREATE TABLE delta.`{source}` ({COLUMNS}) USING delta").collect()
    for at in range(100, 104):
        session.sql(f"INSERT INTO delta.`{source}` {row(f'{at}, {at + 1}, 1, 1')}").collect()
    rows = session.readStream.format("delta").option("maxFilesPerTrigger", 1).load(source)
    written = rows.writeStream.format("delta").option("checkpointLocation", f"{table}-stream")
    query = written.trigger(availableNow=True).start(table)
    while query.isActive and not query.recentProgress:
        query.awaitTermination(1)
    yield
    query.awaitTermination()


RACES = {"deletes": deletes, "updates": updates, "columns": columns, "streams": streams}


class Other(Thread):
    """Another session. It repeats nothing: a statement that fails ends it."""

    def __init__(self, steps: Iterator[None]) -> None:
        super().__init__(daemon=True)
        self.steps = steps
        self.begun = Event()
        self.committed = 0

    def run(self) -> None:
        # It may lose against the encryption.
        with suppress(Exception):
            for _ in self.steps:
                self.committed += 1
                self.begun.set()
        self.begun.set()


def races(job: Encrypting) -> None:
    """Let another session change the table before the first rewrite and during it."""
    for name, steps in RACES.items():
        table = job.written(name, LATE)
        own = job.spark.newSession()
        own.conf.set("pme-parquet.plaintextFiles", "allow")
        other = Other(steps(table, own))
        _encrypt_beside(job, name, table, other)
        if other.ident:
            other.join()
        job.committed[name] = other.committed
        job.encrypt(f"{name}: again", table, OPEN)
        job.note(f"{name}: rows", f"SELECT id, ssn, day FROM delta.`{table}`")


def _encrypt_beside(job: Encrypting, name: str, table: str, other: Other) -> None:
    def start(step: str) -> str:
        if step == REWRITE and not other.ident:
            other.start()
            # One commit is certainly meanwhile.
            other.begun.wait()
        return GO_ON

    with watched(job.spark, start):
        job.encrypt(name, table, OPEN)
