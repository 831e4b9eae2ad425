"""A KMS that records each call (``CountingKms.java``), and tables under as many of its keys as a test wants.

Column ``c7`` is under the master key ``k7``; ``id``, like the footer, is under ``footer``.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from tests.support import java
from tests.support.canary import data_files
from tests.support.expect import save
from tests.support.interop.arrow_files import master_key

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import DataFrame, SparkSession

KMS = "kms.CountingKms"
SOURCE = Path(__file__).with_name("CountingKms.java")
FOOTER = "footer"
ROWS_PER_FILE = 2


class Call(NamedTuple):
    """One call of the KMS."""

    what: str
    key: str
    pid: str
    thread: str
    executor: str
    began: int


@dataclass(frozen=True)
class Log:
    """The calls of one user of the KMS. Users with different logs share no cache: the log is one of their settings."""

    path: Path

    def options(self, **settings: object) -> dict[str, str]:
        """Return the options of this user: ``pause_millis=50`` sets ``counting.kms.pause.millis``."""
        given = {f"counting.kms.{name.replace('_', '.')}": str(value) for name, value in settings.items()}
        return {"kms": KMS, "counting.kms.log": str(self.path)} | given

    def calls(self) -> list[Call]:
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        split = [line.split(" ") for line in lines]
        return [Call(what, key, pid, thread, executor, int(began)) for what, key, pid, thread, executor, began in split]

    def count(self, what: str) -> dict[str, int]:
        """Return how often each master key was used to ``wrap`` or ``unwrap``."""
        return dict(Counter(call.key for call in self.calls() if call.what == what))

    def rounds(self, pause_millis: int) -> int:
        """Return how many calls of at least this duration a query may have made one after the other."""
        found, over = 0, 0
        for began in sorted(call.began for call in self.calls()):
            if not found or began >= over:
                found, over = found + 1, began + pause_millis
        return found

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Called:
    """The rows of a query, and its calls: what was called, for which master key, and by which executor."""

    rows: list[list[str]]
    calls: list[tuple[str, str, str]]

    @classmethod
    def of(cls, query: DataFrame, log: Log, before: int) -> Called:
        """Run a query, before which the log had this many calls."""
        rows = [list(map(str, row)) for row in query.collect()]
        return cls(rows, [(call.what, call.key, call.executor) for call in log.calls()[before:]])


@dataclass(frozen=True)
class CalledSteps:
    """What each step returned and called, and how many files the table has at the end."""

    steps: dict[str, Called]
    files: int


def log(directory: Path) -> Log:
    """Return the log of a new user."""
    return Log(directory / f"calls-{uuid4().hex[:8]}.log")


class Table(NamedTuple):
    """A table, the number of its columns with keys of their own, and the calls of its write."""

    path: str
    columns: int
    files: int
    written: Log

    def keys(self, times: int = 1) -> dict[str, int]:
        """Return the calls that ask for every key this many times."""
        return dict.fromkeys([FOOTER, *column_keys(self.columns)], times)

    def rows(self) -> list[Any]:
        """Return the rows, as ``access.rows`` has them."""
        return [(n, *(f"c{at}-{n}" for at in range(self.columns))) for n in range(self.files * ROWS_PER_FILE)]


def column_keys(count: int) -> list[str]:
    return [f"k{at}" for at in range(count)]


def encryption(columns: int) -> dict[str, str]:
    """Return the options that give each column its key."""
    listed = "; ".join(f"k{at}: c{at}" for at in range(columns))
    return {"footerKey": FOOTER, "columnKeys": listed}


def frame(spark: SparkSession, columns: int, files: int) -> DataFrame:
    """Return a frame that is written to this many files."""
    rows = spark.range(0, files * ROWS_PER_FILE, 1, 1)
    made = rows.selectExpr("id", *(f"concat('c{at}-', id) AS c{at}" for at in range(columns)))
    return made.repartition(files) if files > 1 else made


def linked(table: Table, files: int) -> Table:
    """Return the table with this many links to each file: Spark and the KMS see that many files."""
    directory = Path(f"{table.path}-{files}")
    directory.mkdir()
    for found in data_files(table.path):
        for at in range(files // table.files):
            (directory / f"{at}-{found.name}").hardlink_to(found)
    return table._replace(path=str(directory), files=files)


def written(spark: SparkSession, directory: Path, columns: int, files: int, **options: str) -> Table:
    """Write a table below the directory and return it."""
    table = Table(str(directory / f"table-{uuid4().hex[:8]}"), columns, files, log(directory))
    save(frame(spark, columns, files), table.path, table.written.options() | encryption(columns) | options)
    return table


def masters(columns: int) -> dict[str, bytes]:
    """Return the master keys of such a table, by their ids."""
    return {name: master_key(name) for name in [FOOTER, *column_keys(columns)]}


def jar(directory: Path) -> Path:
    """Return a jar that holds the KMS client."""
    classes = directory / "classes"
    java.compile_to(classes, SOURCE)
    made = directory / "counting-kms.jar"
    with zipfile.ZipFile(made, "w") as content:
        for path in sorted(classes.rglob("*.class")):
            content.write(path, str(path.relative_to(classes)))
    return made


def load(spark: SparkSession, directories: pytest.TempPathFactory) -> None:
    """Put the KMS client where driver and executors of a local session look for classes."""
    java.load(spark, directories, SOURCE)
