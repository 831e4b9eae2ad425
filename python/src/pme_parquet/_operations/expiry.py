"""Expiry: deletes old versions of a sealed table, and the parts of lists that no version needs any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import joined, kind
from pme_parquet._display.words import number
from pme_parquet._operations.operation import Operation
from pme_parquet._operations.sealing import own_options
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike

_WHERE = "pme.expire_snapshots"
_INTERRUPTED = (
    "some old versions are deleted. The newest one is there, and the data was not changed. Run it again to continue."
)
_MOST = 2**31 - 1


@dataclass(frozen=True)
class ExpiredSnapshots:
    """What `expire_snapshots` deleted. `print(expired)` shows it.

    Attributes:
        versions: number of versions.
        parts: number of files of their lists and of their indexes.
    """

    versions: int
    parts: int

    def __str__(self) -> str:
        return f"deleted {number(self.versions, 'version')} and {number(self.parts, 'part')}"


def expire_snapshots(  # noqa: PLR0913 what to expire, with which keys, and where
    spark: SparkSession,
    path: PathLike,
    *,
    keep: int,
    kms: KmsLike | None = None,
    options: Mapping[str, Any] | None = None,
    location: PathLike | None = None,
) -> ExpiredSnapshots:
    """Delete old versions of a sealed table, and the parts of their lists that no other version needs.

    Data files do not change, and the newest version always stays. The seals of all versions that stay are checked
    first: if one does not match, nothing is deleted. Files that no version names are left for 24 hours, because another
    process may be sealing the table.

    Example:
        print(pme.expire_snapshots(spark, "people", keep=10, kms=keys))

    Args:
        spark: a classic session. Over Spark Connect it raises `UnsupportedError`, as the other operations do.
        path: the table's directory.
        keep: number of newest versions that stay, at least 1.
        kms: the KMS of the master keys; by default that of the session.
        options: options for reading. A signed table needs its `verifyKey`.
        location: the directory of the snapshots, if it is not `_pme_snapshots` in the table's directory.

    Raises:
        BadOptionError: the table has no snapshot, or `keep` is not a number from 1.
        SnapshotNotAuthenticError: the seal of a version that stays does not match. Nothing was deleted.
        PmeError: something is wrong with the arguments, the keys or the storage.
    """
    expiry = Operation(spark, _WHERE, "seal.SnapshotVersions", "expire")
    given: object = keep
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        shown = str(given) if isinstance(given, int) else kind(given)
        message = f"{_WHERE}: keep cannot be {shown}. Give the number of newest versions to keep, at least 1."
        raise BadOptionError(message)
    reading = joined(own_options(_WHERE, location=location), expiry.reading(kms, options), _WHERE)
    done = expiry.run(expiry.path(path), reading, min(keep, _MOST), progress=False, interrupted=_INTERRUPTED)
    return ExpiredSnapshots(versions=done.versions(), parts=done.parts())
