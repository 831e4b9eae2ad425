"""What goes into a measuring process, as JSON on its standard input, and what comes out of it.

A job says everything in terms of Spark, so that the process needs to know nothing of cases, variants or keys.
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
    """Where rows go: nowhere, as rows or as columns, to the driver, or into files."""

    kind: Literal["noop", "columns", "collect", "write"]


class Sink(SinkKind, total=False):
    """For files: how they are written, how they are read back, and into how many parts rows are dealt by a column."""

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
    """All that one process does. Steps follow each other in one JVM."""

    engine: Literal["spark", "pyarrow", "duckdb"]
    settings: dict[str, str]
    steps: list[Step]


class Repetition(TypedDict):
    """What one repetition took: seconds, and bytes read from files and allocated on the heap."""

    wall: float
    cpu: float
    read: float
    allocated: float


class Rows(TypedDict):
    """What a step's rows were: their number, and a sum of hashes where the engine can tell."""

    count: int
    hash: str | None


class StepResult(TypedDict):
    """What a step took and gave."""

    name: str
    repetitions: list[Repetition]
    peak: int
    answer: list[list[str]] | None
    rows: Rows | None


class Result(TypedDict):
    """What a process says at its end; ``cannot`` is the reason where an outsider cannot read such files."""

    versions: dict[str, str]
    steps: list[StepResult]
    cannot: str | None
