"""S3A for a session: its jars, which the build collects, and the settings of buckets."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.support import java
from tests.support.session import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

JARS = ROOT / "target" / "jars" / "s3a"

# Spark 4.1 has an older Hadoop. Only `make test-all` has these.
OF_SPARK_4_1 = JARS / "4.1"

_LOADED: set[str] = set()


def load(spark: SparkSession) -> None:
    """Put S3A where driver and executors of a local session look for classes, once."""
    if spark.sparkContext.applicationId not in _LOADED:
        jars = sorted(JARS.glob("*.jar"))
        assert jars, f"{JARS} is empty: run `make build` first"
        for jar in jars:
            java.add_to_class_path(spark, jar)
        _LOADED.add(spark.sparkContext.applicationId)


@contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Let the session reach a store within the block."""
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)
