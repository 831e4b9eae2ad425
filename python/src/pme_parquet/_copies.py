"""Copies of tables: under new data keys, under the first, or under none."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import encryption_of, options_of, path_of
from pme_parquet._driver import method_of
from pme_parquet._encryption import Encryption
from pme_parquet._failed import error_of
from pme_parquet._progress import watched
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike, PathLike


_IN_PLACE = "each file is either encrypted or as it was. Run it again with the same arguments: it goes on."
_NO_TARGET = "there is no target, and the source is as it was. Run it again: it starts anew."


@dataclass(frozen=True)
class FailedFile:
    """A file that could not be encrypted in its place, or was encrypted before and did not pass; it is as it was.

    Attributes:
        file: where it is.
        condition: what went wrong, or the name of what storage threw.
        message: what is wrong, why, and what to do.
    """

    file: str
    condition: str
    message: str


@dataclass(frozen=True)
class Copied:
    """What was written of a table: files, their rows and pages, and their size.

    Attributes:
        files: how many were written.
        rows: of these.
        pages: of these.
        bytes: of these.
        already: in place, how many were encrypted before; all modules of these were opened, too.
        failed: in place, those that are as they were; else there are none, and no copy either.
    """

    files: int
    rows: int
    pages: int
    bytes: int
    already: int = 0
    failed: tuple[FailedFile, ...] = ()


def rekey(  # noqa: PLR0913 source and target, and how to open and to close them
    spark: SparkSession,
    source: PathLike,
    target: PathLike,
    enc: Encryption,
    kms: KmsLike | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> Copied:
    """Copy a table under new data keys, and the keys, column sets and modes of `enc`, without decoding it.

    Pages are decrypted and encrypted, never decompressed; schema, metadata, statistics, indexes, Bloom filters and
    partition directories stay as they are. Each new file is opened with its new keys before `target` comes into being,
    all at once.

    Example:
        pme.rekey(spark, "/data/people", "/data/people-2", pme.Encryption(kms=keys, uniform_key="k"), kms=old_keys)

    Args:
        spark: a classic session; what runs is a Spark job of one task per file.
        source: the table's directory, or a file.
        target: where there is nothing yet, or an empty directory.
        enc: how the copy is encrypted.
        kms: where the source's master keys live; those of `enc` if it is left out.
        options: of the format, to read the source with: `aadPrefix`, `plaintextFiles`, `clearLevels` and others.
        progress: whether to show how far it has come; by default on a terminal and in a notebook.

    Raises:
        PmeError: what is wrong with the source, the keys or the target. There is then no target.
    """
    writing = encryption_of(enc, "pme.rekey").options()
    return _copied(spark, "rekey", progress, source, target, _reading(enc, kms, options, "pme.rekey"), writing)


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
    """Encrypt a plaintext Parquet table, without decoding it: to a copy, or in place.

    A copy is as `rekey` with `plaintextFiles=allow`: files of the source that are encrypted already get new keys.

    In place, each file is replaced in one step, when every module of the encrypted one was opened. Where it was killed,
    or files failed, run it again with the same arguments: it goes on. Files that are encrypted already have to be as
    `enc` says; they are verified and left.

    Example:
        pme.encrypt(spark, "/data/people", "/data/people-encrypted", pme.Encryption(kms=keys, footer_key="footer"))
        pme.encrypt(spark, "/data/people", enc=pme.Encryption(kms=keys, footer_key="footer"), in_place=True)

    Args:
        spark: a classic session; what runs is a Spark job of one task per file.
        source: the table's directory, or a file. For a copy it is not touched; delete it when you trust the copy.
        target: where there is nothing yet, or an empty directory. In place there is none.
        enc: how the files are encrypted.
        kms: where the master keys of encrypted files live, if the source has any; those of `enc` if it is left out. For
            a copy only.
        in_place: whether the encrypted files take the place of the plaintext ones.
        options: of the format, to read the source with. In place none that a write goes by, too, as `algorithm` is.
        progress: whether to show how far it has come; by default on a terminal and in a notebook.

    Raises:
        PmeError: what is wrong with the source, the keys or the target. There is then no target. In place, files that
            could not be encrypted, or verified, are as they were, and the error's `report` tells which.
    """
    if enc is None:
        message = "encrypt: enc is missing, because nothing else says with which keys. Give an Encryption."
        raise BadOptionError(message)
    writing = encryption_of(enc, "pme.encrypt").options()
    if in_place:
        _check_in_place(source, target, kms)
        reading = options_of(options, "pme.encrypt")
        return _in_place(spark, path_of(source, "pme.encrypt"), reading, writing, progress)
    if target is None:
        message = "encrypt: there is no target, and in_place is not said. Name a new place, or set in_place=True."
        raise BadOptionError(message)
    return _copied(spark, "encrypt", progress, source, target, _reading(enc, kms, options, "pme.encrypt"), writing)


def _check_in_place(source: PathLike, target: PathLike | None, kms: KmsLike | None) -> None:
    if target is not None and os.fspath(target) != os.fspath(source):
        message = (
            f"encrypt: in_place=True has no target, because files stay where they are. Leave out {os.fspath(target)!r}."
        )
        raise BadOptionError(message)
    if kms is not None:
        message = (
            "encrypt: in_place=True takes no kms, because files that are encrypted already are left. "
            "Encrypt to a copy to give them new keys."
        )
        raise BadOptionError(message)


def _in_place(
    spark: SparkSession,
    source: str,
    reading: dict[str, str],
    writing: dict[str, str],
    progress: bool | None,  # noqa: FBT001 as its caller has it
) -> Copied:
    encryption = method_of(spark, "TableCopies", "encryptInPlace", "pme.encrypt")
    done = watched(
        spark,
        lambda: encryption(source, reading, writing),
        name="pme.encrypt",
        progress=progress,
        interrupted=_IN_PLACE,
    )
    made = done.made()
    failed = tuple(FailedFile(one.file(), one.condition(), one.message()) for one in done.failed())
    report = Copied(made.files(), made.rows(), made.pages(), made.bytes(), done.already(), failed)
    if failed:
        count = len(failed) + report.files + report.already
        others = (
            f"{len(failed)} of {count} files failed and are as they were, and the error's report lists them. "
            "Run this again with the same arguments: it goes on with these."
        )
        raise error_of(failed[0], "encrypted", others, report)
    return report


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
    """Copy an encrypted table to one that everybody can read, without decoding it.

    Example:
        pme.decrypt(spark, "/data/people", "/data/people-open", keys, write_plaintext=True)

    Args:
        spark: a classic session; what runs is a Spark job of one task per file.
        source: the table's directory, or a file.
        target: where there is nothing yet, or an empty directory.
        kms: where the source's master keys live.
        write_plaintext: must be true, so that nobody does this by accident.
        options: of the format, to read the source with.
        progress: whether to show how far it has come; by default on a terminal and in a notebook.

    Raises:
        PmeError: what is wrong with the source, the keys or the target, or `write_plaintext` was not said. There is
            then no target.
    """
    reading = _reading(Encryption(kms=kms), None, options, "pme.decrypt")
    return _copied(spark, "decrypt", progress, source, target, reading, write_plaintext)


def _reading(enc: Encryption, kms: KmsLike | None, options: Mapping[str, Any] | None, where: str) -> dict[str, str]:
    reader = enc if kms is None else Encryption(kms=kms)
    return reader._kms_options() | options_of(options, where)  # noqa: SLF001 ours


def _copied(
    spark: SparkSession,
    what: str,
    progress: bool | None,  # noqa: FBT001 as its callers have it
    source: PathLike,
    target: PathLike,
    *arguments: Any,  # noqa: ANN401 what py4j passes on
) -> Copied:
    name = f"pme.{what}"
    copy = method_of(spark, "TableCopies", what, name)
    places = path_of(source, name), path_of(target, name)
    done = watched(spark, lambda: copy(*places, *arguments), name=name, progress=progress, interrupted=_NO_TARGET)
    return Copied(done.files(), done.rows(), done.pages(), done.bytes())
