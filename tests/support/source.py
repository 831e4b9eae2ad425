"""The same job through ``pme-parquet`` and through Spark's own ``parquet`` source, and a comparison of the two."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import AbstractContextManager, redirect_stdout
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter, SparkSession

FORMAT = "pme-parquet"
Conf = Callable[[dict[str, str]], AbstractContextManager[None]]


def rows(df: DataFrame) -> list[str]:
    """Return the rows in an order that does not depend on files and tasks."""
    return sorted(repr(row) for row in df.collect())


def plan(df: DataFrame) -> str:
    """Return the physical plan with all details."""
    text = io.StringIO()
    with redirect_stdout(text):
        df.explain("formatted")
    return text.getvalue()


@dataclass(frozen=True)
class Source:
    """A format with the options that it needs, and a place to write to."""

    spark: SparkSession
    format: str
    path: str
    write_options: Mapping[str, str] = field(default_factory=dict)
    read_options: Mapping[str, str] = field(default_factory=dict)
    table: str = field(default_factory=lambda: f"t_{uuid4().hex}")

    def writer(self, df: DataFrame, **options: str) -> DataFrameWriter:
        """Return a writer of this format; options are added to the keys."""
        return df.write.format(self.format).options(**{**self.write_options, **options})

    def write(self, df: DataFrame, mode: str = "append", **options: str) -> None:
        """Write to the path."""
        self.writer(df, **options).mode(mode).save(self.path)

    def reader(self, **options: str) -> DataFrameReader:
        """Return a reader of this format."""
        return self.spark.read.format(self.format).options(**{**self.read_options, **options})

    def read(self, **options: str) -> DataFrame:
        """Read the path."""
        return self.reader(**options).load(self.path)

    def clause(self, **options: str) -> str:
        """Return ``USING … OPTIONS (…)`` for SQL."""
        pairs = {**self.write_options, **options}
        inside = ", ".join(f"'{name}' '{value}'" for name, value in pairs.items())
        return f"USING `{self.format}`" + (f" OPTIONS ({inside})" if inside else "")


@dataclass(frozen=True)
class Pair:
    """Our source and Spark's."""

    ours: Source
    theirs: Source

    def same(self, job: Callable[[Source], DataFrame]) -> list[str]:
        """Run a job on both, fail unless schema and rows are equal, and return the rows."""
        expected = job(self.theirs)
        expected_rows = rows(expected)
        result = job(self.ours)
        result_rows = rows(result)
        assert result.schema == expected.schema, f"{result.schema} instead of {expected.schema}"
        assert result_rows == expected_rows, f"{result_rows[:3]} … instead of {expected_rows[:3]} …"
        return expected_rows
