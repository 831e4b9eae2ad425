"""Frames with the usual difficulties, values of each type that Spark writes to Parquet, and calls of SQL functions."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tests.support.source import rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    Argument = Mapping[str, str] | str | bool


@cache  # Spark analyses it once for all tests.
def people(spark: SparkSession, start: int = 0, count: int = 20) -> DataFrame:
    """Return people with an address, tags, scores and a few nulls; ``country`` serves for partitions."""
    return spark.range(start, start + count, 1, 2).selectExpr(
        "id",
        "IF(id % 7 = 3, NULL, concat('name-', id)) AS name",
        "concat('ssn-', id % 5) AS ssn",
        "CAST(id * 1.5 AS DECIMAL(10, 2)) AS salary",
        "named_struct('street', concat('street-', id), 'zip', CAST(id AS INT)) AS address",
        "IF(id % 4 = 0, array(), array(concat('tag-', id), NULL)) AS tags",
        "map(concat('k', id), named_struct('score', id / 2)) AS scores",
        "element_at(array('de', 'fr', 'it'), CAST(id % 3 AS INT) + 1) AS country",
    )


@cache
def people_rows(spark: SparkSession, *starts: int) -> list[str]:
    """Return the rows of all people that start at these numbers, or at 0."""
    return sorted(row for start in starts or (0,) for row in rows(people(spark, start)))


# As SQL over `id`.
SIMPLE = {
    "boolean": "id % 2 = 0",
    "tinyint": "CAST(id - 128 AS TINYINT)",
    "smallint": "CAST(id - 32768 AS SMALLINT)",
    "int": "CAST(id - 2147483648 AS INT)",
    "bigint": "id - 9223372036854775807",
    "float": "CAST(id / 3 AS FLOAT)",
    "double": "id / 7",
    "not_a_number": "CAST(IF(id = 1, 'NaN', '-Infinity') AS DOUBLE)",
    "string": "concat('żółw 🐢 ', id)",
    "binary": "unhex(sha2(CAST(id AS STRING), 256))",
    "empty_binary": "CAST('' AS BINARY)",
    "date": "date_add(DATE'1582-10-15', CAST(id * 300000 AS INT))",
    "timestamp": "TIMESTAMP'1969-12-31 23:59:59.999999' + make_interval(0, 0, 0, 0, 0, 0, id)",
    "timestamp_ntz": "TIMESTAMP_NTZ'1900-02-28 12:34:56.123456' + make_interval(0, id)",
    "struct": "named_struct('a', id, 'b', named_struct('c', 'x', 'd', CAST(NULL AS INT)))",
    "array": "array(id, NULL, id * 2)",
    "map": "map(id, concat('v', id), id + 10, NULL)",
    "deep": (
        "array(map('k', array(named_struct('m', map(id, array(array(named_struct('leaf', id), NULL)))))),"
        " map('empty', array()))"
    ),
    "all_null": "CAST(NULL AS STRING)",
    "null_struct": "IF(id % 2 = 0, named_struct('a', id), NULL)",
}


INTERVALS = {
    "year_month": "make_ym_interval(CAST(id AS INT), 7)",
    "year": "CAST(make_ym_interval(CAST(id AS INT), 0) AS INTERVAL YEAR)",
    "day_second": "make_dt_interval(CAST(id AS INT), 3, 4, 5.678901)",
    "hour": "CAST(make_dt_interval(0, CAST(id AS INT)) AS INTERVAL HOUR)",
}


def call(function: str, path: str, **arguments: Argument) -> str:
    """Return a call with the path as its first argument and the others by name."""
    named = (f"{name} => {literal(value)}" for name, value in arguments.items())
    return f"{function}({', '.join([literal(path), *named])})"


def literal(value: Argument) -> str:
    """Return a value as SQL spells it."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case _:
            return f"map({', '.join(literal(text) for entry in value.items() for text in entry)})"
