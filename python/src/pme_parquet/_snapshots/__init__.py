"""`pme.snapshots` and `pme.describe_index`: a sealed table's versions, without a key, a JVM or Spark.

Start at `snapshots`.

`listing` finds, reads and compares manifests; `fields` reads JSON strictly, and `manifest` what a version states with
it, as `version` defines it. `results` has the answers and shows them.
docs/snapshot-format.md specifies the format. Seals are not checked here: the connector does that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import path_of
from pme_parquet._audience import Words
from pme_parquet._snapshots.results import Indexes, Snapshots
from pme_parquet._snapshots.version import Index, SnapshotVersion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import PathLike

__all__ = ["Index", "Indexes", "SnapshotVersion", "Snapshots", "describe_index", "snapshots"]


def snapshots(
    path: PathLike,
    *,
    location: PathLike | None = None,
    storage_options: Mapping[str, Any] | None = None,
    spark: SparkSession | None = None,
) -> Snapshots:
    """List the snapshots of a sealed table, without any key.

    It checks the form of each version, that each version names the one before it, and that no part is missing and no
    version between two others. It checks no seal: anyone who can write to the storage can forge what a version states.
    A read with `snapshot=require`, or `pme.verify`, checks the seal.

    Example:
        versions = pme.snapshots("s3://bucket/people")
        print(versions)
        versions[-1].digest

    Args:
        path: the table's directory; a local path, or a URL of any file system that fsspec supports.
        location: the directory of the snapshots, if it is not `_pme_snapshots` in the table's directory.
        storage_options: credentials and endpoints for fsspec; by default its packages find their own.
        spark: a session whose settings of file systems are used otherwise; both as in `pme.inspect`.

    Returns:
        The versions, the oldest first; empty if the table is not sealed. A version that is damaged is one of the
        `problems`, and the others are listed.

    Raises:
        BadOptionError: there is no table at the path, or nothing at the location.
        UnsupportedError: the package for the file system is not installed, or a setting of the session has no
            counterpart; the message names it.
        PmeError: the storage cannot list the directory.
    """
    from pme_parquet._access import access  # noqa: PLC0415 nothing that is not needed at import
    from pme_parquet._snapshots.listing import listed  # noqa: PLC0415 as above

    where = Words("pme.snapshots")
    elsewhere = None if location is None else path_of(location, f"{where}(location)")
    table = path_of(path, where)
    reached = access(elsewhere or table, storage_options, spark, where)
    return replace(listed(table, elsewhere, reached.options), storage=reached.words)


def describe_index(
    path: PathLike,
    *,
    location: PathLike | None = None,
    storage_options: Mapping[str, Any] | None = None,
    spark: SparkSession | None = None,
) -> Indexes:
    """List the indexes of a sealed table, as its newest snapshot states them, without any key.

    It checks no seal: anyone who can write to the storage can forge what a version states.

    Example:
        print(pme.describe_index("s3://bucket/people"))

    Args:
        path: as for `snapshots`.
        location: as for `snapshots`.
        storage_options: as for `snapshots`.
        spark: as for `snapshots`.

    Returns:
        The indexes; empty if the table has none or has no snapshot.

    Raises:
        BadOptionError: there is no table at the path, or nothing at the location.
        SnapshotDamagedError: the newest version is damaged.
        UnsupportedError: the newest version has a newer format, or as for `snapshots`.
        PmeError: the storage cannot list the directory or read the version.
    """
    from pme_parquet._access import access  # noqa: PLC0415 as above
    from pme_parquet._snapshots.listing import newest  # noqa: PLC0415 as above
    from pme_parquet._storage import shown  # noqa: PLC0415 nothing that is not needed at import

    where = "pme.describe_index"
    elsewhere = None if location is None else path_of(location, f"{where}(location)")
    table = path_of(path, where)
    reached = access(elsewhere or table, storage_options, spark, where)
    version = newest(table, elsewhere, reached.options)
    if version is None:
        return Indexes(shown(table), None, (), reached.words)
    return Indexes(shown(table), version.version, version.indexes, reached.words)
