"""Writes and reads tables so that nobody can forget the format, and shows what a write would encrypt.

Writes and reads pass options only, so Spark Connect will do. In a classic session a write looks at the keys of the
table first.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Literal

from pme_parquet._arguments import joined, kms_options, names_of, options_of, path_of
from pme_parquet._audience import Words
from pme_parquet._encryption import Encryption, encryption_of
from pme_parquet._operations.operation import Operation
from pme_parquet._plan import Plan, planned
from pme_parquet._spark.connector import explained
from pme_parquet._spark.errors import install_errors
from pme_parquet.errors import BadOptionError, NoKeyError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from pme_parquet._arguments import KmsLike, PathLike

_FORMAT = "pme-parquet"
Mode = Literal["error", "errorifexists", "append", "overwrite", "ignore"]


def write(  # noqa: PLR0913 as in Spark's writer
    df: DataFrame,
    path: PathLike,
    enc: Encryption,
    *,
    mode: Mode = "error",
    partition_by: str | Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> None:
    """Write a frame as an encrypted table.

    `df.write.format("pme-parquet").options(**enc.options())` writes the same and has more settings. Without its
    `format` it would write plaintext, unless the session refuses that.

    Example:
        pme.write(df, "people", enc, mode="overwrite", partition_by=["day"])

    Args:
        df: the DataFrame to write, of a classic session or of Spark Connect.
        path: the table's directory.
        enc: which keys protect what. If it names no keys, the write takes those that the newest snapshot of the table
            states, and logs them.
        mode: what happens if the path exists: `error`, `append`, `overwrite` or `ignore`.
        partition_by: columns whose values become directory names, which are not encrypted.
        options: more options of the write, such as `{"compression": "zstd"}`.

    Raises:
        PmeError: something is wrong with the keys, the options or the session. Nothing was written.
    """
    where = "pme.write"
    install_errors()
    target = path_of(path, where)
    given = joined(encryption_of(enc, where).options(), options_of(options, where), where)
    given |= _keys_of_table(df.sparkSession, target, given, where, is_append=mode == "append")
    writer = df.write.format(_FORMAT).options(**given).mode(mode)
    columns = names_of(partition_by)
    if columns:
        writer = writer.partitionBy(*columns)
    with explained(df.sparkSession, where):
        writer.save(target)


def _keys_of_table(
    spark: SparkSession, path: str, options: dict[str, str], where: str, *, is_append: bool
) -> dict[str, str]:
    """The keys that the table's newest snapshot states, if the write names none; and a warning if it names others.

    Over Spark Connect there is neither: the write itself refuses to go on without keys.
    """
    if not _is_classic(spark):
        return {}
    stated = Operation(spark, where, "TableKeys", "ofSnapshot").call(path, options)
    keys = json.loads(stated) if stated else {}
    if is_append and not keys:
        Operation(spark, where, "TableKeys", "warnOfOthers").call(path, options)
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in keys.items()}


def _is_classic(spark: object) -> bool:
    classic = getattr(sys.modules.get("pyspark.sql.session"), "SparkSession", ())
    return isinstance(spark, classic) and hasattr(spark, "_jsparkSession")


def read(
    spark: SparkSession,
    path: PathLike,
    kms: Encryption | KmsLike | None = None,
    *,
    schema: StructType | str | None = None,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Read an encrypted table.

    `spark.read.format("pme-parquet").options(**keys.options())` reads the same and has more settings.

    Example:
        pme.read(spark, "people", kms=keys).where("id = 2").show()

    Args:
        spark: a classic session, or one of Spark Connect.
        path: a table's directory, or one file.
        kms: the KMS of the master keys; by default that of the session. Or an `Encryption`, whose keys and AAD prefix
            the files must then have.
        schema: the schema, if it is not to be read from the files.
        options: more options of the read, such as `{"mergeSchema": True}`.

    Raises:
        PmeError: something is wrong with the keys, the options or the session. Files are checked when rows are read.
    """
    where = "pme.read"
    install_errors()
    keys = kms.options() if isinstance(kms, Encryption) else kms_options(kms, where)
    reader = spark.read.format(_FORMAT).options(**joined(keys, options_of(options, where), where))
    if schema is not None:
        reader = reader.schema(schema)
    with explained(spark, where):
        return reader.load(path_of(path, where))


def plan(df: DataFrame, enc: Encryption, *, partition_by: str | Sequence[str] = ()) -> Plan:
    """Shows which leaf column would get which key if `df` were written with `enc`, and writes nothing.

    The connector decides as it does in a write, including settings of the session. It needs only the schema of `df`:
    no job runs. The KMS is not called, so check with `pme.doctor` that it has the keys. Secrets are read, and a
    keystore's file must exist.

    Example:
        plan = pme.plan(df, enc, partition_by="day")
        print(plan)
        assert not plan.refusals

    Args:
        df: what is to be written.
        enc: how.
        partition_by: as `df.write.partitionBy` takes it.

    Raises:
        PmeError: the options cannot be used; the write would say the same.
        UnsupportedError: a column has a type that Spark writes to no Parquet file, or the session is Spark Connect's.
    """
    return planned(df, encryption_of(enc, Words("pme.plan")).options(), names_of(partition_by))


def plan_of_table(
    spark: SparkSession, path: PathLike, enc: Encryption, *, partition_by: str | Sequence[str] = ()
) -> Plan:
    """The plan of a write of what is in a plaintext table.

    Args:
        spark: a classic session.
        path: a table's directory, with its partitions, or one file.
        enc: how to encrypt what is written.
        partition_by: columns to partition the new table by.

    Raises:
        BadOptionError: the table's footers are already encrypted.
    """
    table = path_of(path, "plan")
    install_errors()
    try:
        df = spark.read.parquet(table)
    except NoKeyError as failed:
        message = (
            f"{table}: no write of it can be planned: it is already encrypted. pme-parquet inspect shows which keys "
            "protect it; with keys, key-usage shows which columns."
        )
        raise BadOptionError(message) from failed
    return plan(df, enc, partition_by=partition_by)
