"""Random tables and conditions: a read by a snapshot with indexes has the rows that every other read has.

A case is one filtered read. ``PME_TEST_ALL`` asks 2,040 conditions, else there are 144.
"""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import replace
from functools import reduce
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from tests.snapshots.sealed import KMS, READERS, files_read, save, seal
from tests.support.generated import cases, predicates
from tests.support.generated.kinds import BY_NAME, Field, draw, quoted
from tests.support.generated.tables import ROW_ID, Sample, column
from tests.support.session import SPARK_VERSION
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

ALL = bool(os.environ.get("PME_TEST_ALL"))
TABLES, CONDITIONS = (60, 34) if ALL else (12, 12)
FEW, MOST, FILES = 20, 120, 6
TOGETHER = 12
WAYS = ("pages", "spark", "v2")

# Old dates as they are, and no code generation: interpreting these small queries takes a tenth of the time.
SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def old_day(rng: Random) -> dt.date:
    """Return a day on either side of 1582, where calendars differ."""
    return dt.date(1582, 10, 10) + dt.timedelta(days=rng.randint(-400_000, 200_000))


KINDS = {
    "flag": BY_NAME["boolean"],
    "i": BY_NAME["int"],
    "n": BY_NAME["bigint"],
    "x": BY_NAME["double"],
    "half": BY_NAME["float"],
    "word": BY_NAME["string"],
    "raw": BY_NAME["binary"],
    "day": BY_NAME["date"],
    "old": replace(BY_NAME["date"], draw=old_day),
    "at": BY_NAME["timestamp"],
    "small": BY_NAME["decimal(5, 2)"],
    "medium": BY_NAME["decimal(18, 6)"],
    "large": BY_NAME["decimal(38, 18)"],
}
FIELDS = (
    Field(ROW_ID, "bigint", BY_NAME["bigint"]),
    *(Field(name, kind.ddl, kind) for name, kind in KINDS.items()),
    Field("in", "struct", inner=(Field("n", "bigint", BY_NAME["bigint"]), Field("word", "string", BY_NAME["string"]))),
)
INDEXED = (ROW_ID, *KINDS, "in.n", "in.word")
COLLATED = "string collate UTF8_LCASE"
if COLLATED in BY_NAME:
    FIELDS += (Field("collated", COLLATED, BY_NAME[COLLATED]),)
    INDEXED += ("collated",)


def sample(rng: Random) -> tuple[Sample, int]:
    """Return a table, and its number of files. Several columns rise, so that files differ in their ranges."""
    count, files = rng.randint(FEW, MOST), rng.randint(2, FILES)
    columns = [list(range(count)), *(values(rng, field, count, files) for field in FIELDS[1:])]
    return Sample(FIELDS, list(zip(*columns, strict=True))), files


def values(rng: Random, field: Field, count: int, files: int) -> list[Any]:
    """Return the values of a column; in some, a file has one value, or nulls only."""
    if rng.random() < 0.7:
        return column(rng, field, count)
    few = [rng.choice((None, draw(rng, field, nulls=0.2))) for _ in range(files)]
    return [few[row * files // count] for row in range(count)]


@pytest.fixture
def unsafe(spark: SparkSession, conf: Conf) -> Iterator[None]:
    with conf(SETTINGS):
        yield


@pytest.mark.usefixtures("unsafe")
@pytest.mark.parametrize("seed", range(TABLES))
def test_a_read_by_indexes_has_the_rows_of_every_other_read(spark: SparkSession, target: str, seed: int) -> None:
    rng = Random(seed)  # noqa: S311 - the same in every run
    table, files = sample(rng)
    frame = spark.createDataFrame(spark.sparkContext.parallelize(table.rows, files), table.ddl)
    save(frame, target)
    frame.write.parquet(f"{target}-theirs")
    seal(spark, target, *map(quoted_path, INDEXED))
    theirs = spark.read.parquet(f"{target}-theirs")
    asked = [predicates.condition(rng, table) for _ in range(CONDITIONS)]
    if (4, 0) <= SPARK_VERSION < (4, 2):
        asked = [one for one in asked if is_understood(theirs, one)]
    # Each condition as a column: no filter, so nothing that could skip.
    rows = theirs.selectExpr(ROW_ID, *(f"({one}) AS c{at}" for at, one in enumerate(asked))).collect()
    signed_zeros = cases.negative_zero(table.rows)
    wrong = []
    for way in WAYS:
        sealed, plain = (
            spark.read.format(FORMAT).options(**KMS, **READERS[way], snapshot=one).schema(frame.schema).load(target)
            for one in ("require", "off")
        )
        assert files_read(sealed.where(f"{ROW_ID} = 0")) == 1
        for at, (found, without) in enumerate(zip(answers(sealed, asked), answers(plain, asked), strict=True)):
            expected = sorted(row.id for row in rows if row[at + 1])
            # SQL has one zero, and the filters that Spark's reader uses have two: if both occur it loses rows.
            is_told = way == "spark" and (signed_zeros or "-0.0" in asked[at])
            # Some conditions are another thing to Spark as a filter than as a column: NaN IN (30 values and NULL).
            is_other = found != expected and not is_told and found != answers(frame, asked[at : at + 1])[0]
            if found != without or is_other:
                wrong.append(f"{way}: {asked[at]}\n  sealed {found}\n  off    {without}\n  memory {expected}")
    assert not wrong, f"seed {seed}, {len(table.rows)} rows in {files} files\n" + "\n".join(wrong)


def is_understood(frame: DataFrame, condition: str) -> bool:
    """Return whether Spark accepts the condition; some versions lose collations."""
    try:
        frame.where(condition)
    except AnalysisException:
        return False
    return True


def answers(frame: DataFrame, asked: list[str]) -> list[list[int]]:
    """Return the ids of the rows that each condition lets through; a query asks several conditions."""
    found: list[list[int]] = [[] for _ in asked]
    for first in range(0, len(asked), TOGETHER):
        numbered = enumerate(asked[first : first + TOGETHER], first)
        parts = [frame.where(one).selectExpr(f"{at} AS at", ROW_ID) for at, one in numbered]
        for row in reduce(DataFrame.unionAll, parts).collect():
            found[row.at].append(row.id)
    return [sorted(one) for one in found]


def quoted_path(path: str) -> str:
    return ".".join(map(quoted, path.split(".")))
