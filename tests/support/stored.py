"""Tables of the catalog with options that somebody else may have stored."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from tests.support.source import FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

PREFIX = "spark.datasource.pme-parquet."


def unique_name() -> str:
    """Return a name that no table has; it is too short to look like a key in a message."""
    return f"stored_{uuid4().hex[:8]}"


@contextmanager
def stored_table(
    spark: SparkSession, path: str, options: Mapping[str, str], columns: str = "id BIGINT"
) -> Iterator[str]:
    """Define a table with these options, return its name, and drop it."""
    name = unique_name()
    listed = ", ".join(f"'{option}' '{value}'" for option, value in options.items())
    clause = f"OPTIONS ({listed}) " if listed else ""
    spark.sql(f"CREATE TABLE {name} ({columns}) USING `{FORMAT}` {clause}LOCATION '{path}'")
    try:
        yield name
    finally:
        spark.sql(f"DROP TABLE {name}")
