"""What the connector reports behind a Connect session, by its SQL function: a client cannot reach the JVM itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._doctor.diagnosis import Check
from pme_parquet._doctor.python import first_line
from pme_parquet._spark.connector import missing_on_server
from pme_parquet._spark.errors import install_errors
from pme_parquet._version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

_NO_SOURCE = "DATA_SOURCE_NOT_FOUND"


def checks(spark: SparkSession, options: Mapping[str, str]) -> Iterator[Check]:
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
