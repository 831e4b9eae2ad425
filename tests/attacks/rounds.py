"""One round: a file, a mutation, a reader, and the permitted outcomes. Seed and round number decide everything."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from tests.attacks.probe import ALL, FILTERED, FOREIGN, ONE_ROW, OTHER, SAME, Attack, Probe, Query, absent_note, attack
from tests.support.files import mutations
from tests.support.files.writers import COLUMN_KEYS, SCHEMA, Kind
from tests.support.interop.modes import GCM
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from tests.support.files.anatomy import Anatomy
    from tests.support.files.writers import Row

# The columns that every file of the corpus encrypts: they come first.
ENCRYPTED = tuple(name for names in COLUMN_KEYS.values() for name in names)

QUERIES = (ALL, ALL, FILTERED, ONE_ROW, absent_note(20), absent_note(120))
# Only for mutations of neither keys nor readable parts: parquet-java allocates what a size says. A tenth of all rounds.
SPARK_SHARE = 0.4
NAMED = re.compile(r"PME_[A-Z_]+")

# Errors that would end an executor, or bugs: those of Spark's own errors that content must never cause.
FATAL = ("OutOfMemoryError", "StackOverflowError", "InternalError", "Py4JNetworkError", "Connection refused")
OUR_BUG, SLOW = "internal error", re.compile(r" after [\d.]+ s$")


class Original(NamedTuple):
    """A file of the corpus."""

    kind: Kind
    file: Anatomy

    @property
    def partly_plain(self) -> bool:
        return any(chunk.key is None for chunk in self.file.chunks)


class Round(NamedTuple):
    """A mutated file and how to read it."""

    number: int
    name: str
    attack: Attack
    reader: str
    algorithm: str
    narrow: bool
    strict: bool

    def wrong(self, outcome: str) -> bool:
        """Return whether this outcome of a read is wrong."""
        if NAMED.fullmatch(outcome) or outcome == SAME:
            return False
        if outcome == OTHER:
            return self.strict
        foreign = outcome.startswith(FOREIGN) and not SLOW.search(outcome) and OUR_BUG not in outcome
        return self.strict or not foreign or any(name in outcome for name in FATAL)


class EncryptedOnly(Probe):
    """Reads only columns with every module encrypted: anyone can alter what is readable beside them."""

    def read(self, path: str, query: Query = ALL, **options: str) -> list[Row]:
        settings = {"kms": TEST_KMS, "reader": self.reader} | options
        frame = self.spark.read.format("pme-parquet").options(**settings).schema(SCHEMA).load(path)
        return [tuple(row) for row in frame.where(query.where).select(*ENCRYPTED).collect()]


def round_of(corpus: list[Original], seed: int, number: int) -> Round:
    """Return a round, which depends only on its number, the seed, and the files."""
    rng = Random(f"{seed}/{number}")  # noqa: S311 - the same in every run
    original, other = rng.choice(corpus), rng.choice(corpus)
    choice = rng.random()
    narrow = rng.random() < 0.5
    readable = original.partly_plain
    if choice < 0.5:
        how = rng.choice(mutations.SEALED)
        name, content = f"{how.__name__} sealed anew", how(rng, original.file)
    elif choice < 0.65:
        name, content = f"splice with {other.kind}", mutations.splice(rng, original.file.content, other.file.content)
        readable = readable or other.partly_plain
    else:
        name, content = "bytes", mutations.raw(rng, original.file.content)
    return read_as(rng, number, original.kind, (name, content), narrow=narrow, readable=readable)


def read_as(rng: Random, number: int, kind: Kind, made: tuple[str, bytes], *, narrow: bool, readable: bool) -> Round:
    """Return how to read the mutated file: parquet-java parses what is sealed again, or readable, at its own risk."""
    name, content = made
    sealed = name.endswith("anew")
    query = rng.choice(QUERIES)
    if narrow:
        query = narrowed(query)
    trusted = not sealed and kind.algorithm == GCM and (narrow or not readable)
    reader = "spark" if not sealed and not readable and rng.random() < SPARK_SHARE else "pages"
    full = f"{kind}, {name}, where {query.where}, {reader}"
    return Round(number, full, attack(full, content, query=query), reader, kind.algorithm, narrow, trusted)


def narrowed(query: Query) -> Query:
    """Return the query without anything about unencrypted columns."""
    where = " AND ".join(part for part in query.where.split(" AND ") if not part.startswith(("id", "twin"))) or "true"
    rows = query.expected if where != "true" else ALL.expected
    return Query(where, tuple(row[: len(ENCRYPTED)] for row in rows))  # type: ignore[misc] # fewer columns
