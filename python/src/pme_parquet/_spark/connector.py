"""The connector's jar: which of the wheel's fits the installed Spark, and whether a session has one that fits.

A JVM reads its class path when it starts. A running session therefore cannot get a jar, and a session that is created
after it was stopped has the class path of the first.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pme_parquet._audience import Words
from pme_parquet._version import __version__
from pme_parquet.errors import UnknownOptionError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_WHERE = Words("pme.jar_path")
JARS = Path(__file__).parents[1] / "jars"
SUPPORTED = "Spark 3.5 (Scala 2.12 or 2.13) and Spark 4.x (Scala 2.13)"
_LINES = {("3.5", "2.12"), ("3.5", "2.13"), ("4.0", "2.13")}
_SPARKS = {spark for spark, _ in _LINES}
_CLASS = "io/pmeparquet/spark/PmeDataSource.class"
_PROPERTIES = "io/pmeparquet/spark/connector.properties"
_FORMAT = "pme-parquet"
_NO_SOURCE = re.compile(r"\[DATA_SOURCE_NOT_FOUND\] [^\n]*\bpme-parquet\b")
_NO_PROVIDER = re.compile(r"ServiceConfigurationError: [^\n]*\bio\.pmeparquet\.[^\n]*")


def jar_path(spark_version: str | None = None, scala: str | None = None) -> str:
    """The path of the bundled connector jar.

    Args:
        spark_version: e.g. `3.5.9`; by default that of the installed PySpark.
        scala: `2.12` or `2.13`; by default that of the Spark found, or else the usual one of the Spark version.
    """
    spark = line_of(spark_version or installed_version())
    scala = scala or (None if spark_version else installed_scala()) or {"3.5": "2.12"}.get(spark, "2.13")
    if (spark, scala) not in _LINES:
        raise UnsupportedError(
            f"{_WHERE}: there is no connector for Spark {spark_version or installed_version()} on Scala {scala}. "
            f"This version supports {SUPPORTED}. Install a supported PySpark."
        )
    found = sorted(JARS.glob(f"pme-parquet-spark-{spark}_{scala}-*.jar"))
    if not found:
        raise UnsupportedError(
            f"{_WHERE}: this installation has no connector jar for Spark {spark} on Scala {scala}: it was not "
            "installed from a wheel. Build one with `make wheel` and install it, or use spark.jars.packages."
        )
    return str(found[-1])


def provider_jar() -> str | None:
    """The jar of Amazon's JCE provider; None without the extra `accp`, or if Amazon has none for this machine."""
    try:
        from pme_parquet_accp import jar_path as found  # noqa: PLC0415 an extra
    except ImportError:
        return None
    return found()


def line_of(spark_version: str) -> str:
    """The connector's name for a line of Spark versions: one jar works for every 4.x."""
    major_minor = ".".join(re.findall(r"\d+", spark_version)[:2])
    return "4.0" if major_minor.startswith("4.") else major_minor


