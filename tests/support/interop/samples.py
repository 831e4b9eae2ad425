"""A small table with every shape that differs between writers, and cells of all readers in one form.

The shapes are nulls, dictionaries, structs, lists and maps. Spark, PyArrow and DuckDB have other values for some cells.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

ROWS = 60
MAPS = ("scores",)

Table = list[dict[str, Any]]

SPARK_SCHEMA = (
    "id bigint, name string, note string, salary decimal(12,2), address struct<street: string, zip: int>, "
    "tags array<string>, scores map<string, bigint>, people array<struct<name: string, age: int>>, born date, "
    "seen timestamp, ratio double, active boolean, raw binary"
)

ARROW_SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("note", pa.string()),
        ("salary", pa.decimal128(12, 2)),
        ("address", pa.struct([("street", pa.string()), ("zip", pa.int32())])),
        ("tags", pa.list_(pa.string())),
        ("scores", pa.map_(pa.string(), pa.int64())),
        ("people", pa.list_(pa.struct([("name", pa.string()), ("age", pa.int32())]))),
        ("born", pa.date32()),
        ("seen", pa.timestamp("us", tz="UTC")),
        ("ratio", pa.float64()),
        ("active", pa.bool_()),
        ("raw", pa.binary()),
    ]
)


def rows() -> list[tuple[object, ...]]:
    """Return the rows as both Spark and PyArrow take them."""
    return [row(number) for number in range(ROWS)]


def row(number: int) -> tuple[object, ...]:
    """Return one row; some cells are null, some collections empty; one string column has many values, another few."""

    def unless(divisor: int, value: object) -> object:
        return None if number % divisor == divisor - 1 else value

    return (
        number,
        unless(5, f"name-{number % 4}"),
        unless(7, f"note {number:05d} " + "x" * (number % 11)),
        unless(4, Decimal(number * 101).scaleb(-2)),
        unless(6, {"street": unless(5, f"street {number % 3}"), "zip": number}),
        unless(8, [f"tag-{i}" for i in range(number % 4)]),
        unless(9, {f"k{i}": number * i for i in range(number % 3)}),
        unless(10, [{"name": unless(3, f"p{number}-{i}"), "age": 20 + i} for i in range(number % 3)]),
        unless(11, dt.date(2020, 1, 1) + dt.timedelta(days=number)),
        unless(12, dt.datetime(2021, 5, 6, 7, 8, 9, number, tzinfo=dt.timezone.utc)),
        unless(13, number / 7),
        unless(3, number % 2 == 0),
        unless(14, number.to_bytes(4, "big")),
    )


def spark_frame(spark: SparkSession) -> DataFrame:
    """Return the table as a frame of one partition, to be written as one file."""
    return spark.createDataFrame(rows(), SPARK_SCHEMA).coalesce(1)


def arrow_frame() -> pa.Table:
    """Return the table in PyArrow."""
    columns = zip(*rows(), strict=True)
    arrays = []
    for field, values in zip(ARROW_SCHEMA, columns, strict=True):
        given = (
            [None if value is None else list(value.items()) for value in values]
            if pa.types.is_map(field.type)
            else values
        )
        arrays.append(pa.array(given, type=field.type))
    return pa.table(arrays, schema=ARROW_SCHEMA)


def cell(value: Any) -> Any:
    """Return the value in the form in which all readers agree: dicts for structs, sorted pairs for maps."""
    if isinstance(value, Row):
        value = value.asDict()
    if isinstance(value, dict):
        return {name: cell(inner) for name, inner in value.items()}
    if isinstance(value, list):
        cells = [cell(inner) for inner in value]
        return sorted(cells) if all(isinstance(inner, tuple) for inner in cells) else cells
    return scalar(value)


def scalar(value: Any) -> Any:
    """Return a single value: bytes are bytes, moments are in UTC, NaN equals itself."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.timezone.utc).replace(tzinfo=None)
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def spark_table(frame: DataFrame, by: str = "id", maps: Sequence[str] = ()) -> Table:
    """Return the rows of a Spark frame, in order; ``maps`` names its columns of a map type."""
    rows = [{name: row[name] for name in frame.columns} for row in frame.collect()]
    for row in rows:
        for name in maps:
            row[name] = None if row[name] is None else sorted(row[name].items())
    return ordered([{name: cell(value) for name, value in row.items()} for row in rows], by)


def arrow_table(table: pa.Table, by: str = "id") -> Table:
    """Return the rows of a PyArrow table, in order."""
    return ordered([{name: cell(value) for name, value in row.items()} for row in table.to_pylist()], by)


def ordered(rows: Table, by: str) -> Table:
    """Return the rows in the order of one column, if the table has it."""
    return sorted(rows, key=lambda row: row[by]) if rows and by in rows[0] else rows
