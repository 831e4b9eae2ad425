"""What the connector tells in the driver of a classic session; and where it is missing, what can be told without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet import _jars
from pme_parquet._doctor.diagnosis import Check
from pme_parquet._doctor.python import attempt, failure, first_line
from pme_parquet._driver import method_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

_OLDEST_JAVA = 17


def checks(spark: SparkSession, options: Mapping[str, str]) -> Iterator[Check]:
    """What the connector found, or why it cannot look."""
    from pme_parquet import __version__ as wheel  # noqa: PLC0415 the package is not yet whole when this is imported

    yield Check("session", "ok", "classic: its driver is a JVM that this Python is connected with")
    try:
        found = list(method_of(spark, "Doctor", "examine", "pme.doctor")(dict(options), wheel))
    except Exception as failed:  # noqa: BLE001 a connector that cannot look is an answer
        yield from attempt("Java", lambda: _java(spark))
        # py4j takes the name of a class that is not there for that of a package.
        yield _missing(spark) if isinstance(failed, TypeError) else _unfit(failed)
        return
    for check in found:
        yield Check(check.name(), check.status(), check.found(), check.remedy())


def _java(spark: SparkSession) -> Check:
    """Classes of the connector do not load on an older one, so it cannot say so itself."""
    jvm: Any = spark._jvm  # noqa: SLF001 as PySpark does
    version = str(jvm.java.lang.System.getProperty("java.specification.version"))
    if int(version.removeprefix("1.")) >= _OLDEST_JAVA:
        return Check("Java", "ok", version)
    return Check("Java", "problem", version, f"Run Spark with Java {_OLDEST_JAVA} or later: set JAVA_HOME.")


def _missing(spark: SparkSession) -> Check:
    return Check(
        "connector",
        "problem",
        f"its jar is not on the class path of this session (spark.jars: {_jars_of(spark) or 'not set'})",
        f"Stop the session and build it with pme.configure(SparkSession.builder), or put {_jar(spark)} in spark.jars.",
    )


def _unfit(failed: Exception) -> Check:
    check = failure("connector", failed)
    return Check(check.name, check.status, check.found, "Use the connector for this Spark and Scala; see jar_path().")


def _jars_of(spark: SparkSession) -> str:
    """Names of jars; their URLs may say who may fetch them."""
    jars = str(spark.sparkContext.getConf().get("spark.jars", ""))
    return ", ".join(jar.rstrip("/").rsplit("/", 1)[-1].split("?")[0] for jar in jars.split(",") if jar)


def _jar(spark: SparkSession) -> str:
    try:
        return _jars.jar_path(str(spark.version))
    except Exception as failed:  # noqa: BLE001 of a Spark that there is no jar for
        return f"a connector that fits ({first_line(failed)})"