def folders() -> list[Path]:
    """Where Spark's own jars may be: those of SPARK_HOME, and PySpark's."""
    homes = [Path(os.environ["SPARK_HOME"])] if "SPARK_HOME" in os.environ else []
    spec = find_spec("pyspark")
    homes += [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    return [home / "jars" for home in homes]


def installed_version() -> str:
    """The version of the installed PySpark."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 a third of this package's import

    try:
        return version("pyspark")
    except PackageNotFoundError:
        if find_spec("pyspark") is None:
            raise UnsupportedError(
                f"{_WHERE}: PySpark is not installed, and the jar depends on its version ({SUPPORTED}). Install it "
                "with `pip install pyspark`, or name the version: jar_path('4.0.0')."
            ) from None
    # Spark's own python folder on PYTHONPATH, or one of PySpark's smaller distributions.
    from pyspark.version import __version__ as found  # noqa: PLC0415 nothing happens at import

    return str(found)


def installed_scala() -> str | None:
    """The Scala version of SPARK_HOME, or else of PySpark's own jars."""
    for folder in folders():
        for jar in sorted(folder.glob("scala-library-2.*.jar")):
            return ".".join(jar.name.removeprefix("scala-library-").split(".")[:2])
    return None


@dataclass(frozen=True)
class Connector:
    """What a connector's jar says about itself; fields are empty if it was copied into another jar.

    Attributes:
        version: its own version.
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
        kind: it is missing; it is for another Scala or Spark; or its version differs from this package's.
        why: the end of a sentence after `because`.
        remedy: what to do, in sentences.
    """

    kind: Literal["missing", "scala", "spark", "version"]
    why: str
    remedy: str

    def error(self, where: str) -> UnsupportedError:
        """The error to raise."""
        return UnsupportedError(f'{where}: format("{_FORMAT}") cannot be used: {self.why}. {self.remedy}')


def require(spark: SparkSession, where: str) -> None:
    """Raises an error if a classic session has no connector, or one that does not fit.

    Raises:
        UnsupportedError: says which, and what to do.
    """
    found = misfit(spark._jvm)  # noqa: SLF001 as PySpark does
    if found is not None:
        raise found.error(where)


@contextmanager
def explained(spark: SparkSession, where: str) -> Iterator[None]:
    """An option that this package knows and the connector does not: the connector has another version."""
    try:
        yield
    except UnknownOptionError as unknown:
        if hasattr(spark, "_jsparkSession"):
            found = misfit(spark._jvm)  # noqa: SLF001 as PySpark does
            if found is not None:
                raise found.error(where) from unknown
        raise


def misfit(jvm: Any) -> Misfit | None:  # noqa: ANN401 py4j is untyped
    """What is wrong with the connector of a JVM, if anything."""
    spark = str(jvm.org.apache.spark.package.SPARK_VERSION())
    scala = str(jvm.scala.util.Properties.versionNumberString())
    return evaluated(_loaded(jvm), spark, scala, __version__)


def evaluated(connector: Connector | None, spark: str, scala: str, wheel: str) -> Misfit | None:
    """What is wrong with a connector for this Spark, this Scala and this package."""
    if connector is None:
        return missing(spark, scala)
    if connector.scala and not scala.startswith(connector.scala + "."):
        return Misfit("scala", f"the connector is for Scala {connector.scala}, but this Spark has {scala}", _other())
    line = line_of(spark)
    if connector.spark and line in _SPARKS and connector.spark != line:
        return Misfit("spark", f"the connector is for Spark {connector.spark}, but this is Spark {spark}", _other())
    if connector.version and connector.version != wheel:
        why = f"the connector has version {connector.version}, but pme-parquet in Python has {wheel}"
        return Misfit("version", why, f"Install the wheel of version {connector.version}. Or: {_other()}")
    return None


def missing(spark: str | None = None, scala: str | None = None) -> Misfit:
    """The misfit of a session without a connector."""
    why = "the connector jar is not on the class path of this session"
    jar = _name_of_jar(spark, scala)
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit started the JVM
        return Misfit("missing", why, f"Give {jar} to spark-submit with --jars, or name it with --packages.")
    remedy = Words(
        "A running session cannot load it. Restart Python (in a notebook, the kernel) and build the first session "
        "with pme.configure(SparkSession.builder); spark.stop() is not enough. If a platform creates the session for "
        f"you, install {jar} there.",
        f"Check spark.jars, --conf and spark-defaults.conf, and add {jar} there.",
    )
    return Misfit("missing", why, remedy)


def missing_on_server() -> Misfit:
    """The misfit of a Spark Connect server without a connector."""
    why = "the Spark Connect server does not have the connector jar"
    return Misfit("missing", why, "Start the server with the connector's jar in spark.jars or --jars.")


def misfit_in(text: str, *, connect: bool = False) -> Misfit | None:
    """The misfit that Spark's message shows when Spark does not find the format or cannot load the connector."""
    if _NO_SOURCE.search(text):
        return missing_on_server() if connect else missing()
    found = _NO_PROVIDER.search(text)
    return None if found is None else unloadable(found[0])


def unloadable(failure: str) -> Misfit:
    """The misfit of a connector whose classes do not load, from the JVM's message."""
    return Misfit("spark", f"the connector is not compatible with this Spark and Scala ({failure[:300]})", _other())


def _loaded(jvm: Any) -> Connector | None:  # noqa: ANN401 as above
    """Reads the jar as a file: classes of a connector for another Scala do not load, so they cannot report it."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getResource(_CLASS) is None:
        return None
    stream = loader.getResourceAsStream(_PROPERTIES)
    if stream is None:
        return Connector()
    properties = jvm.java.util.Properties()
    try:
        properties.load(stream)
    finally:
        stream.close()
    return Connector(
        properties.getProperty("version"), properties.getProperty("spark"), properties.getProperty("scala")
    )


def _other() -> str:
    again = Words(
        "restart Python (in a notebook, the kernel) and build the first session with "
        "pme.configure(SparkSession.builder), which adds the right one",
        "and run the command again, which adds the right one",
    )
    return f"Remove that connector from the class path, {again}."


def _name_of_jar(spark: str | None, scala: str | None) -> str:
    try:
        path = jar_path(spark, ".".join(scala.split(".")[:2]) if scala else None)
    except UnsupportedError:
        return "the connector for its Spark and Scala"
    return path.rsplit("/", 1)[-1]
