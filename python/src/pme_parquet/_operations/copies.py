"""Copies of tables: re-encrypted, encrypted or decrypted; and encryption in place."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import options_of, path_of
from pme_parquet._audience import Words
from pme_parquet._encryption import Encryption, encryption_of
from pme_parquet._operations.operation import Operation, error_of, result_of
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike

_IN_PLACE = Words("in_place=True", "--in-place")
_RESUMABLE = "each file is either encrypted or unchanged. Run it again with the same arguments to continue."
_NO_TARGET = "no target was written, and the source is unchanged. Run it again; it starts from the beginning."


@dataclass(frozen=True)
class FailedFile:
    """A file that could not be encrypted in place, or an encrypted one that failed verification. It is unchanged.

    Attributes:
        file: its path.
        condition: the condition of the error, or the name of the storage's exception.
        message: what is wrong, why, and what to do.
    """

    file: str
    condition: str
    message: str


@dataclass(frozen=True)
class Copied:
    """What was written.

    Attributes:
        files: number of files written.
        rows: number of their rows.
        pages: number of their pages; of ORC files, of their encrypted streams.
        bytes: their size.
        already: in place only: number of files that were already encrypted. All their modules were verified, too.
        failed: in place only: files that failed and are unchanged. When a copy fails, there is no copy.
    """

    files: int
    rows: int
    pages: int
    bytes: int
    already: int = 0
    failed: tuple[FailedFile, ...] = ()


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
    failed = tuple(result_of(FailedFile, one) for one in done.failed())
    report = result_of(Copied, done.made(), already=done.already(), failed=failed)
    if failed:
        count = len(failed) + report.files + report.already
        others = (
            f"{len(failed)} of {count} files failed and are unchanged; the report of this error lists them. Run this "
            "again with the same arguments to continue with them."
        )
        raise error_of(failed[0], "encrypted", others, report)
    return report


def rekey(  # noqa: PLR0913 source and target, and their keys
    spark: SparkSession,
    source: PathLike,
    target: PathLike,
    enc: Encryption,
    kms: KmsLike | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> Copied:
    """Copy a table with new data keys, and with the keys, columns and modes of `enc`, without decoding it.

    Pages are decrypted and encrypted, but not decompressed. Schema, metadata, statistics, indexes, Bloom filters and
    partition directories stay the same. Every new file is verified with its new keys before `target` appears, in one
    step.

    Example:
        pme.rekey(spark, "/data/people", "/data/people-2", pme.Encryption(kms=keys, uniform_key="k"), kms=old_keys)

    Args:
        spark: a classic session; what runs is a Spark job of one task per file.
        source: the table's directory, or a file.
        target: a new or empty directory.
        enc: how to encrypt the copy.
        kms: the KMS of the source; by default that of `enc`.
        options: options for reading the source: `aadPrefix`, `plaintextFiles`, `clearLevels` and others.
        progress: whether to show progress; by default on a terminal and in a notebook.

    Raises:
        PmeError: something is wrong with the source, the keys or the target. No target is written then.
    """
    writing = encryption_of(enc, Words("pme.rekey")).options()
    return _copied(spark, "rekey", progress, source, target, _reading(enc, kms, options, Words("pme.rekey")), writing)


def encrypt(  # noqa: PLR0913 as above
    spark: SparkSession,
    source: PathLike,
    target: PathLike | None = None,
    enc: Encryption | None = None,
    kms: KmsLike | None = None,
    *,
    in_place: bool = False,
    options: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> Copied:
    """Encrypt a plaintext Parquet table without decoding it, to a copy or in place.

    A copy works like `rekey` with `plaintextFiles=allow`: files of the source that are already encrypted get new keys.

    In place, each file is replaced in one step, after every module of the encrypted file was verified. If a run is
    killed, or files fail, run it again with the same arguments to continue. Files that are already encrypted must match
    `enc`; they are verified and not changed.

    Example:
        pme.encrypt(spark, "/data/people", "/data/people-encrypted", pme.Encryption(kms=keys, footer_key="footer"))
        pme.encrypt(spark, "/data/people", enc=pme.Encryption(kms=keys, footer_key="footer"), in_place=True)

    Args:
        spark: a classic session; what runs is a Spark job of one task per file.
        source: the table's directory, or a file. A copy does not change it; delete it when you trust the copy.
        target: a new or empty directory; none with `in_place`.
        enc: how to encrypt the files.
        kms: the KMS of encrypted files of the source; by default that of `enc`. For a copy only.
        in_place: whether the encrypted files replace the plaintext files, each after its copy is verified.
        options: options for reading the source. With `in_place`, options that also apply to writing, such as
            `algorithm`, are refused.
        progress: whether to show progress; by default on a terminal and in a notebook.

    Raises:
        PmeError: something is wrong with the source, the keys or the target. No target is written then. In place, files
            that failed are unchanged, and the `report` of the error lists them.
    """
    if enc is None:
        message = "encrypt: enc is missing. Give an Encryption, which names the keys."
        raise BadOptionError(message)
    writing = encryption_of(enc, Words("pme.encrypt")).options()
    if in_place:
        check_in_place(source, target, kms)
        reading = options_of(options, Words("pme.encrypt"))
        return encrypt_in_place(spark, path_of(source, Words("pme.encrypt")), reading, writing, progress)
    if target is None:
        option = Words("set in_place=True", "give --in-place")
        message = f"encrypt: there is no target, and in_place is not set. Name a target directory, or {option}."
        raise BadOptionError(message)
    return _copied(
        spark, "encrypt", progress, source, target, _reading(enc, kms, options, Words("pme.encrypt")), writing
    )


def decrypt(  # noqa: PLR0913 as above
    spark: SparkSession,
    source: PathLike,
    target: PathLike,
    kms: KmsLike,
    *,
    write_plaintext: bool = False,
    options: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> Copied:
    """Copy an encrypted table to a plaintext table without decoding it.

    Example:
        pme.decrypt(spark, "/data/people", "/data/people-open", keys, write_plaintext=True)

    Args:
        spark: a classic session; what runs is a Spark job of one task per file.
        source: the table's directory, or a file.
        target: a new or empty directory.
        kms: the KMS of the source.
        write_plaintext: must be true, so that nobody decrypts a table by accident.
        options: options for reading the source.
        progress: whether to show progress; by default on a terminal and in a notebook.

    Raises:
        PmeError: something is wrong with the source, the keys or the target, or `write_plaintext` is not set. No target
            is written then.
    """
    reading = _reading(Encryption(kms=kms), None, options, Words("pme.decrypt"))
    return _copied(spark, "decrypt", progress, source, target, reading, write_plaintext)


def _reading(enc: Encryption, kms: KmsLike | None, options: Mapping[str, Any] | None, where: str) -> dict[str, str]:
    reader = enc if kms is None else Encryption(kms=kms)
    return reader._kms_options() | options_of(options, where)  # noqa: SLF001 ours


def _copied(
    spark: SparkSession,
    what: str,
    progress: bool | None,  # noqa: FBT001 as in its callers
    source: PathLike,
    target: PathLike,
    *arguments: Any,  # noqa: ANN401 arguments of py4j
) -> Copied:
    copy = Operation(spark, Words(f"pme.{what}"), "TableCopies", what)
    done = copy.run(copy.path(source), copy.path(target), *arguments, progress=progress, interrupted=_NO_TARGET)
    return result_of(Copied, done, already=0, failed=())
