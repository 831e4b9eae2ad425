"""Converts cells of Spark, PyArrow and DuckDB to one form, to compare tables cell by cell."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

Table = list[dict[str, Any]]


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
