"""The plan of a write: the key of each leaf column, what would stay readable, and why the write would fail."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._audience import Words
from pme_parquet._display.showable import Showable
from pme_parquet._plan.parts import PlannedColumn, PlannedFiles, Refusal, UnmatchedPattern
from pme_parquet._spark.driver import method_of
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pme_parquet._display.content import Shown


@dataclass(frozen=True)
class Plan(Showable):
    """What a write would do. Print it, display it in a notebook, or use its attributes.

    Attributes:
        columns: the leaf columns in the order of the file, then the partition columns.
        unmatched: patterns of `column_keys` that match no column.
        refusals: why the write would fail; the write raises the first. Whether the KMS has the keys is not checked.
        files: how files would be encrypted.
        exposed: what anyone with access to the files can read.
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
        """Everything, as for JSON."""
        return asdict(self)

    @property
    def _shown(self) -> Shown:
        from pme_parquet._plan.view import shown  # noqa: PLC0415 only when it is shown

        return shown(self.columns, self.files, self.exposed, self.unmatched, self.refusals)


def planned(df: DataFrame, options: dict[str, str], partition_by: list[str]) -> Plan:
    """The plan that the connector makes for a write of `df` with these options.

    Raises:
        PmeError: `df` is not a frame, or the options cannot be used.
    """
    if not hasattr(df, "sparkSession"):
        message = (
            f"pme.plan: df is a {type(df).__name__}. Give the DataFrame that is to be written, for example "
            "spark.read.parquet(…) of a table that is not encrypted yet."
        )
        raise BadOptionError(message)
    of = method_of(df.sparkSession, "WritePlan", "of", Words("pme.plan"))
    made: Any = of(df._jdf.schema(), partition_by, options)  # noqa: SLF001 as PySpark does
    return plan_of(json.loads(made.json()))


def plan_of(document: dict[str, Any]) -> Plan:
    """The plan that the connector returned as JSON."""
    return Plan(
        columns=tuple(PlannedColumn(**column) for column in document["columns"]),
        unmatched=tuple(
            UnmatchedPattern(**{**entry, "nearest": tuple(entry["nearest"])}) for entry in document["unmatched"]
        ),
        refusals=tuple(Refusal(**refusal) for refusal in document["refusals"]),
        files=PlannedFiles(**document["files"]),
        exposed=tuple(document["exposed"]),
    )
