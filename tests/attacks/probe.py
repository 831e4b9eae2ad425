"""Reads altered files, and records the outcome of each read."""

from __future__ import annotations

import time
from itertools import count
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pme_parquet as pme
from tests.support import needs
from tests.support.expect import assert_no_secret, assert_remedy
from tests.support.files.writers import SCHEMA, rows
from tests.support.interop.modes import GCM
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from concurrent.futures import ThreadPoolExecutor
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.files.writers import Row

READERS = ("pages", "spark")

# Possible outcomes besides the conditions of errors: the written rows, other rows, or an error that is not ours.
SAME, OTHER, FOREIGN = "same rows", "other rows", "a foreign error"

NOT_AUTHENTIC, DAMAGED, UNSUPPORTED = "PME_NOT_AUTHENTIC", "PME_DAMAGED_FILE", "PME_UNSUPPORTED"

# A refusal takes milliseconds; this allows for busy machines.
SLOW_SECONDS = 60.0

# `make test-all` reads every altered file, other runs every second one of the first, and of the others a sample by
# chance: some alterations come in turns, and a step could meet the same one each time.
EVERY_ATTACK = needs.ALL
FIRST, SAMPLE = 8, 12
THREADS = 4


class Query(NamedTuple):
    """A condition on rows, in SQL and as the rows that untouched files must give."""

    where: str
    expected: tuple[Row, ...]


ALL = Query("true", tuple(rows()))

# Keeps every row that has a name, and reads the page index of every column to find them.
FILTERED = Query(
    "name >= 'n' AND note >= 'n' AND salary >= 0 AND id >= 0 AND twin >= 0",
    tuple(row for row in rows() if row[0]),
)


# Reads one page of each column, found by the page index of ``id``.
ONE_ROW = Query("id = 20", tuple(row for row in rows() if row[3] == 20))


def absent_note(near_row: int) -> Query:
    """Return a query that passes the statistics of a row's row group and not its Bloom filter."""
    return Query(f"note = 'note {near_row:05d}x'", ())


class Attack(NamedTuple):
    """An altered file, and the permitted outcomes of reading it."""

    name: str
    content: bytes
    allowed: frozenset[str]
    query: Query = ALL

    def allows(self, outcome: str) -> bool:
        """Return whether an outcome is permitted; after a colon, a foreign error has its description."""
        return outcome.partition(": ")[0] in self.allowed


def attack(name: str, content: bytes, *allowed: str, query: Query = ALL) -> Attack:
    return Attack(name, content, frozenset(allowed), query)


class Probe:
    """Reads with one of the readers. Each file has a name of its own, so that no cache knows it."""

    def __init__(self, spark: SparkSession, reader: str, directory: Path, pool: ThreadPoolExecutor) -> None:
        self.spark, self.reader, self.directory, self.pool = spark, reader, directory, pool
        self.numbers = count()

    def read(self, path: str, query: Query = ALL, **options: str) -> list[Row]:
        settings = {"kms": TEST_KMS, "reader": self.reader} | options
        reader = self.spark.read.format("pme-parquet").options(**settings).schema(SCHEMA)
        return [tuple(row) for row in reader.load(path).where(query.where).collect()]

    def outcome(self, one: Attack, algorithm: str = GCM) -> str:
        """Return the outcome of the read, with the faults of its error message, if any."""
        file = self.directory / f"bent-{next(self.numbers)}.parquet"
        file.write_bytes(one.content)
        start = time.monotonic()
        result = self.attempt(file, one.query, {"algorithm": algorithm})
        took = time.monotonic() - start
        file.unlink()
        return result if took < SLOW_SECONDS else f"{result} after {took:.1f} s"

    def attempt(self, file: Path, query: Query, options: Mapping[str, str]) -> str:
        try:
            found = self.read(str(file), query, **options)
        except pme.PmeError as error:
            return judged(error, file.name)
        except Exception as error:  # noqa: BLE001 - any other error is a foreign one
            return f"{FOREIGN}: {root_cause(str(error))}"
        return SAME if sorted(found, key=repr) == sorted(query.expected, key=repr) else OTHER

    def unexpected(self, attacks: Iterable[Attack], algorithm: str = GCM) -> dict[str, str]:
        """Return the unexpected outcomes; of many reads only a few, unless all are requested."""
        chance = Random(0)  # noqa: S311 no secret
        made = [one for number, one in enumerate(attacks) if EVERY_ATTACK or is_taken(number, chance)]
        assert made
        assert len({one.name for one in made}) == len(made), "two attacks of one name"
        outcomes = self.pool.map(lambda one: self.outcome(one, algorithm), made)
        return {one.name: outcome for one, outcome in zip(made, outcomes, strict=True) if not one.allows(outcome)}


def is_taken(number: int, chance: Random) -> bool:
    """Return whether a sample has the altered file of this number."""
    return number % 2 == 0 if number < FIRST else chance.randrange(SAMPLE) == 0


def root_cause(text: str) -> str:
    """Return the innermost cause in a Java stack trace, and where it was thrown."""
    lines = text.splitlines()
    last = max((at for at, line in enumerate(lines) if line.startswith("Caused by: ")), default=0)
    return " ".join(line.strip() for line in lines[last : last + 3])[:300]


# The possible outcomes of decoding a page of noise, which nothing distinguishes from a page under CTR.
NOISE = (OTHER, DAMAGED)


def judged(error: pme.PmeError, file: str) -> str:
    """Return the condition of an error, or the faults of its message."""
    text = str(error)
    try:
        assert file in text, f"no file named: {text}"
        assert_remedy(text)
        assert_no_secret(text)
    except AssertionError as wrong:
        return f"{error.condition}, but {str(wrong)[:300]}"
    return error.condition
