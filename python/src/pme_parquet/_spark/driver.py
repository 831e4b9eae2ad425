"""Calls the connector's objects in the driver's JVM."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pme_parquet._audience import current
from pme_parquet._spark import connector
from pme_parquet._spark.errors import install_errors
from pme_parquet.errors import BadOptionError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession


_OF_DELTA = {"DeltaEncryption"}


def method_of(spark: SparkSession, name: str, method: str, where: str) -> Callable[..., Any]:
    """Return a method of one of them, with the session as its first argument; dicts and lists become Java's.

    Args:
        spark: a classic session.
        name: the name of the object; in a package below `admin`, with that.
        method: the method of the object.
        where: the function that the user called, for messages.

    Raises:
        UnsupportedError: the session is one of Spark Connect, or has no connector that fits.
    """
    _require_connector(spark, where)
    return called(spark, name, method)


def object_of(spark: SparkSession, name: str, where: str) -> Any:  # noqa: ANN401 py4j is untyped
    """Return one of them, for methods that take no session. Arguments as for `method_of`.

    Raises:
        UnsupportedError: as `method_of`.
    """
    _require_connector(spark, where)
    return _object(spark, name)


def _require_connector(spark: SparkSession, where: str) -> None:
    install_errors()
    session: Any = getattr(spark, "_jsparkSession", None)
    if isinstance(spark, (str, os.PathLike)):
        message = f"{where}: spark is a {type(spark).__name__}. Give a Spark session."
        raise BadOptionError(message)
    if session is None:
        message = (
            f"{where}: it is not supported over Spark Connect, which gives the client no access to the JVM. Run it "
            "with a classic session on the driver."
        )
        raise UnsupportedError(message)
    connector.require(spark, where)


def called(spark: SparkSession, name: str, method: str) -> Callable[..., Any]:
    """The method, for a classic session that is known to have the connector."""
    jvm: Any = spark._jvm  # noqa: SLF001 as PySpark does
    session: Any = spark._jsparkSession  # noqa: SLF001 as above
    target = getattr(_object(spark, name), method)
    return lambda *arguments: target(session, *[_java(jvm, argument) for argument in arguments])


def _object(spark: SparkSession, name: str) -> Any:  # noqa: ANN401 py4j is untyped
    jvm: Any = spark._jvm  # noqa: SLF001 as above
    jvm.io.pmeparquet.Audience.use(current())
    target = jvm.io.pmeparquet.delta if name in _OF_DELTA else jvm.io.pmeparquet.spark.admin
    for part in name.split("."):
        target = getattr(target, part)
    return target


def frame_of(spark: SparkSession, jdf: Any) -> DataFrame:  # noqa: ANN401 py4j is untyped
    """Return the JVM's frame as a Python one."""
    from pyspark.sql import DataFrame  # noqa: PLC0415 nothing happens at import

    return DataFrame(jdf, spark)


def _java(jvm: Any, argument: Any) -> Any:  # noqa: ANN401 as above
    if isinstance(argument, list):
        listed: Any = jvm.java.util.ArrayList()
        for value in argument:
            listed.add(value)
        return listed
    if not isinstance(argument, dict):
        return argument
    made: Any = jvm.java.util.HashMap()
    for name, value in argument.items():
        made.put(name, value)
    return made
