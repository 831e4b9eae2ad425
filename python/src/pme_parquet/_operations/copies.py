"""Copies of tables: re-encrypted, encrypted or decrypted; and encryption in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import options_of, path_of
from pme_parquet._audience import Words
from pme_parquet._encryption import Encryption, encryption_of
from pme_parquet._operations.copied import Copied
from pme_parquet._operations.in_place import check_in_place, encrypt_in_place
from pme_parquet._operations.operation import Operation
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike


_NO_TARGET = "no target was written, and the source is unchanged. Run it again; it starts from the beginning."


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
        in_place: whether the encrypted files replace the plaintext files.
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
    return Copied(done.files(), done.rows(), done.pages(), done.bytes())
