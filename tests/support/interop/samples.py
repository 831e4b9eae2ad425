"""A small table with every shape that differs between writers: nulls, dictionaries, structs, lists, maps."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 60
MAPS = ("scores",)

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
