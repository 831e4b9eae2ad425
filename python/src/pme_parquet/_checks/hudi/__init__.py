"""`pme.hudi.check`: what anyone can read of a Hudi table's protected columns, without a key, a JVM, Spark or Hudi.

Start at `check`, which searches a `table`. `properties` reads what the table says of itself, and knows which columns
matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import names_of, path_of
from pme_parquet._audience import Words
from pme_parquet._checks.results import HudiCheck

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import PathLike

__all__ = ["HudiCheck", "check"]

_WHERE = Words("pme.hudi.check")


def check(
    path: PathLike,
    columns: str | Iterable[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    *,
    spark: SparkSession | None = None,
) -> HudiCheck:
    """Search a Hudi table for what anyone who can read the storage learns of its protected columns.

    It looks at every file below the path, live or not: data, log files, the timeline, and the metadata table with its
    statistics and indexes. It follows no link. The result contains no value of the table.

    Example:
        found = pme.hudi.check("s3://bucket/people", columns=["ssn", "address.city"])
        print(found)
        [finding for finding in found.findings if finding.severity == "high"]

    Args:
        path: the table's directory; a local path, or a URL of any file system that fsspec supports.
        columns: the protected columns; a struct names the columns in it. By default those that readable footers say
            are encrypted, and all columns if there is no such footer.
        storage_options: credentials and endpoints for fsspec; by default its packages find their own.
        spark: a session whose settings of file systems are used otherwise; both as in `pme.inspect`.

    Raises:
        BadOptionError: there is nothing at the path, or no Hudi table, or `columns` is empty.
        UnsupportedError: the package for the file system is not installed, or a setting of the session has no
            counterpart; the message names it.
        PmeError: the storage cannot list the path. A file that cannot be read is a finding.
    """
    from pme_parquet._access import access  # noqa: PLC0415 nothing that is not needed at import
    from pme_parquet._checks.hudi.table import searched  # noqa: PLC0415 as above

    where = path_of(path, _WHERE)
    reached = access(where, storage_options, spark, _WHERE)
    return searched(where, None if columns is None else names_of(columns), reached, _WHERE)
