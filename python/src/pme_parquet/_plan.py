"""The plan of a write: the key of each leaf column, what would stay readable, and why the write would fail.

Start at `planned`. It asks the connector, which decides as it does in a write. The public function is in
`_operations.frames`; `Encryption.explain` calls it too.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from pme_parquet._audience import Words
from pme_parquet._display.content import Line, Showable, Shown, Table
from pme_parquet._display.words import FOOTERS, number, printable
from pme_parquet._spark.driver import method_of
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame


By = Literal["column key", "footer key", "uniform key", "plaintext", "partition column", "refused"]


@dataclass(frozen=True, slots=True)
class PlannedColumn:
    """A leaf column of the files, or a partition column.

    Attributes:
        path: in the Parquet schema, with dots: `tags.list.element`.
        name: as in `column_keys`: `tags.element`; names with special characters are in backticks.
        type: its Spark type.
        key: the id of its master key; None if it stays readable, or is refused.
        by: why it has this key or none. `plaintext`: no key names it. `partition column`: its values become directory
            names. `refused`: the write would fail because of it.
        pattern: the pattern of `column_keys`, or of a policy, that matches it.
        bloom_filter: whether row groups have a Bloom filter of it, under its key if it has one, unless a dictionary of
            all its values serves as one.
        tag: the tag of a policy that gives it its key.
    """

    path: str
    name: str
    type: str
    key: str | None
    by: By
    pattern: str | None
    bloom_filter: bool
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class UnmatchedPattern:
    """A pattern of `column_keys` that matches no column.

    Attributes:
        pattern: the pattern.
        key: the id of its master key.
        nearest: columns with similar names, the nearest first.
    """

    pattern: str
    key: str
    nearest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a write would fail.

    Attributes:
        condition: the condition of the error (docs/errors.md).
        message: the message of the error.
    """

    condition: str
    message: str


@dataclass(frozen=True, slots=True)
class PlannedFiles:
    """How files would be encrypted: the effective values of options, session settings and defaults.

    Attributes:
        footer: `encrypted`, or `signed` and readable.
        footer_key: the id of its master key.
        kms: the short name of the KMS, or its class. It was not called.
        algorithm: `AES_GCM_V1` or `AES_GCM_CTR_V1`.
        key_management: `envelope` or `direct`.
        data_key_bits: length of data keys; None with direct keys if it is that of the named key.
        kek_bits: length of key-encryption keys; None without them.
        key_material: `internal` or `external`; None with direct keys.
        aad_prefix: the prefix or template.
        store_aad_prefix: whether the file contains the prefix.
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


_MOST = 200


def shown(plan: Plan) -> Shown:
    """The view of a plan."""
    columns = plan.columns
    facts = (*_of_files(plan.files), *(("policy", policy) for policy in plan.policies))
    tables = [Table((), tuple((name, printable(value)) for name, value in facts if value))]
    if columns:
        listed = columns[:_MOST]
        rows = tuple(tuple(map(printable, _of_column(column))) for column in listed)
        styles = tuple("" if column.key else "yellow" for column in listed)
        tables.append(Table(("column", "type", "key", "reason"), rows, styles))
    more = [Line(f"and {len(columns) - _MOST:,} more columns; to_dict() lists all")] if len(columns) > _MOST else []
    return Shown(_title(columns), tuple(tables), (*more, *_lines(plan)))


def _title(columns: Sequence[PlannedColumn]) -> str:
    partitions = sum(column.by == "partition column" for column in columns)
    leaves = number(len(columns) - partitions, "leaf column")
    text = f"Plan of a write: {leaves}, {sum(column.key is not None for column in columns):,} encrypted"
    text += f", {number(partitions, 'partition column')}" if partitions else ""
    return text


def _of_files(files: PlannedFiles) -> Iterator[tuple[str, str]]:
    yield "footer", f"{FOOTERS[files.footer]}, key '{files.footer_key}'"
    yield "algorithm", files.algorithm
    if files.key_management == "direct":
        yield "data keys", "the named keys themselves"
    else:
        place = "in" if files.key_material == "internal" else "beside"
        yield "data keys", f"{files.data_key_bits} bits, {place} the file"
        between = f"a key-encryption key ({files.kek_bits} bits), wrapped by " if files.kek_bits else ""
        yield "wrapped by", f"{between}the master key"
    if files.aad_prefix is not None:
        yield "AAD prefix", f"{files.aad_prefix} ({'in' if files.store_aad_prefix else 'not in'} the file)"
    yield "unlisted columns", files.unlisted_columns
    yield "KMS", files.kms


def _of_column(column: PlannedColumn) -> tuple[str, ...]:
    return column.path, column.type, column.key or "", _because(column)


def _because(column: PlannedColumn) -> str:
    reason = {
        "column key": f"column key, by '{column.pattern}'" + (f" of tag '{column.tag}'" if column.tag else ""),
        "plaintext": "plaintext: no key names it",
        "partition column": "partition column: its values are readable in directory names",
        "refused": "refused, see below",
    }.get(column.by, column.by)
    return f"{reason}; with a Bloom filter" if column.bloom_filter else reason


def _lines(plan: Plan) -> Iterator[Line]:
    for line in plan.exposed:
        yield Line(f"readable by anyone with access to the files: {printable(line)}", "yellow")
    for entry in plan.unmatched:
        near = f"; nearest: {', '.join(entry.nearest)}" if entry.nearest else ""
        yield Line(printable(f"'{entry.pattern}' of key '{entry.key}' matches no column{near}"), "red")
    for refusal in plan.refusals:
        yield Line(f"The write would fail: {printable(refusal.message)}", "red")
    yield Line("Nothing was written, and the KMS was not called.")


@dataclass(frozen=True)
class Plan(Showable):
    """What a write would do. Print it, display it in a notebook, or use its attributes.

    Attributes:
        columns: the leaf columns in the order of the file, then the partition columns.
        unmatched: patterns of `column_keys` that match no column.
        refusals: why the write would fail; the write raises the first. Whether the KMS has the keys is not checked.
        files: how files would be encrypted.
        exposed: what anyone with access to the files can read.
        policies: the policies that the write follows, with their numbers.
    """

    columns: tuple[PlannedColumn, ...]
    unmatched: tuple[UnmatchedPattern, ...]
    refusals: tuple[Refusal, ...]
    files: PlannedFiles
    exposed: tuple[str, ...]
    policies: tuple[str, ...] = ()

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
        from pme_parquet._plan import shown  # noqa: PLC0415 only when it is shown

        return shown(self)


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
        policies=tuple(document["policies"]),
    )
