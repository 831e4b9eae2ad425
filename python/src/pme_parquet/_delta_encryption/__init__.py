"""`pme.delta.encrypt_table` and `pme.delta.rotate`: Delta tables that Spark changes, by `DeltaEncryption` in Scala."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pme_parquet._arguments import path_of
from pme_parquet._audience import Words
from pme_parquet._delta_encryption.encrypted import EncryptedTable
from pme_parquet._spark.driver import method_of
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pme_parquet._arguments import PathLike
    from pme_parquet._encryption import Encryption

__all__ = ["EncryptedTable", "encrypt_table", "rotate"]


def encrypt_table(spark: SparkSession, table: PathLike, enc: Encryption) -> EncryptedTable:
    """Encrypt a Delta table: set the keys in its properties, turn off statistics, and rewrite its live files.

    The session encrypts what Delta writes (docs/delta.md): it has our extension and crypto factory, a KMS and a footer
    key. Everything is checked before anything changes, also that the KMS can wrap with each key. Files are rewritten by
    OPTIMIZE, in one commit that changes no row: streams and change data do not see it, and writes of other sessions are
    not lost. Afterwards the footers of all live files were opened, and rows of the version before and after compared.
    If a run is killed, run it again; it continues, and it does nothing if there is nothing to do.

    Columns without a key of their own are under the footer key, and have no statistics, unless
    `unlisted_columns="plaintext"`. The result says what older versions leave readable, and how to remove it.

    Example:
        enc = pme.Encryption(footer_key="footer", column_keys={"pii": ["ssn"]}, unlisted_columns="plaintext")
        print(pme.delta.encrypt_table(spark, "people", enc))

    Args:
        spark: a classic session.
        table: the table's name or its directory.
        enc: the keys. Its `kms`, if it has one, must be that of the session. Attributes that table properties cannot
            have, such as `aad_prefix`, must be set in the session, too.

    Raises:
        UnsupportedError: the session would not encrypt; or the log or names of directories would show values of a
            protected column: a partition or clustering column, a generated column, a CHECK constraint, a default.
        BadOptionError: there is no such table, it has other keys, or `enc` and the session differ.
        UnknownColumnError: a pattern of `column_keys` matches no column.
        PlaintextFileError: another session kept writing files without these keys; run it again.
        PmeError: the KMS cannot wrap with a key. Nothing was changed then.
    """
    return _changed(spark, table, enc, "encrypt", Words("pme.delta.encrypt_table"))


def rotate(spark: SparkSession, table: PathLike, enc: Encryption) -> EncryptedTable:
    """Rotate the keys of an encrypted Delta table: to other master keys, or to new versions of them.

    Delta keeps the lengths of files, so no file is changed: all live files are rewritten with new data keys, in one
    commit that changes no row. Versions from before stay readable with the old keys, until VACUUM deletes their files.

    Example:
        pme.delta.rotate(spark, "people", pme.Encryption(footer_key="footer", column_keys={"pii-2027": ["ssn"]}))

    Args:
        spark: a classic session, as for `encrypt_table`.
        table: the table's name or its directory.
        enc: the keys from now on; also if they are the same, and only have new versions.

    Raises:
        PmeError: as `encrypt_table`; and `BadOptionError` if the table has no keys.
    """
    return _changed(spark, table, enc, "rotate", Words("pme.delta.rotate"))


def _changed(spark: SparkSession, table: PathLike, enc: Encryption, how: str, where: str) -> EncryptedTable:
    from pme_parquet._checks.delta import check  # noqa: PLC0415 nothing that is not needed at import
    from pme_parquet._encryption import encryption_of  # noqa: PLC0415 as above

    options = encryption_of(enc, where).options()
    done = json.loads(method_of(spark, "DeltaEncryption", how, where)(_named(table, where), options))
    columns = done.pop("named")
    try:
        checked, why = check(done["path"].removeprefix("file:"), columns, spark=spark), ""
    except (PmeError, ImportError) as failed:
        checked, why = None, str(failed).partition("\n")[0]
    for name in ("readable", "left", "statements"):
        done[name] = tuple(done[name])
    return EncryptedTable(**done, check=checked, not_checked=why)


def _named(table: PathLike, where: str) -> str:
    """The table as the connector takes it: a name, or Delta's form of a path."""
    if isinstance(table, str) and table and "/" not in table and not Path(table).is_dir():
        return table
    text = path_of(table, where)
    return text if text.startswith("delta.`") else f"delta.`{text.replace('`', '``')}`"
