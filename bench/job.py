"""The input of a measuring process, as JSON on its standard input, and its output.

A job consists of terms of Spark, so that the process needs to know nothing about cases, variants or keys.
"""

from __future__ import annotations

from typing import Literal, TypedDict

RESULT_MARK = "bench-result: "


class View(TypedDict):
    """A temporary view: what ``spark.read.format(...).options(...).load(path)`` reads."""

    format: str
    options: dict[str, str]
    path: str


class SinkKind(TypedDict):
    """The destination of rows: none, as rows or as columns; the driver; or files."""

    kind: Literal["noop", "columns", "collect", "write"]


class Sink(SinkKind, total=False):
    """For files: how to write them, how to read them back, and into how many parts a column divides the rows."""

    write: View
    read: View
    partitions: int
    partition_by: str


class Step(TypedDict):
    """One query, repeated. Each repetition makes its views anew, as a user's first read does."""

    name: str
    views: dict[str, View]
    sql: str
    sink: Sink
    repetitions: int
    check: bool


class Job(TypedDict):
    """The work of one process. Steps follow each other in one JVM."""

    engine: Literal["spark", "pyarrow", "duckdb"]
    settings: dict[str, str]
    steps: list[Step]


class Repetition(TypedDict):
    """The cost of one repetition: seconds, and bytes read from files and allocated on the heap."""

    wall: float
    cpu: float
    read: float
    allocated: float


class Rows(TypedDict):
    """The rows of a step: their number, and a sum of hashes if the engine can compute it."""

    count: int
    hash: str | None


class StepResult(TypedDict):
    """The cost and the rows of a step."""

    name: str
    repetitions: list[Repetition]
    peak: int
    answer: list[list[str]] | None
    rows: Rows | None


class Result(TypedDict):
    """The output of a process; ``cannot`` is the reason why an outsider cannot read such files."""

    versions: dict[str, str]
    steps: list[StepResult]
    cannot: str | None
