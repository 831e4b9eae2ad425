"""`pme.iceberg.check`: what anyone can read of an Iceberg table, without a key, a JVM, Spark or a catalog.

Start at `check`, which searches a `table`. `metadata` reads what `metadata.json` says, and `avro` reads manifests.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import path_of
from pme_parquet._audience import Words
from pme_parquet._checks.results import IcebergCheck

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import PathLike

__all__ = ["IcebergCheck", "check"]

_WHERE = Words("pme.iceberg.check")


def check(
    path: PathLike, storage_options: Mapping[str, Any] | None = None, *, spark: SparkSession | None = None
) -> IcebergCheck:
    """Search an Iceberg table for what anyone who can read the storage learns.

    A table whose property `encryption.key-id` names a key may be plaintext: many catalogs ignore the property. This
    looks at every file below the table's directory, and at what metadata and manifests say, as far as they are
    readable. It needs the package `fastavro` (`pip install fastavro`), and no key. The result contains no
    value of the table.

    Example:
        found = pme.iceberg.check("s3://bucket/warehouse/db/people")
        print(found)
        [finding for finding in found.findings if finding.severity == "high"]

    Args:
        path: the table's directory, in which `metadata` is; a local path, or a URL of any file system that fsspec
            supports.
        storage_options: credentials and endpoints for fsspec; by default its packages find their own.
        spark: a session whose settings of file systems are used otherwise; both as in `pme.inspect`.

    Raises:
        BadOptionError: there is nothing at the path, or no Iceberg table.
        UnsupportedError: `fastavro`, or the package for the file system, is not installed, or a setting of the session
            has no counterpart; the message names it.
        PmeError: the storage cannot list the path. A file that cannot be read is a finding.
    """
    from pme_parquet._access import access  # noqa: PLC0415 nothing that is not needed at import
    from pme_parquet._checks.iceberg.table import searched  # noqa: PLC0415 as above
    from pme_parquet._storage import no_package  # noqa: PLC0415 as above

    where = path_of(path, _WHERE)
    if importlib.util.find_spec("fastavro") is None:
        raise no_package(_WHERE, "fastavro")
    return searched(where, access(where, storage_options, spark, _WHERE), _WHERE)
