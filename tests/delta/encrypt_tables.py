"""Tables that a session without our factory has written in plaintext, and their encryption."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import write_deltalake

import pme_parquet as pme
import pme_parquet.delta
from tests.delta.delta_tables import CANARY, Checked, Job, Result, without_factory
from tests.support.canary import files_under
from tests.support.processes import picked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import SparkSession

NAMES = ("footer", "pii", "pay", "pii-2")
OPEN = pme.Encryption(footer_key="footer", column_keys={"pii": ["ssn"]}, unlisted_columns="plaintext")
NESTED = pme.Encryption(
    footer_key="footer",
    column_keys={"pii": ["ssn", "home.street"], "pay": ["jobs", "notes"]},
    unlisted_columns="plaintext",
)
COLUMNS = (
    "id LONG, ssn STRING, day STRING, home STRUCT<street: STRING, zip: INT>, jobs ARRAY<STRUCT<pay: STRING>>, "
    "notes MAP<STRING, STRING>"
)
DAYS = 30 * 24 * 3600


def row(count: str) -> str:
    """Return a query for rows whose every column that is to be encrypted has the canary."""
    text = f"concat('{CANARY}-', id)"
    return (
        f"SELECT id, {text} AS ssn, concat('day-', id % 2) AS day, named_struct('street', {text}, 'zip', 8) AS home, "
        f"array(named_struct('pay', {text})) AS jobs, map('k', {text}) AS notes FROM range({count})"
    )


@dataclass(frozen=True)
class Encrypted:
    """What an operation on a table has returned.

    Attributes:
        text: what it prints.
    """

    path: str
    version_before: int
    version: int
    files_rewritten: int
    rows: int | None
    columns: dict[str, str | None]
    properties: dict[str, str]
    readable: tuple[str, ...]
    statements: tuple[str, ...]
    check: Checked | None
    text: str

    @classmethod
    def of(cls, found: pme.delta.EncryptedTable) -> Encrypted:
        return picked(cls, found, check=found.check and Checked.of(found.check), text=str(found))


@dataclass(frozen=True)
class Killed:
    """A process that was killed, and what it left.

    Attributes:
        marks: how many files say that the table is being encrypted.
        left: names of our files after the runs that follow.
    """

    ended: int
    errors: str
    version: int
    marks: int
    left: list[str]


@dataclass(frozen=True)
class EncryptResult(Result):
    """What came of a job's steps, with results of operations.

    Attributes:
        live: names of live files below a table.
        killed: by the points of ``encrypt_killed_job``.
        committed: how many commits another session made meanwhile.
    """

    encrypted: dict[str, Encrypted]
    live: dict[str, list[str]]
    killed: dict[str, Killed]
    committed: dict[str, int]


@dataclass
class Encrypting(Job):
    """Tables in plaintext, and their encryption."""

    encrypted: dict[str, Encrypted] = field(default_factory=dict)
    live: dict[str, list[str]] = field(default_factory=dict)
    killed: dict[str, Killed] = field(default_factory=dict)
    committed: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # A search of bytes does not see into compressed pages.
        self.spark.conf.set("spark.sql.parquet.compression.codec", "uncompressed")

    @property
    def kms(self) -> dict[str, str]:
        """The session's KMS, for operations of the connector."""
        return {"kms": "static", "kms.static.keys": f"file:{self.work / 'keys'}"}

    def openly(self, text: str) -> None:
        """Run a statement without a factory."""
        with without_factory(self.spark) as own:
            own.conf.set("spark.sql.parquet.compression.codec", "uncompressed")
            own.sql(text).collect()

    def written(self, name: str, more: str = "", columns: str = COLUMNS) -> str:
        """Write a table in plaintext, in two commits, and return its directory."""
        made = f"delta.`{self.place(name)}`"
        self.openly(f"CREATE TABLE {made} ({columns}) USING delta {more}")
        if columns == COLUMNS:
            self.append(name, "0, 6, 1, 2")
            self.append(name, "6, 8, 1, 1")
        return self.place(name)

    def generated(self, name: str) -> str:
        """Make a table with a generated column, which SQL cannot make at a path, and return its directory."""
        session: Any = self.spark
        jvm, java_session = session._jvm, session._jsparkSession
        delta = jvm.io.delta.tables.DeltaTable
        area = delta.columnBuilder(java_session, "area").dataType("STRING").generatedAlwaysAs("substring(ssn, 1, 3)")
        made = delta.create(java_session).location(self.place(name)).addColumn("id", "LONG")
        made.addColumn("ssn", "STRING").addColumn(area.build()).execute()
        return self.place(name)

    def outsider(self, name: str) -> None:
        """Append a row in plaintext by another implementation, which knows neither our rules nor our factory."""
        text = f"{CANARY}-100"
        fields = {
            "id": pa.int64(),
            "ssn": pa.string(),
            "day": pa.string(),
            "home": pa.struct({"street": pa.string(), "zip": pa.int32()}),
            "jobs": pa.list_(pa.struct({"pay": pa.string()})),
            "notes": pa.map_(pa.string(), pa.string()),
        }
        one = {"id": 100, "ssn": text, "day": "day-0", "home": {"street": text, "zip": 8}}
        one |= {"jobs": [{"pay": text}], "notes": [("k", text)]}
        write_deltalake(self.place(name), pa.Table.from_pylist([one], pa.schema(fields)), mode="append")

    def append(self, name: str, count: str) -> None:
        self.openly(f"INSERT INTO delta.`{self.place(name)}` {row(count)}")

    def encrypt(self, step: str, table: str, enc: pme.Encryption, spark: SparkSession | None = None) -> None:
        """Encrypt a table, and keep the result."""
        self.keep(step, lambda: pme.delta.encrypt_table(spark or self.spark, table, enc))

    def keep(self, step: str, what: Callable[[], pme.delta.EncryptedTable]) -> None:
        self.attempt(step, lambda: self.encrypted.update({step: Encrypted.of(what())}))

    def result(self, step: str) -> Encrypted:
        assert step in self.encrypted, self.done[step]
        return self.encrypted[step]

    def keep_live(self, step: str, name: str) -> None:
        files = self.spark.read.format("delta").load(self.place(name)).inputFiles()
        self.live[step] = [file.rpartition(f"/{name}/")[2] for file in files]

    def read(self, step: str, name: str, more: str = "") -> None:
        """Read a table as the session does, which refuses plaintext files."""
        self.note(step, f"SELECT count(*), count(DISTINCT ssn), sum(id) FROM delta.`{self.place(name)}` {more}")


def follow(job: Encrypting, step: str, table: str, statements: Iterable[str]) -> None:
    """Follow the advice of a step's result, a month later, and where it says so, another day later."""
    age(table)
    for number, statement in enumerate(statements):
        if "after the next midnight" in statement:
            age(table)
        elif not statement.startswith("--"):
            job.note(f"{step}: {number} {statement.split()[0]}", statement)


def age(table: str) -> None:
    """Make all files of a table a month old."""
    month_ago = time.time() - DAYS
    for file in files_under(table):
        os.utime(file, (month_ago, month_ago))
