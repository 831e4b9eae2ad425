"""Finds the connector jar for the installed Spark among the jars in the wheel."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path

from pme_parquet._audience import Words
from pme_parquet.errors import UnsupportedError

_WHERE = Words("pme.jar_path")
JARS = Path(__file__).parents[1] / "jars"
SUPPORTED = "Spark 3.5 (Scala 2.12 or 2.13) and Spark 4.x (Scala 2.13)"
_LINES = {("3.5", "2.12"), ("3.5", "2.13"), ("4.0", "2.13")}


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
