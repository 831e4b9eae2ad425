"""The facts of a report: an inspection, and with Spark a verification and the key usage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._audience import Words
from pme_parquet._inspect import inspection
from pme_parquet._operations.operation import Operation
from pme_parquet._operations.verify import live_files, verify
from pme_parquet._report.protection import Alike, Problem, Protected, Protection, outside, unlike, without_file
from pme_parquet._storage import storage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from pyspark.sql import Row, SparkSession

    from pme_parquet._access import Access
    from pme_parquet._arguments import KmsLike
    from pme_parquet._inspect import Inspection
    from pme_parquet._operations.verify import Opened, Sample

_SNAPSHOT = "snapshot"
_LOCATION = "snapshotlocation"
_NEWEST = ("auto", "require", "update")
_OF_SESSION = "spark.datasource.pme-parquet."
_UNFINISHED = "no page was written, and an existing one is unchanged. Run it again, or without keys."


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts of a report.

    Attributes:
        inspection: what files show without a key.
        problems: what is wrong, each listed once.
        opened: what verification opened; none without Spark.
        usage: which master keys protect what; none without Spark.
        protection: what protects each column of each file; none without Spark.
        seal_checked: whether verification checked the seal of the table at the report's path, if it has one.
    """

    inspection: Inspection
    problems: tuple[Problem, ...]
    opened: Opened | None = None
    usage: tuple[KeyUse, ...] | None = None
    protection: Protection | None = None
    seal_checked: bool = False

    @property
    def with_keys(self) -> bool:
        """Whether anything was opened."""
        return self.opened is not None


@dataclass(frozen=True, slots=True)
class KeyUse:
    """A row of `pme.key_usage`."""

    master_key: str | None
    version: int | None
    kind: str
    wrapping: str | None
    material: str | None
    files: int
    columns: tuple[str, ...]
    bytes: int | None
    rows: int | None
    unreadable_files: int
    unreadable_columns: tuple[str, ...]
    unreadable_in_some_files: tuple[str, ...]
    problems: tuple[str, ...]
    data_key_bits: tuple[int, ...]
    kek_bits: tuple[int, ...]
    part: str | None = None


@dataclass(frozen=True, slots=True)
class Keyed:
    """A table, and a session with its keys."""

    spark: SparkSession
    path: str
    kms: KmsLike | None
    options: Mapping[str, Any] | None
    sample: Sample | None
    progress: bool | None = None

    def verified(self, names: Collection[str]) -> tuple[tuple[Problem, ...], Opened]:
        """What does not open, and what was opened; files by their names below the table."""
        findings = verify(
            self.spark, self.path, kms=self.kms, options=self.options, sample=self.sample, progress=self.progress
        )
        return tuple(_problem(row, names) for row in findings.collect()), findings.opened

    def checks_seals(self) -> bool:
        """Whether verification checks the snapshots that inspection shows: the newest one next to the files.

        Options of the read or the session can turn that off, or choose another version or another directory.
        """
        read = Operation(self.spark, Words("pme.report"), "Verification", "verify").reading(self.kms, self.options)
        session = {str(row.key).removeprefix(_OF_SESSION): str(row.value) for row in self.spark.sql("SET").collect()}
        given = [(name.lower(), value.strip().lower()) for name, value in (*session.items(), *read.items())]
        return not any(
            (name == _SNAPSHOT and value not in _NEWEST) or (name == _LOCATION and value) for name, value in given
        )

    def usage(self, names: Collection[str]) -> tuple[tuple[KeyUse, ...], Protection]:
        """Which master keys protect what, and what protects each column of each file."""
        look = Operation(self.spark, Words("pme.report"), "KeyUsage", "table")
        reading = look.reading(self.kms, self.options)
        live = live_files(self.spark, self.path, reading, Words("pme.report"))
        done = look.run(self.path, reading, live, progress=self.progress, interrupted=_UNFINISHED)
        uses = tuple(_use(row.asDict()) for row in look.frame(done.uses()).collect())
        groups = _alike(look.frame(done.files()).collect(), names)
        bits = {str(key): int(bits) for key, bits in done.masterKeyBits().items()}
        return uses, Protection(groups, done.kms(), bits, case_sensitive=done.caseSensitive())


def _use(row: dict[str, Any]) -> KeyUse:
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    return KeyUse(**values)


def _alike(rows: Iterable[Row], names: Collection[str]) -> tuple[Alike, ...]:
    by: dict[int, list[Row]] = {}
    for row in rows:
        by.setdefault(row.group, []).append(row)
    return tuple(
        Alike(
            same[0].files,
            same[0].bytes,
            _below(same[0].first_file, names),
            same[0].state,
            tuple(Protected(row.column, row.kind, row.master_key) for row in same if row.column is not None),
        )
        for same in by.values()
    )


def _problem(row: Row, names: Collection[str]) -> Problem:
    file = _below(row.file, names)
    where = [] if row.row_group is None else [f"row group {row.row_group}"]
    where += [f"column {row.column}"] if row.column else []
    if row.module:
        where.append(row.module if row.page is None else f"{row.module} {row.page}")
    return Problem(
        file, ", ".join(where), row.condition, without_file(row.message, row.file), "verification", row.column
    )


def _below(path: str, names: Collection[str]) -> str:
    """The name of a file below the table, if inspection saw that file."""
    parts = path.split("/")
    below = ("/".join(parts[first:]) for first in range(1, len(parts)))
    return next((name for name in below if name in names), path)


def gather(where: str, reached: Access, keyed: Keyed | None) -> Facts:
    """Inspects a table; with keys, verifies all of it or a sample."""
    files = storage(where, reached.options)
    seen = inspection(where, files, tuple(files.files()), reached, keyed.spark if keyed else None)
    names = {one.file for one in seen.files}
    verified, opened = keyed.verified(names) if keyed else ((), None)
    usage, protection = keyed.usage(names) if keyed else (None, None)
    visible = tuple(outside(seen.findings, {(one.file, one.condition) for one in verified}))
    different = tuple(unlike(protection, verified)) if protection else ()
    checked = keyed is not None and keyed.checks_seals()
    return Facts(seen, (*different, *verified, *visible), opened, usage, protection, checked)
