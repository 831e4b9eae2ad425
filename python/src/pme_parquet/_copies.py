"""Copies of tables: under new data keys, under the first, or under none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._driver import method_of
from pme_parquet._encryption import Encryption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._kms import Kms


@dataclass(frozen=True)
class Copied:
    """What was written of a table: files, their rows and pages, and their size."""

    files: int
    rows: int
    pages: int
    bytes: int


def rekey(  # noqa: PLR0913 source and target, and how to open and to close them
    spark: SparkSession,
    source: str,
    target: str,
    enc: Encryption,
    kms: Kms | str | None = None,
    *,
    options: Mapping[str, str] | None = None,
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

    Raises:
        PmeError: what is wrong with the source, the keys or the target. There is then no target.
    """
    return _copied(spark, "rekey", source, target, _reading(enc, kms, options), enc.options())


def encrypt(  # noqa: PLR0913 as above
    spark: SparkSession,
    source: str,
    target: str,
    enc: Encryption,
    kms: Kms | str | None = None,
    *,
    options: Mapping[str, str] | None = None,
) -> Copied:
    """Copy a plaintext Parquet table to an encrypted one, without decoding it.

    It is as `rekey` with `plaintextFiles=allow`: files of the source that are encrypted already get new keys.

    Example:
        pme.encrypt(spark, "/data/people", "/data/people-encrypted", pme.Encryption(kms=keys, footer_key="footer"))

    Args:
        spark: a classic session; what runs is a Spark job of one task per file.
        source: the table's directory, or a file. It is not touched; delete it when you trust the copy.
        target: where there is nothing yet, or an empty directory.
        enc: how the copy is encrypted.
        kms: where the master keys of encrypted files live, if the source has any; those of `enc` if it is left out.
        options: of the format, to read the source with.

    Raises:
        PmeError: what is wrong with the source, the keys or the target. There is then no target.
    """
    return _copied(spark, "encrypt", source, target, _reading(enc, kms, options), enc.options())


def decrypt(  # noqa: PLR0913 as above
    spark: SparkSession,
    source: str,
    target: str,
    kms: Kms | str,
    *,
    write_plaintext: bool = False,
    options: Mapping[str, str] | None = None,
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

    Raises:
        PmeError: what is wrong with the source, the keys or the target, or `write_plaintext` was not said. There is
            then no target.
    """
    return _copied(spark, "decrypt", source, target, _reading(Encryption(kms=kms), None, options), write_plaintext)


def _reading(enc: Encryption, kms: Kms | str | None, options: Mapping[str, str] | None) -> dict[str, str]:
    reader = enc if kms is None else Encryption(kms=kms)
    return reader._kms_options() | dict(options or {})  # noqa: SLF001 ours


def _copied(spark: SparkSession, what: str, *arguments: Any) -> Copied:  # noqa: ANN401 what py4j passes on
    done = method_of(spark, "TableCopies", what, f"pme.{what}")(*arguments)
    return Copied(done.files(), done.rows(), done.pages(), done.bytes())
