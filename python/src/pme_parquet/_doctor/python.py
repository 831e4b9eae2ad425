"""What only Python sees: its own version, and PySpark's version against that of the Spark behind it."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from pme_parquet._doctor.diagnosis import Check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

_OLDEST = (3, 10)


def checks(spark: SparkSession) -> Iterator[Check]:
    """Checks of the client that ask nothing of Spark except its version."""
    yield python(sys.version_info[:3])
    fits = pyspark if hasattr(spark, "_jsparkSession") else client
    yield from attempt("PySpark", lambda: fits(_pyspark_version(), str(spark.version)))


def attempt(name: str, look: Callable[[], Check]) -> Iterator[Check]:
    """The check. An exception becomes a problem, so that other checks still run."""
    try:
        yield look()
    except Exception as failed:  # noqa: BLE001 a check that fails is an answer
        yield failure(name, failed)


def failure(name: str, failed: Exception) -> Check:
    """The result for something that could not be checked."""
    why = f"{type(failed).__name__}: {first_line(failed)}"
    remedy = "Check whether the session still runs (spark.version). If it does, check the log of the driver."
    return Check(name, "problem", f"it could not be checked: {why}", remedy)


def first_line(failed: Exception) -> str:
    """The first line of an error, without the stack traces that Spark appends."""
    return (str(failed).strip().splitlines() or ["no message"])[0]


def python(version: tuple[int, ...]) -> Check:
    """Whether the wheel supports this Python."""
    shown = ".".join(map(str, version))
    if version >= _OLDEST:
        return Check("Python", "ok", shown)
    oldest = ".".join(map(str, _OLDEST))
    return Check("Python", "problem", shown, f"Use Python {oldest} or later.")


def pyspark(version: str, spark: str) -> Check:
    """PySpark supports only its own version of Spark; others work by luck. Suffixes of vendors do not count."""
    if _numbers(version) == _numbers(spark):
        return Check("PySpark", "ok", f"{version}, the same as Spark")
    found = f"{version}, but Spark is {spark}"
    return Check("PySpark", "problem", found, f"pip install pyspark=={spark}, or unset SPARK_HOME if it names another.")


def client(version: str, spark: str) -> Check:
    """The version of a Connect client, which supports servers of other versions, too."""
    found = f"{version}, a client of Spark {spark}"
    if _numbers(version)[:1] == _numbers(spark)[:1]:
        return Check("PySpark", "ok", found)
    return Check("PySpark", "warning", found, f"If something fails: pip install pyspark-client=={spark}.")


def _numbers(version: str) -> list[str]:
    return re.findall(r"\d+", version)[:3]


def _pyspark_version() -> str:
    from pyspark.version import __version__ as version  # noqa: PLC0415 nothing happens at import

    return str(version)
