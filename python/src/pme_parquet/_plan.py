"""A plan: which leaf column would get which key, what would stay readable, what a write would refuse."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from pme_parquet._arguments import encryption_of, names_of, path_of
from pme_parquet._driver import method_of
from pme_parquet._showable import Showable
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from pme_parquet._arguments import PathLike
    from pme_parquet._encryption import Encryption
    from pme_parquet._shown import Shown

# What parquet-java says where it meets an encrypted footer and has no keys.
_ENCRYPTED = "encrypted footer"

By = Literal["column key", "footer key", "uniform key", "plaintext", "partition column", "refused"]


@dataclass(frozen=True, slots=True)
class PlannedColumn:
    """A leaf column of the files, or a partition column.

    Attributes:
        path: in the Parquet schema, with dots: `tags.list.element`.
        name: as `column_keys` takes it: `tags.element`; odd names stand in backticks.
        type: as Spark names it.
        key: the id of its master key; none if it stays readable, or is refused.
        by: what decides about it. `plaintext` is a column that no key names; the values of a `partition column` become
            names of directories; a column is `refused` if the write would not take place because of it.
        pattern: in `column_keys`, by which it has its key.
    """

    path: str
    name: str
    type: str
    key: str | None
    by: By
    pattern: str | None


@dataclass(frozen=True, slots=True)
class UnmatchedPattern:
    """Of `column_keys`, what matches no column.

    Attributes:
        pattern: as it was given.
        key: the id of the master key that it was to give.
        nearest: what it was most likely meant to name, the nearest first.
    """

    pattern: str
    key: str
    nearest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a write would be refused.

    Attributes:
        condition: as errors have it (docs/errors.md).
        message: of the error that the write would raise.
    """

    condition: str
    message: str


@dataclass(frozen=True, slots=True)
class PlannedFiles:
    """How files would be encrypted: the values that hold, of options, of the session, and defaults.

    Attributes:
        footer: `encrypted`, or `signed` and readable.
        footer_key: the id of its master key.
        kms: the KMS's short name, or its class. It was not called.
        algorithm: `AES_GCM_V1` or `AES_GCM_CTR_V1`.
        key_management: `envelope` or `direct`.
        data_key_bits: length of data keys; None with direct keys if it is the named key's.
        kek_bits: length of key encryption keys; None if there are none between data keys and master key.
        key_material: `internal` or `external`; None with direct keys.
        aad_prefix: as it was given.
        store_aad_prefix: whether the prefix is kept in the file.
        unlisted_columns: what happens to columns that no key names.
    """

    footer: Literal["encrypted", "signed"]
    footer_key: str
    kms: str
    algorithm: str
    key_management: Literal["envelope", "direct"]
    data_key_bits: int | None
    kek_bits: int | None
    key_material: Literal["internal", "external"] | None
    aad_prefix: str | None
    store_aad_prefix: bool
    unlisted_columns: Literal["footerKey", "plaintext", "error"]


@dataclass(frozen=True)
class Plan(Showable):
    """What a write would do. Print it, show it in a notebook, or take it apart.

    Attributes:
        columns: the leaf columns in the order of the file, then the partition columns.
        unmatched: of `column_keys`, what matches no column.
        refusals: why the write would be refused; the write says the first. Whether the KMS has the keys is not known.
        files: how files would be encrypted.
        exposed: what anybody can read who gets at the files.
    """

    columns: tuple[PlannedColumn, ...]
    unmatched: tuple[UnmatchedPattern, ...]
    refusals: tuple[Refusal, ...]
    files: PlannedFiles
    exposed: tuple[str, ...]

    @property
    def plaintext(self) -> tuple[PlannedColumn, ...]:
        """The columns whose values would be readable, partition columns among them."""
        return tuple(column for column in self.columns if column.by in {"plaintext", "partition column"})

    @property
    def refusal(self) -> Refusal | None:
        """What the write would say, if it would be refused."""
        return self.refusals[0] if self.refusals else None

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return asdict(self)

    @property
    def _shown(self) -> Shown:
        from pme_parquet._plan_shown import shown  # noqa: PLC0415 only when it is shown

        return shown(self)


def plan(df: DataFrame, enc: Encryption, *, partition_by: str | Sequence[str] = ()) -> Plan:
    """Tells which leaf column would get which key if `df` were written with `enc`, and writes nothing.

    The connector decides as it does in a write, settings of the session among it. Only the schema of `df` is looked at:
    no job runs. The KMS is not called, so whether it has the keys is for `pme.doctor` to tell; its secrets are looked
    up and a keystore's file must be there.

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
    if not hasattr(df, "sparkSession"):
        message = (
            f"pme.plan: df is a {type(df).__name__}, because a plan is made of a frame that is to be written. Give a "
            "DataFrame, as spark.read.parquet(…) makes it of a table that is not encrypted yet."
        )
        raise BadOptionError(message)
    options = encryption_of(enc, "pme.plan").options()
    of = method_of(df.sparkSession, "WritePlan", "of", "pme.plan")
    made: Any = of(df._jdf.schema(), names_of(partition_by), options)  # noqa: SLF001 as PySpark does
    return _told(json.loads(made.json()))


def frame_to_plan(spark: SparkSession, path: PathLike) -> DataFrame:
    """A plaintext table, as a frame whose write is planned.

    Raises:
        BadOptionError: the table's footers are encrypted already.
    """
    table = path_of(path, "plan")
    try:
        return spark.read.parquet(table)
    except Exception as failed:
        if _ENCRYPTED not in str(failed):
            raise
        message = (
            f"{table}: no write of it can be planned, because it is encrypted already. pme-parquet inspect tells which "
            "keys protect it, and key-usage, with keys, which columns."
        )
        raise BadOptionError(message) from failed


def _told(told: dict[str, Any]) -> Plan:
    return Plan(
        columns=tuple(PlannedColumn(**column) for column in told["columns"]),
        unmatched=tuple(
            UnmatchedPattern(**{**entry, "nearest": tuple(entry["nearest"])}) for entry in told["unmatched"]
        ),
        refusals=tuple(Refusal(**refusal) for refusal in told["refusals"]),
        files=PlannedFiles(**told["files"]),
        exposed=tuple(told["exposed"]),
    )
