"""The checks of a session: what only Python sees, and what the connector reports.

In a classic session the connector runs in its driver. Behind a Connect session its SQL function answers, because a
client cannot reach the JVM itself.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from pme_parquet._doctor.diagnosis import Check
from pme_parquet._spark.connector import misfit, missing_on_server
from pme_parquet._spark.driver import called
from pme_parquet._spark.errors import install_errors
from pme_parquet._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._spark.connector import Misfit

_OLDEST = (3, 10)
_OLDEST_JAVA = 17
_NO_SOURCE = "DATA_SOURCE_NOT_FOUND"


def client_checks(spark: SparkSession) -> Iterator[Check]:
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


def classic_checks(spark: SparkSession, options: Mapping[str, str]) -> Iterator[Check]:
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


def server_checks(spark: SparkSession, options: Mapping[str, str]) -> Iterator[Check]:
    """What the server's connector found, or what could not be checked."""
    install_errors()
    yield Check("session", "ok", "Spark Connect; the following checks are of the server")
    try:
        _use_format(spark)
        found = spark.sql(_query(options)).collect()
    except Exception as failed:  # noqa: BLE001 any failure is an answer
        yield _missing() if _is_missing(failed) else _unasked(failed)
        return
    for row in found:
        yield Check(row["name"], row["status"], row["found"], row["remedy"])


def _use_format(spark: SparkSession) -> None:
    """Makes the format register its functions in the session, as its first use does. No file is read."""
    try:
        _ = spark.read.format("pme-parquet").schema("nothing int").load("/nowhere").schema
    except Exception as failed:
        if _is_missing(failed):
            raise


def _is_missing(failed: Exception) -> bool:
    """Whether the server does not know the format. Spark's error for that may already have become one of ours."""
    return _NO_SOURCE in str(getattr(failed, "spark_error", None) or failed)


def _query(options: Mapping[str, str]) -> str:
    given = ", ".join(_literal(text) for option in options.items() for text in option)
    return f"SELECT * FROM pme_doctor(options => map({given}), wheel => {_literal(__version__)})"  # noqa: S608 only hex


def _literal(text: str) -> str:
    """A string that needs no quotes: Spark reads quoted strings in two ways, depending on settings."""
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def _missing() -> Check:
    missing = missing_on_server()
    return Check("connector", "problem", missing.why, missing.remedy)


def _unasked(failed: Exception) -> Check:
    found = f"versions, jars, executors, AES, RPC and KMS were not checked: the server gave no answer ({_why(failed)})"
    remedy = (
        "Install a connector of this version on the server, or run pme.doctor with a classic session on the driver."
    )
    return Check("connector", "warning", found, remedy)


def _why(failed: Exception) -> str:
    return f"{type(failed).__name__}: {first_line(failed)}"
