"""Filtered reads of random tables: queries, expected rows, and differences."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from tests.generated import predicates, tables
from tests.generated.kinds import quoted
from tests.generated.tables import ROW_ID
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from tests.generated.tables import Sample

# Each Spark is asked for other tables.
SPARK = ((3, 5), (4, 0), (4, 1), (4, 2), (4, 3)).index(SPARK_VERSION)

PLACES = ("_metadata.file_name", "_metadata.row_index")
SHOWN_ROWS, SHOWN_CHARS = 5, 500

# Spark's own reader costs as much as ours and is not under test: it only shows whose fault a difference is.
SPARK_SHARE = 0.1

# Inferring the schema takes a job of its own, as long as the read.
INFERRED_SHARE = 0.1

Rows = Counter[str]


@dataclass(frozen=True)
class Case:
    """A condition, what is selected beside the row id, and the options of the read."""

    number: int
    condition: str
    selected: tuple[str, ...]
    options: dict[str, str]
    by_spark: bool
    places: bool
    inferred: bool

    @property
    def columns(self) -> tuple[str, ...]:
        return (ROW_ID, *self.selected)


def draw(rng: Random, table: Sample, count: int) -> list[Case]:
    """Return random cases. They select from a few expressions, so that one query can evaluate all of them."""
    inner = [term.sql for term in predicates.terms(table)] + predicates.structures(table)
    pool = sorted({*(quoted(field.name) for field in table.fields), *rng.sample(inner, min(3, len(inner)))})
    made = []
    for number in range(count):
        options, by_spark = tables.read_options(rng), rng.random() < SPARK_SHARE
        selected = rng.sample(pool, rng.choice((0, 0, 1, 2, len(pool))) % (len(pool) + 1))
        places = by_spark and options["scan"] == "v1" and rng.random() < 0.5
        condition, inferred = predicates.condition(rng, table), rng.random() < INFERRED_SHARE
        made.append(Case(number, condition, tuple(selected), options, by_spark, places, inferred))
    return made


def is_understood(memory: DataFrame, one: Case) -> bool:
    """Return whether Spark accepts the condition, for any rows."""
    try:
        memory.selectExpr(one.condition)
    except AnalysisException:
        return False
    return True


def expected(memory: DataFrame, asked: list[Case]) -> list[Rows]:
    """Return the rows that each case lets through in memory, by one query with each condition as a column."""
    pool = sorted({sql for one in asked for sql in one.columns})
    conditions = [f"({one.condition}) AS c{one.number}" for one in asked]
    rows = memory.selectExpr(*conditions, *(f"{sql} AS e{at}" for at, sql in enumerate(pool))).collect()
    places = [[len(asked) + pool.index(sql) for sql in one.columns] for one in asked]
    return [
        Counter(repr(tuple(row[at] for at in chosen)) for row in rows if row[number])
        for number, chosen in enumerate(places)
    ]


@dataclass(frozen=True)
class Files:
    """A written table, read in a session."""

    session: SparkSession
    path: str
    schema: StructType
    keys: Mapping[str, str]
    settings: Mapping[str, str]
    signed_zeros: bool

    def read(self, one: Case, reader: str, *more: str) -> Rows:
        """Return the rows, each with its count; or that the query failed, and how."""
        source = self.session.read.format("pme-parquet").options(**self.keys, **one.options, reader=reader)
        source = source if one.inferred else source.schema(self.schema)
        selected = [f"{sql} AS e{at}" for at, sql in enumerate((*one.columns, *more))]
        try:
            rows = source.load(self.path).where(one.condition).selectExpr(*selected).collect()
        except Exception as error:  # noqa: BLE001 - any error means that there are no rows
            return Counter([f"FAILED {cause(str(error))}"])
        return Counter(repr(tuple(row)) for row in rows)

    def differences(self, one: Case, rows: Rows) -> list[str]:
        """Return what is wrong with a read, if anything."""
        read = {"pages against memory": (self.read(one, "pages"), rows)}
        # SQL has one zero, and the filters that Spark's reader uses have two: if both occur it loses rows.
        by_spark = not self.signed_zeros and "-0.0" not in one.condition
        if one.by_spark and by_spark:
            read["spark against memory"] = (self.read(one, "spark"), rows)
        if one.places and by_spark:
            read["places, pages against spark"] = (self.read(one, "pages", *PLACES), self.read(one, "spark", *PLACES))
        wrong = [f"{what}: {difference(*both)}" for what, both in read.items() if both[0] != both[1]]
        if not wrong:
            return []
        case = f"\ncondition {one.number}: {one.condition}\nselected: {one.columns}\noptions: {one.options}"
        return ["\n".join([case, f"settings: {self.settings}", *wrong])]


def negative_zero(value: object) -> bool:
    """Return whether a value is -0.0 or contains one."""
    if isinstance(value, float):
        return value == 0 and math.copysign(1, value) < 0
    inner = value.values() if isinstance(value, dict) else value
    return isinstance(value, (dict, list, tuple)) and any(negative_zero(one) for one in inner)  # type: ignore[attr-defined]


def difference(found: Rows, rows: Rows) -> str:
    """Return the surplus and the missing rows; the row id comes first."""
    return f"{listed(found - rows)} too many; {listed(rows - found)} missing"


def listed(rows: Rows) -> str:
    return f"{rows.total()} rows {[row[:SHOWN_CHARS] for row in list(rows)[:SHOWN_ROWS]]}"


def cause(message: str) -> str:
    """Return the last cause in a message of Spark, with the first lines of its stack trace."""
    return " | ".join(message.rpartition("Caused by:")[2].splitlines()[:12])
