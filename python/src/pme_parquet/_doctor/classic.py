"""What the connector reports in the driver of a classic session, or what Python finds without a connector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._doctor.diagnosis import Check
from pme_parquet._doctor.python import attempt, failure
from pme_parquet._spark.connector import misfit
from pme_parquet._spark.driver import called
from pme_parquet._version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._spark.connector import Misfit

_OLDEST_JAVA = 17


def checks(spark: SparkSession, options: Mapping[str, str]) -> Iterator[Check]:
    """What the connector found, or why it cannot check."""
    yield Check("session", "ok", "classic, with the driver in this Python session's JVM")
    unfit = None
    try:
        unfit = misfit(spark._jvm)  # noqa: SLF001 as PySpark does
        # A connector that differs only in its version from the wheel can check, and reports the difference.
        can_look = unfit is None or unfit.kind == "version"
        found = list(called(spark, "Doctor", "examine")(dict(options), __version__)) if can_look else []
    except Exception as failed:  # noqa: BLE001 a connector that cannot check is an answer
        yield from attempt("Java", lambda: _java(spark))
        yield _failed(failed) if unfit is None else _unfit(spark, unfit)
        return
    if unfit is not None and not can_look:
        yield from attempt("Java", lambda: _java(spark))
        yield _unfit(spark, unfit)
    for check in found:
        yield Check(check.name(), check.status(), check.found(), check.remedy())


def _java(spark: SparkSession) -> Check:
    """Checks Java here: an older Java does not load the connector's classes, so the connector cannot report it."""
    jvm: Any = spark._jvm  # noqa: SLF001 as PySpark does
    version = str(jvm.java.lang.System.getProperty("java.specification.version"))
    if int(version.removeprefix("1.")) >= _OLDEST_JAVA:
        return Check("Java", "ok", version)
    return Check("Java", "problem", version, f"Run Spark with Java {_OLDEST_JAVA} or later: set JAVA_HOME.")


def _unfit(spark: SparkSession, unfit: Misfit) -> Check:
    return Check("connector", "problem", f"{unfit.why} (spark.jars: {_jars_of(spark) or 'not set'})", unfit.remedy)


def _failed(failed: Exception) -> Check:
    check = failure("connector", failed)
    return Check(check.name, check.status, check.found, "Use the connector for this Spark and Scala: see jar_path().")


def _jars_of(spark: SparkSession) -> str:
    """Names of jars without their URLs, which may contain credentials."""
    jars = str(spark.sparkContext.getConf().get("spark.jars", ""))
    return ", ".join(jar.rstrip("/").rsplit("/", 1)[-1].split("?")[0] for jar in jars.split(",") if jar)
