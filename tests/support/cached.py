"""Sessions of one application with settings of their own, and what they cache."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.support.kms.denied import caching

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession


def having(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Return another session of the application with these settings."""
    made = spark.newSession()
    for name, value in settings.items():
        made.conf.set(name, value)
    return made


def is_cached(frame: DataFrame) -> bool:
    return "InMemoryTableScan" in frame._jdf.queryExecution().executedPlan().toString()


@contextmanager
def filled(frame: DataFrame) -> Iterator[None]:
    """Cache all rows of the frame."""
    with caching(frame):
        frame.count()
        assert is_cached(frame)
        yield
