"""Random tables, and random ways to write and to read them. The same seed gives the same table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.generated.kinds import BY_NAME, KEYS, KINDS, Field, draw, quoted
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from pyspark.sql import DataFrame, SparkSession

NAMES = ("a", "b", "C", "d_1", "e.f", "g h", "ż", "select", "i", "J")
ROW_ID = "id"
# Few rows, because pages and row groups are small: many tables find more than large ones.
COUNTS = (0, 1, 7, 64, 100, 101, 200, 300, 300, 400, 600, 1000)


@dataclass(frozen=True)
class Sample:
    """A table before it is written."""

    fields: tuple[Field, ...]
    rows: list[tuple[Any, ...]]

    @property
    def ddl(self) -> str:
        """Return the schema as DDL."""
        return ", ".join(f"{quoted(field.name)} {field.ddl}" for field in self.fields)

    def frame(self, spark: SparkSession) -> DataFrame:
        """Return the table in Spark's memory, without a file."""
        return spark.createDataFrame(self.rows, self.ddl).coalesce(1)


def sample(rng: Random) -> Sample:
    """Return a random table, whose first column numbers the rows."""
    count = rng.choice(COUNTS)
    fields = tuple(field(rng, name, depth=0) for name in rng.sample(NAMES, rng.randint(3, 8)))
    columns = [column(rng, one, count) for one in fields]
    number = Field(ROW_ID, "bigint", BY_NAME["bigint"])
    return Sample((number, *fields), list(zip(range(count), *columns, strict=True)))


def field(rng: Random, name: str, depth: int) -> Field:
    """Return a random field; the deeper, the more probably an atomic one."""
    if rng.random() < (0.72, 0.75, 0.85, 1.0)[depth]:
        kind = rng.choice(KINDS)
        return Field(name, kind.ddl, kind)
    shape = rng.choice(("struct", "struct", "array", "map"))
    if shape == "struct":
        parts = rng.sample(("x", "y", "Z", "w.v"), rng.randint(1, 4))
        return Field(name, shape, inner=tuple(field(rng, part, depth + 1) for part in parts))
    value = field(rng, "value", depth + 1)
    if shape == "array":
        return Field(name, shape, inner=(value,))
    kind = rng.choice(KEYS)
    return Field(name, shape, inner=(Field("key", kind.ddl, kind), value))


def column(rng: Random, one: Field, count: int) -> list[Any]:
    """Return the values of a column: in random order, with random numbers of distinct values, and random nulls."""
    nulls = rng.choice((0.0, 0.2, 0.6))
    few = [draw(rng, one, nulls=nulls) for _ in range(rng.randint(1, 12))]
    order = rng.choice(("random", "random", "sorted", "clustered", "constant", "few", "falling"))
    if order == "constant":
        values = [few[0]] * count
    elif order == "few":
        values = [rng.choice(few) for _ in range(count)]
    else:
        values = [draw(rng, one, nulls=nulls) for _ in range(count)]
        if order != "random":
            values.sort(key=rank, reverse=order == "falling")
        if order == "clustered":
            at = rng.randint(0, count)
            values = values[at:] + values[:at]
    gone = null_pattern(rng, count)
    return [None if gone(row) else value for row, value in enumerate(values)]


def rank(value: Any) -> Any:
    """Return a sort key for values of one type."""
    if isinstance(value, float):
        return (math.isnan(value), value)
    return repr(value) if isinstance(value, (tuple, list, dict)) else value


def null_pattern(rng: Random, count: int) -> Callable[[int], bool]:
    """Return which rows are null."""
    share, run, start = rng.choice((0.01, 0.3, 0.9)), rng.choice((10, 50, 100, 400)), rng.randint(0, max(count, 1))
    return {
        "none": lambda _: False,
        "all": lambda _: True,
        "random": lambda _: rng.random() < share,
        "runs": lambda row: row // run % 2 == 0,
        "one run": lambda row: start <= row < start + run,
        "at the end": lambda row: row >= start,
    }[rng.choice(("none", "none", "none", "all", "random", "random", "runs", "one run", "at the end"))]


