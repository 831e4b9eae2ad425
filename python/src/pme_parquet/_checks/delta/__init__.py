"""`pme.delta.check`: what anyone can read of a Delta table's protected columns, without a key, a JVM or Spark.

Start at `check`, which searches a `table`. `_delta_log` copies the log, and asks the package `deltalake` which files
are live; `data` looks at the files; `protected` says which columns are protected, and `columns` knows all of their
names; `actions` and `checkpoints` search the log; `opened` is what a session adds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import names_of, path_of
from pme_parquet._audience import Words
from pme_parquet._checks.results import DeltaCheck
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike

__all__ = ["DeltaCheck", "check"]

_WHERE = Words("pme.delta.check")


def check(
    path: PathLike,
    columns: str | Iterable[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    *,
    spark: SparkSession | None = None,
    kms: KmsLike | None = None,
) -> DeltaCheck:
    """Search a Delta table for what anyone who can read the storage learns of its protected columns.

    It looks at every file below the path: commits, `.crc` files, checkpoints, data, change data, and files that are no
    longer live. It follows no link and no path out of the table. Which files are live is what the package `deltalake`
    says (`pip install deltalake`). The result contains no value of the table.

    Without a session it needs no key, and starts no JVM. Two things are then findings, since it cannot know them: which
    columns are encrypted in a file whose encrypted footer hides that, and which files are live behind an encrypted
    checkpoint. With a session, executors open these footers with the session's KMS or `kms`, and the session's Delta
    says what `deltalake` cannot. Use a session for a table that `encrypt_table` has encrypted.

    Example:
        found = pme.delta.check("s3a://bucket/people", columns=["ssn", "address.city"], spark=spark)
        print(found)
        [finding for finding in found.findings if finding.severity == "high"]

    Args:
        path: the table's directory; a local path, or a URL of any file system that fsspec supports.
        columns: the protected columns, by logical names; a struct names the columns in it. By default those that a
            live file encrypts, and those of the property `parquet.encryption.column.keys`; all columns in files, if
            `complete.columns` is true as well; all columns, if a live file has an encrypted footer that was not
            opened, and no property says which.
        storage_options: credentials and endpoints for fsspec; by default its packages find their own. With them, the
            check does not use the session, which may reach another storage.
        spark: a classic session, for the above. Without `storage_options`, its settings of file systems are used; both
            as in `pme.inspect`.
        kms: the KMS of the master keys, for the session; by default the one of its crypto factory.

    Raises:
        BadOptionError: there is nothing at the path, or no Delta table, or a column's name is none, or `kms` comes
            without a session.
        UnknownColumnError: a named column is in no schema of the table.
        UnsupportedError: `deltalake` is not installed and there is no session, or the package for the file system is
            not installed, or a setting of the session has no counterpart; the message names it.
        PmeError: the storage cannot list the path. A file that cannot be read is a finding.
    """
    from pme_parquet._access import access  # noqa: PLC0415 nothing that is not needed at import
    from pme_parquet._checks.delta.table import searched  # noqa: PLC0415 as above
    from pme_parquet._delta_log.live import BY, is_installed  # noqa: PLC0415 as above
    from pme_parquet._storage import no_package  # noqa: PLC0415 as above

    where, opener = path_of(path, _WHERE), None
    if spark is not None and storage_options is None:
        from pme_parquet._checks.delta.opened import Opener  # noqa: PLC0415 as above

        opener = Opener(spark, where, kms, _WHERE)
    elif kms is not None:
        what = "spark is missing" if spark is None else "storage_options reach the storage without it"
        raise BadOptionError(f"{_WHERE}: kms is for a session, and {what}. Leave out kms, or give only spark with it.")
    elif not is_installed():
        raise no_package(_WHERE, BY)
    reached = access(where, storage_options, spark, _WHERE)
    return searched(where, None if columns is None else names_of(columns), reached, _WHERE, opener)
