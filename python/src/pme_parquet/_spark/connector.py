"""Whether a session has the connector, and the one that fits: what is wrong otherwise, and what to do.

A JVM takes jars on its class path when it starts, so a session that runs cannot be given one, and one that is made
after it was stopped has the class path of the first.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pme_parquet._spark import jars
from pme_parquet._version import __version__
from pme_parquet.errors import UnknownOptionError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_CLASS = "io/pmeparquet/spark/PmeDataSource.class"
_PROPERTIES = "io/pmeparquet/spark/connector.properties"
_FORMAT = "pme-parquet"
_LINES = {"3.5", "4.0"}

_NO_SOURCE = re.compile(r"\[DATA_SOURCE_NOT_FOUND\] [^\n]*\bpme-parquet\b")
_NO_PROVIDER = re.compile(r"ServiceConfigurationError: [^\n]*\bio\.pmeparquet\.[^\n]*")


@dataclass(frozen=True)
class Connector:
    """What a connector's jar says of itself; nothing where it was copied into another jar.

    Attributes:
        version: its own.
        spark: the line of Spark versions that it is for.
        scala: the Scala version that it is for.
    """

    version: str | None = None
    spark: str | None = None
    scala: str | None = None


@dataclass(frozen=True)
class Misfit:
    """Why the connector of a session cannot be used.

    Attributes:
        kind: there is none; it is for another Scala or Spark; or it is another version than this package.
        why: after `because`.
        remedy: sentences.
    """

    kind: Literal["missing", "scala", "spark", "version"]
    why: str
    remedy: str

    def error(self, where: str) -> UnsupportedError:
        """The error to raise."""
        return UnsupportedError(f'{where}: format("{_FORMAT}") cannot be used: {self.why}. {self.remedy}')


def require(spark: SparkSession, where: str) -> None:
    """Fails where a classic session has no connector, or one that does not fit.

    Raises:
        UnsupportedError: says which, and what to do.
    """
    found = misfit(spark._jvm)  # noqa: SLF001 as PySpark does
    if found is not None:
        raise found.error(where)


@contextmanager
def explained(spark: SparkSession, where: str) -> Iterator[None]:
    """An option that the connector does not know, and this package does, is one of another version."""
    try:
        yield
    except UnknownOptionError as unknown:
        if hasattr(spark, "_jsparkSession"):
            found = misfit(spark._jvm)  # noqa: SLF001 as PySpark does
            if found is not None:
                raise found.error(where) from unknown
        raise


def misfit(jvm: Any) -> Misfit | None:  # noqa: ANN401 py4j is untyped
    """What is wrong with the connector that a JVM has, if something is."""
    spark = str(jvm.org.apache.spark.package.SPARK_VERSION())
    scala = str(jvm.scala.util.Properties.versionNumberString())
    return judged(_loaded(jvm), spark, scala, __version__)


def judged(connector: Connector | None, spark: str, scala: str, wheel: str) -> Misfit | None:
    """What is wrong with a connector on this Spark and Scala, and beside this package."""
    if connector is None:
        return missing(spark, scala)
    if connector.scala and not scala.startswith(connector.scala + "."):
        return Misfit("scala", f"the connector is for Scala {connector.scala}, but this Spark has {scala}", _other())
    line = jars.line_of(spark)
    if connector.spark and line in _LINES and connector.spark != line:
        return Misfit("spark", f"the connector is for Spark {connector.spark}, but this is Spark {spark}", _other())
    if connector.version and connector.version != wheel:
        why = f"the connector has version {connector.version}, but pme-parquet in Python has {wheel}"
        return Misfit("version", why, f"pip install pme-parquet=={connector.version}, or: {_other()}")
    return None


def missing(spark: str | None = None, scala: str | None = None) -> Misfit:
    """What is wrong where there is no connector."""
    why = "the connector jar is not on the class path of this session"
    jar = _name_of_jar(spark, scala)
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has started the JVM
        return Misfit("missing", why, f"Give {jar} to spark-submit with --jars, or name it with --packages.")
    remedy = (
        "A running session cannot load it. Restart Python (in a notebook, the kernel) and build the first session "
        "with pme.configure(SparkSession.builder); spark.stop() is not enough. If a platform creates the session for "
        f"you, install {jar} there."
    )
    return Misfit("missing", why, remedy)


def missing_on_server() -> Misfit:
    """What is wrong with a Spark Connect server that has no connector."""
    why = "the Spark Connect server does not have the connector jar"
    return Misfit("missing", why, "Start the server with the connector's jar in spark.jars or --jars.")


def told_by(text: str, *, connect: bool = False) -> Misfit | None:
    """What is wrong, by what Spark says where it does not find the format or cannot load the connector."""
    if _NO_SOURCE.search(text):
        return missing_on_server() if connect else missing()
    found = _NO_PROVIDER.search(text)
    return None if found is None else unloadable(found[0])


def unloadable(failure: str) -> Misfit:
    """A connector whose classes do not load, by what the JVM says of it."""
    return Misfit("spark", f"the connector is not compatible with this Spark and Scala ({failure[:300]})", _other())


def _loaded(jvm: Any) -> Connector | None:  # noqa: ANN401 as above
    """Read as a file: classes of a connector for another Scala do not load, so they cannot say so."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getResource(_CLASS) is None:
        return None
    stream = loader.getResourceAsStream(_PROPERTIES)
    if stream is None:
        return Connector()
    told = jvm.java.util.Properties()
    try:
        told.load(stream)
    finally:
        stream.close()
    return Connector(told.getProperty("version"), told.getProperty("spark"), told.getProperty("scala"))


def _other() -> str:
    return (
        "Remove that connector from the class path, restart Python (in a notebook, the kernel) and build the first "
        "session with pme.configure(SparkSession.builder), which adds the right one."
    )


def _name_of_jar(spark: str | None, scala: str | None) -> str:
    try:
        path = jars.jar_path(spark, ".".join(scala.split(".")[:2]) if scala else None)
    except UnsupportedError:
        return "the connector for its Spark and Scala"
    return path.rsplit("/", 1)[-1]
