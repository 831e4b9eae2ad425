"""Frames of random schemas and the column keys to write them with, the same for the same seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as t
from pyspark.sql.functions import lit

if TYPE_CHECKING:
    from random import Random

    from pyspark.sql import DataFrame, SparkSession

    import pme_parquet as pme

NAMES = [
    "id",
    "ssn",
    "Mixed",
    "with space",
    "größe",
    "a.b",
    "tick`tick",
    "semi;colon",
    "st*r",
    "list",
    "element",
    "key",
]
LEAVES = [t.IntegerType(), t.StringType(), t.DecimalType(20, 2), t.TimestampType(), t.BinaryType(), t.DoubleType()]
DEEPEST = 3


def frame(spark: SparkSession, random: Random) -> DataFrame:
    """Return a row of nulls: every leaf column is in the file."""
    struct = _struct(random, 0)
    columns = [lit(None).cast(field.dataType).alias(field.name) for field in struct]
    return spark.range(0, 1, 1, 1).select(*columns)


def column_keys(random: Random, columns: tuple[pme.PlannedColumn, ...]) -> dict[str, list[str]]:
    """Return names of some columns, or of structures that contain them, in one of their possible spellings."""
    chosen = random.sample(columns, k=min(len(columns), random.randint(1, 4)))
    keys: dict[str, list[str]] = {}
    for column in chosen:
        keys.setdefault(random.choice(["pii", "pay"]), []).append(_spelled(random, column))
    return keys


def _spelled(random: Random, column: pme.PlannedColumn) -> str:
    top = column.name.split(".", maxsplit=1)[0] if "`" not in column.name else column.name
    plain = "`" not in column.name
    ways = [column.name, column.name, column.name.upper(), top]
    ways += [column.path, f"{top[:2]}*", f"{column.name}x"] if plain else []
    return random.choice(ways)


def _type(random: Random, depth: int) -> t.DataType:
    nested = random.random() < 0.5 and depth < DEEPEST
    if not nested:
        return random.choice(LEAVES)
    kind = random.choice(["struct", "array", "map"])
    if kind == "struct":
        return _struct(random, depth + 1)
    value = _type(random, depth + 1)
    return t.ArrayType(value) if kind == "array" else t.MapType(random.choice(LEAVES[:2]), value)


def _struct(random: Random, depth: int) -> t.StructType:
    names = random.sample(NAMES, k=random.randint(1, 5))
    return t.StructType([t.StructField(name, _type(random, depth)) for name in names])
