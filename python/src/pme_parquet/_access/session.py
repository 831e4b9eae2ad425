"""The settings of file systems that a Spark session has: what its driver would use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pme_parquet._access import azure, gcs, s3
from pme_parquet._access.options import require_no_more
from pme_parquet._access.settings import INSTEAD, Settings
from pme_parquet._arguments import kind
from pme_parquet._display.words import printable
from pme_parquet._hadoop import OfHadoop
from pme_parquet._storage import Through, local_root, scheme_of
from pme_parquet.errors import BadOptionError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

# The session's own client reads them: packages of Python have no settings that would do the same.
_OF_HADOOP = ("hdfs", "viewfs", "webhdfs", "swebhdfs")

# What s3fs, adlfs and gcsfs take for a version of an object is a part of its name for Hadoop.
_VERSION = re.compile(r"[?&](?:versionId|versionid|generation)=|#\s*[+-]?\d")
_TRANSLATE: dict[str, Callable[[str, str, Settings, str], tuple[dict[str, Any], list[str]]]] = {
    "s3a": s3.translated,
    "s3": s3.translated,
    "s3n": s3.translated,
    "abfs": azure.translated,
    "abfss": azure.translated,
    "gs": gcs.translated,
}


def of_session(path: str, spark: SparkSession, where: str) -> tuple[dict[str, Any] | None, str]:
    """The options of fsspec for a path, or what reads it instead of fsspec, and the same in words.

    Raises:
        BadOptionError: see `access`.
        UnsupportedError: as above.
    """
    settings = _settings(spark, where)
    if scheme_of(path) in _OF_HADOOP:
        return Through(lambda url: OfHadoop(url, spark)), "the Hadoop client of the Spark session"
    return translated(path, settings, where)


def translated(path: str, settings: Settings, where: str) -> tuple[dict[str, Any] | None, str]:
    """As `of_session`, for settings."""
    scheme = scheme_of(path)
    if scheme is None and "::" not in path:
        default = settings.get("fs.defaultFS")
        if default and not default.startswith("file:"):
            raise BadOptionError(
                f"{where}: {printable(path)} has no scheme, and the session takes it for one of {printable(default)} "
                "(fs.defaultFS). Give the whole URL; file:/… for a local path."
            )
        return None, ""
    if local_root(path) is not None:
        return None, ""
    translate = None if "::" in path else _TRANSLATE.get(scheme or "")
    if translate is None or scheme is None:
        named = printable(path.partition(":")[0])
        raise UnsupportedError(
            f"{where}: a session's settings for {named}: cannot be applied here: they are known for s3a, abfs and gs. "
            f"{INSTEAD}"
        )
    if _VERSION.search(path):
        raise UnsupportedError(
            f"{where}: {printable(path)} is a name for the session, but a version of an object for the package of "
            f"fsspec. {INSTEAD}"
        )
    options, words = translate(path.partition("://")[2], scheme, settings, where)
    require_no_more(options, scheme, where)
    return options, f"settings of the Spark session: {', '.join(words)}"


def _settings(spark: SparkSession, where: str) -> Settings:
    session: Any = getattr(spark, "_jsparkSession", None)
    if session is None:
        if type(spark).__module__.startswith("pyspark.sql.connect"):
            raise UnsupportedError(
                f"{where}: the settings of file systems are not visible over Spark Connect. Pass storage_options "
                "instead of spark."
            )
        raise BadOptionError(f"{where}: spark is {kind(spark)}. Give a Spark session.")
    jvm: Any = spark._jvm  # noqa: SLF001 as PySpark does
    return Settings(session.sessionState().newHadoopConf().get, jvm.java.lang.System.getenv)
