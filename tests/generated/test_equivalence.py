"""Random tables and conditions: a read by a snapshot with indexes has the rows that every other read has.

A case is one filtered read. ``PME_TEST_ALL`` asks 680 conditions on each Spark, of other tables on each, else there
are 96. A condition that indexes cannot prove false of more rows than the statistics of footers, which they are made of,
is a failure as well.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from functools import reduce
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

import pme_parquet as pme
from tests.generated import cases, predicates
from tests.generated.kinds import BY_NAME, Field, draw, quoted
from tests.generated.tables import ROW_ID, Sample, column
from tests.support import needs
from tests.support.kms.clients import Client, Guarded
from tests.support.session import SPARK_VERSION
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

pytestmark = pytest.mark.rows(1)

TABLES, CONDITIONS = (20, 34) if needs.ALL else (12, 5)
FEW, MOST, FILES = 20, 120, 6
TOGETHER = 12

# Four settings of a reader: both scans of Spark, with and without the keys of the indexes.
SCANS: dict[str, dict[str, str]] = {"v1": {}, "v2": {"scan": "v2"}}
KEYLESS = "stats"
ZONES = ("UTC", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia")

# Spark's own reader, which skips a row group only by the least and the greatest values.
BY_FOOTERS = {f"parquet.filter.{kind}.enabled": "false" for kind in ("dictionary", "bloom", "columnindex")}

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


def kinds(rng: Random) -> list[pme.MinMax | pme.ValueList | pme.Bloom]:
    """Return the indexes of a table: each column has one of least and greatest values, and mostly another one."""
    columns = [quoted_path(path) for path in INDEXED]
    listed, hashed = (rng.sample(columns, len(columns) * 2 // 3) for _ in range(2))
    return [pme.MinMax(*columns), pme.ValueList(*listed, max=rng.choice((1, 4, 64))), pme.Bloom(*hashed, fpp=0.1)]


@pytest.fixture
def unsafe(spark: SparkSession, conf: Conf) -> Iterator[None]:
    with conf(SETTINGS):
        yield


@pytest.mark.usefixtures("unsafe")
@pytest.mark.parametrize("seed", range(TABLES * cases.SPARK, TABLES * (cases.SPARK + 1)))
def test_a_read_by_indexes_has_the_rows_of_every_other_read(
    spark: SparkSession, target: str, conf: Conf, seed: int
) -> None:
    rng = Random(seed)  # noqa: S311 - the same in every run
    table, files = sample(rng)
    frame = spark.createDataFrame(spark.sparkContext.parallelize(table.rows, files), table.ddl)
    own = pme.PythonKms(Client()).options()
    frame.write.format(FORMAT).options(**own, footerKey="footer").save(target)
    frame.write.parquet(f"{target}-theirs")
    by = {KEYLESS: list(map(quoted_path, INDEXED))}
    pme.seal(spark, target, options=own, index=kinds(rng), index_keys=by, expect="unsealed")
    theirs = spark.read.options(**BY_FOOTERS).schema(frame.schema).parquet(f"{target}-theirs")
    in_file = {number(path): pq.read_metadata(path.removeprefix("file:")).num_rows for path in theirs.inputFiles()}
    wrong = []
    with conf({"spark.sql.session.timeZone": rng.choice(ZONES)}):
        asked = [predicates.condition(rng, table) for _ in range(CONDITIONS)]
        if (4, 0) <= SPARK_VERSION < (4, 2):
            asked = [one for one in asked if is_understood(theirs, one)]
        # Each condition as a column: no filter, so nothing that could skip.
        rows = theirs.selectExpr(ROW_ID, *(f"({one}) AS c{at}" for at, one in enumerate(asked))).collect()
        by_statistics = {one: rows_scanned(theirs.where(one)) for one in asked if "nan" not in one.lower()}
        for scan, how in SCANS.items():
            plain, by_indexes, keyless = (
                spark.read.format(FORMAT).options(**options, **how).schema(frame.schema).load(target)
                for options in (
                    own | {"snapshot": "off"},
                    own | {"snapshot": "require"},
                    pme.PythonKms(Guarded(KEYLESS)).options(),
                )
            )
            first = f"{ROW_ID} = 0"
            assert [len(paths_listed(one.where(first))) for one in (by_indexes, keyless)] == [1, files]
            every = [answers(one, asked) for one in (by_indexes, keyless, plain)]
            for at, (found, without_keys, without) in enumerate(zip(*every, strict=True)):
                expected = sorted(row.id for row in rows if row[at + 1])
                # Some conditions are another thing to Spark as a filter than as a column: NaN IN (30 values and NULL).
                is_other = found != expected and found != answers(frame, asked[at : at + 1])[0]
                if not found == without_keys == without or is_other:
                    wrong.append(
                        f"{scan}: {asked[at]}\n  sealed {found}\n  no key {without_keys}\n  off    {without}\n"
                        f"  memory {expected}"
                    )
            # The files that indexes leave have no more rows than the row groups that footers leave.
            for one, most in by_statistics.items():
                if sum(in_file[number(path)] for path in paths_listed(by_indexes.where(one))) > most:
                    wrong.append(f"{scan}: {one}")
    assert not wrong, f"seed {seed}, {len(table.rows)} rows in {files} files\n" + "\n".join(wrong)


def number(path: str) -> str:
    """Return the number of a file that Spark wrote."""
    found = re.search(r"part-(\d+)-", path)
    assert found, path
    return found.group(1)


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


def paths_listed(frame: DataFrame) -> list[str]:
    """Return the paths of the files that the query's only scan reads, sorted; without running the query."""
    plan: Any = frame._jdf.queryExecution().executedPlan()
    leaf = plan.collectLeaves().apply(0)
    kind = leaf.getClass().getSimpleName()
    if kind == "LocalTableScanExec":
        return []
    if kind == "BatchScanExec":
        partitions: Sequence[Any] = list(leaf.batch().planInputPartitions())
        return sorted({file.urlEncodedPath() for part in partitions for file in part.files()})
    found = leaf.relation().location().listFiles(leaf.partitionFilters(), leaf.dataFilters())
    directories = [found.apply(at) for at in range(found.size())]
    return sorted(one.files().apply(at).getPath().toString() for one in directories for at in range(one.files().size()))


def rows_scanned(frame: DataFrame) -> int:
    """Run the query and return how many rows its only scan gave to the rest of the plan."""
    frame.collect()
    leaves: Any = frame._jdf.queryExecution().executedPlan().collectLeaves()
    assert leaves.size() == 1
    return int(leaves.apply(0).metrics().apply("numOutputRows").value())
