"""Stores that start and end with a test: where jobs of processes of their own keep tables."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.support.storage import Lake
from tests.support.storage.hdfs import Files, running
from tests.support.storage.s3 import ObjectStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


BUCKET = "lakes"


@contextmanager
def in_hdfs(spark: SparkSession, work: Path) -> Iterator[Lake]:
    """Start HDFS, and yield a directory in it that everybody may write to."""
    with running(work) as hdfs:
        files = Files(spark, hdfs)
        files.make("lake")
        yield Lake(files.url("lake"))


@contextmanager
def in_s3(jars: Path) -> Iterator[Lake]:
    """Start a store, and yield a directory in it."""
    listed = sorted(map(str, jars.glob("*.jar")))
    assert listed, f"{jars} is empty: run `make build` first, or `make target/jars/iceberg/.all`"
    with ObjectStore() as store:
        yield Lake(f"s3a://{BUCKET}/lake", store.make(BUCKET), listed)
