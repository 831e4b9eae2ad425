"""How a storage is reached: with the caller's options, as a Spark session reaches it, or as fsspec finds out.

Start at `access`. `options` reads the caller's options; `session` reads a session's `settings`, which `s3`, `azure` and
`gcs` translate into the options of fsspec's packages. A setting that has no counterpart there is an error: otherwise a
table would be looked for elsewhere, or as somebody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

__all__ = ["Access", "access"]


class Access(NamedTuple):
    """How a storage is reached.

    Attributes:
        options: those of fsspec. They may contain secrets.
        words: the same for users, without secrets; empty for local files.
    """

    options: Mapping[str, Any] | None
    words: str


def access(path: str, options: Mapping[str, Any] | None, spark: SparkSession | None, where: str) -> Access:
    """How to reach a path: options win over a session.

    Args:
        path: a path or URL.
        options: of fsspec, if the caller gave any; values may be references to secrets.
        spark: a classic session whose settings apply otherwise.
        where: the function that the user called.

    Raises:
        BadOptionError: an option's secret cannot be read, or a session's setting lacks something.
        UnsupportedError: a session's setting has no counterpart, or the session is one of Spark Connect.
    """
    from pme_parquet._access.options import defaults_in_words, in_words, read  # noqa: PLC0415 not at import
    from pme_parquet._storage import local_root  # noqa: PLC0415 as above

    if options is not None:
        passed = read(options, where)
        return Access(passed, in_words(passed, path))
    if spark is not None:
        from pme_parquet._access.session import of_session  # noqa: PLC0415 as above

        return Access(*of_session(path, spark, where))
    return Access(None, "" if local_root(path) is not None else defaults_in_words(path))
