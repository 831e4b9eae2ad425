"""Waits for work that Spark still does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def wait_until_alone(spark: SparkSession) -> None:
    """Wait until no other task runs: a failed job ends before its other tasks do."""
    jvm: Any = spark._jvm
    jvm.java.lang.Thread.sleep(100)
    status = spark.sparkContext._jsc.sc().statusTracker()
    while any(executor.numRunningTasks() for executor in status.getExecutorInfos()):
        jvm.java.lang.Thread.sleep(50)
