"""What a write of a frame would encrypt with which key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._arguments import names_of, path_of
from pme_parquet._audience import Words
from pme_parquet._encryption import Encryption, encryption_of
from pme_parquet._plan import Plan, planned
from pme_parquet._spark.errors import install_errors
from pme_parquet.errors import BadOptionError, NoKeyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from pme_parquet._arguments import PathLike


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


def frame_to_plan(spark: SparkSession, path: PathLike) -> DataFrame:
    """A plaintext table as a frame, to plan its write.

    Raises:
        BadOptionError: the table's footers are already encrypted.
    """
    table = path_of(path, "plan")
    install_errors()
    try:
        return spark.read.parquet(table)
    except NoKeyError as failed:
        message = (
            f"{table}: no write of it can be planned: it is already encrypted. pme-parquet inspect shows which keys "
            "protect it; with keys, key-usage shows which columns."
        )
        raise BadOptionError(message) from failed