def write_options(rng: Random, table: Sample) -> dict[str, str]:
    """Return random options for encryption and layout of the files."""
    rows = rng.choice(("10", "17", "50", "100", "256", "1000", "20000"))
    options = {
        "kms": TEST_KMS,
        "algorithm": rng.choice(("AES_GCM_V1", "AES_GCM_CTR_V1")),
        "plaintextFooter": rng.choice(("true", "false")),
        "dataKeyBits": rng.choice(("128", "256")),
        "compression": rng.choice(("none", "snappy", "zstd", "gzip", "lz4_raw")),
        "parquet.enable.dictionary": rng.choice(("true", "false")),
        "parquet.page.row.count.limit": rows,
        "parquet.page.size": rng.choice(("64", "500", "4000", "1048576")),
        "parquet.page.size.row.check.min": rng.choice(("1", "10", "100")),
        "parquet.page.size.row.check.max": rng.choice(("10", "100", "10000")),
        "parquet.dictionary.page.size": rng.choice(("200", "1048576")),
        "parquet.block.size": rng.choice(("5000", "30000", "134217728")),
        "parquet.block.row.count.limit": rng.choice(("30", "150", "1000000")),
        "parquet.block.size.row.check.min": rng.choice(("50", "100")),
        "parquet.columnindex.truncate.length": rng.choice(("2", "64")),
        "parquet.page.write-checksum.enabled": rng.choice(("true", "false")),
        "parquet.bloom.filter.enabled": rng.choice(("true", "false")),
        "parquet.bloom.filter.max.bytes": "256",
        "maxRecordsPerFile": rng.choice(("0", "0", "400")),
    }
    if rng.random() < 0.5:
        return options | {"uniformKey": "footer"}
    chosen = rng.sample(table.fields, rng.randint(1, len(table.fields)))
    names = ", ".join(quoted(one.name) for one in chosen)
    rest = rng.choice(("footerKey", "plaintext"))
    return options | {"footerKey": "footer", "columnKeys": f"pii: {names}", "unlistedColumns": rest}


def read_options(rng: Random) -> dict[str, str]:
    """Return random settings of a read that must not change its rows."""
    return {
        "scan": rng.choice(("v1", "v1", "v2")),
        "parquet.filter.stats.enabled": rng.choice(("true", "true", "false")),
        "parquet.filter.dictionary.enabled": rng.choice(("true", "true", "false")),
        "parquet.filter.columnindex.enabled": rng.choice(("true", "true", "true", "false")),
        "parquet.filter.bloom.enabled": rng.choice(("true", "true", "false")),
        "parquet.page.verify-checksum.enabled": rng.choice(("true", "false")),
    }


def read_settings(rng: Random, largest: int) -> dict[str, str]:
    """Return random session settings of a read that must not change its rows; the largest file has this many bytes."""
    return {
        "spark.sql.parquet.enableVectorizedReader": rng.choice(("true", "true", "false")),
        "spark.sql.parquet.enableNestedColumnVectorizedReader": rng.choice(("true", "true", "false")),
        "spark.sql.parquet.columnarReaderBatchSize": rng.choice(("3", "7", "64", "4096")),
        "spark.sql.files.maxPartitionBytes": str(largest // rng.choice((1, 1, 2, 5)) + 1),
        "spark.sql.files.openCostInBytes": "100",
        "spark.sql.parquet.filterPushdown": rng.choice(("true", "true", "true", "true", "false")),
        "spark.sql.parquet.recordLevelFilter.enabled": rng.choice(("true", "false")),
        "spark.sql.parquet.pushdown.inFilterThreshold": rng.choice(("10", "3")),
        "spark.sql.columnVector.offheap.enabled": rng.choice(("true", "false", "false")),
        "spark.sql.codegen.wholeStage": rng.choice(("true", "false", "false")),
        "spark.sql.codegen.factoryMode": rng.choice(("FALLBACK", "NO_CODEGEN", "NO_CODEGEN")),
        "spark.sql.ansi.enabled": "false",
    }
