"""What the connector tells behind a Connect session, by its function in SQL; a client reaches no JVM otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._connector import missing_on_server
from pme_parquet._doctor.diagnosis import Check
from pme_parquet._doctor.python import first_line
from pme_parquet._hook import install_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

_NO_SOURCE = "DATA_SOURCE_NOT_FOUND"


def checks(spark: SparkSession, options: Mapping[str, str]) -> Iterator[Check]:
    """What the server's connector found, or what could not be looked at."""
    install_errors()
    yield Check("session", "ok", "Spark Connect: what follows is of the server")
    try:
        _use_format(spark)
        found = spark.sql(_query(options)).collect()
    except Exception as failed:  # noqa: BLE001 whatever it is, it is an answer
        yield _missing() if _is_missing(failed) else _unasked(failed)
        return
    for row in found:
        yield Check(row["name"], row["status"], row["found"], row["remedy"])


def _use_format(spark: SparkSession) -> None:
    """Have the format give the session its functions, as it does when it is first used; no file is looked at."""
    try:
        _ = spark.read.format("pme-parquet").schema("nothing int").load("/nowhere").schema
    except Exception as failed:
        if _is_missing(failed):
            raise


def _is_missing(failed: Exception) -> bool:
    """Whether the server does not know the format; what Spark raises for it is made one of ours where that is on."""
    return _NO_SOURCE in str(getattr(failed, "spark_error", None) or failed)


def _query(options: Mapping[str, str]) -> str:
    from pme_parquet import __version__ as wheel  # noqa: PLC0415 the package is not yet whole when this is imported

    given = ", ".join(_literal(text) for option in options.items() for text in option)
    return f"SELECT * FROM pme_doctor(options => map({given}), wheel => {_literal(wheel)})"  # noqa: S608 only hex


def _literal(text: str) -> str:
    """A string that needs no quotes, which Spark reads in two ways, as settings have it."""
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def _missing() -> Check:
    missing = missing_on_server()
    return Check("connector", "problem", missing.why, missing.remedy)


def _unasked(failed: Exception) -> Check:
    found = f"versions, jars, executors, AES, RPC and KMS were not looked at: the server did not say ({_why(failed)})"
    remedy = (
        "Give the server a connector of this version, or run pme.doctor with a classic session where the driver is."
    )
    return Check("connector", "warning", found, remedy)


def _why(failed: Exception) -> str:
    return f"{type(failed).__name__}: {first_line(failed)}"
