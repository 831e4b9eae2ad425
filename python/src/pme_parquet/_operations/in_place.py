"""Encryption of a table in place, file by file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pme_parquet._audience import Words
from pme_parquet._operations.copied import Copied, FailedFile
from pme_parquet._operations.failed import error_of
from pme_parquet._operations.operation import Operation
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike

_IN_PLACE = Words("in_place=True", "--in-place")
_RESUMABLE = "each file is either encrypted or unchanged. Run it again with the same arguments to continue."


def check_in_place(source: PathLike, target: PathLike | None, kms: KmsLike | None) -> None:
    """Refuses arguments for copies: a target, and a KMS for the source."""
    if target is not None and os.fspath(target) != os.fspath(source):
        message = f"encrypt: {_IN_PLACE} takes no target: files stay where they are. Remove {os.fspath(target)!r}."
        raise BadOptionError(message)
    if kms is not None:
        message = (
            f"encrypt: {_IN_PLACE} takes no kms: it does not change files that are already encrypted. To give them "
            "new keys, encrypt to a copy."
        )
        raise BadOptionError(message)


def encrypt_in_place(
    spark: SparkSession,
    source: str,
    reading: dict[str, str],
    writing: dict[str, str],
    progress: bool | None,  # noqa: FBT001 as in its caller
) -> Copied:
    """Replaces each plaintext file by an encrypted one.

    Raises:
        PmeError: some files failed; the `report` of the error lists them.
    """
    encryption = Operation(spark, Words("pme.encrypt"), "TableCopies", "encryptInPlace")
    done = encryption.run(source, reading, writing, progress=progress, interrupted=_RESUMABLE)
    made = done.made()
    failed = tuple(FailedFile(one.file(), one.condition(), one.message()) for one in done.failed())
    report = Copied(made.files(), made.rows(), made.pages(), made.bytes(), done.already(), failed)
    if failed:
        count = len(failed) + report.files + report.already
        others = (
            f"{len(failed)} of {count} files failed and are unchanged; the report of this error lists them. Run this "
            "again with the same arguments to continue with them."
        )
        raise error_of(failed[0], "encrypted", others, report)
    return report
