"""The use of master keys: which of them protects what in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._audience import Words
from pme_parquet._operations.operation import Operation
from pme_parquet._operations.tables import told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from pme_parquet._arguments import KmsLike, PathLike

_WHERE = Words("pme.key_usage")
_UNCHANGED = "nothing was changed."


def key_usage(
    spark: SparkSession,
    path: PathLike,
    *,
    kms: KmsLike | None = None,
    options: Mapping[str, Any] | None = None,
    progress: bool | None = None,
) -> DataFrame:
    """List the master keys of a table, what each protects, and what would be unreadable without it.

    Example:
        pme.key_usage(spark, path, kms=keys).show()

    There is a row for each master key, version (if the KMS stores it in wrapped keys, as Vault does), kind and
    wrapping. `columns`, `bytes` and `rows` are what the key protects. `unreadable_files` and `unreadable_columns` are
    what nobody could read without it; without the key of a footer, that is the whole file. `unreadable_in_some_files`
    lists columns that are in plaintext in other files. `bytes` is the size of column chunks, or null if a key that
    would show it is missing; `problems` lists the conditions. `data_key_bits` and `kek_bits` are lengths of data keys
    and key-encryption keys, if the length of the wrapped key shows them.

    Rows without a key come first: `plaintext column` for readable columns of encrypted files, with the number of these
    files, and `plaintext` for files that are not encrypted.

    `part` is null, except in Delta tables: `live`, `not live` (files of older versions and others that the newest
    version does not have), `change data` or `checkpoint`. A master key is needed as long as any part has it. The
    session's Delta says which files are live; in a session without Delta, the package `deltalake` does.

    Args:
        spark: a classic session.
        path: a table's directory, with its partitions, or one file.
        kms: the KMS of the master keys; by default that of the session. Without one, the result has only what is
            visible without keys.
        options: options for reading: `aadPrefix` for files that do not contain it.
        progress: whether to show progress; by default on a terminal and in a notebook.

    Raises:
        UnsupportedError: which files are part of the table is not known, as for `pme.verify`.
    """
    usage = Operation(spark, _WHERE, "KeyUsage", "of")
    where, reading = usage.path(path), usage.reading(kms, options)
    found = told(spark, where, reading, _WHERE)
    jdf = usage.run(where, reading, found, progress=progress, interrupted=_UNCHANGED)
    return usage.frame(jdf)
