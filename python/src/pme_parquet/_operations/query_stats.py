"""How many files a query reads, and which indexes spared it the others."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._display.content import Line, Row, Showable, Shown, Table
from pme_parquet._display.words import number, printable, size
from pme_parquet._spark.driver import object_of
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WHERE = "pme.query_stats"
_HEADER = ("table", "version", "files read", "size read", "skipped by")
_MOST = 50


@dataclass(frozen=True, slots=True)
class SkippedFiles:
    """Files that an index spared a query.

    Attributes:
        kind: of the index: `minMax`, `valueList`, `bloom` or `class`.
        column: path of the leaf column.
        files: number of files. A file counts for each index that its proof needed.
    """

    kind: str
    column: tuple[str, ...]
    files: int


@dataclass(frozen=True, slots=True)
class ScannedFiles:
    """The files of one table in one scan of a query.

    Attributes:
        path: of the table, or of the part of it that is read.
        version: of the snapshot; None if the read used none.
        files: number of files in the partitions that the query reads.
        files_read: number of those that are opened. All others were skipped by indexes.
        bytes: size of `files`.
        bytes_read: size of `files_read`; of these, a query reads only the columns that it needs.
        skipped_by: the indexes that proved for some files that no row matches.
    """

    path: str
    version: int | None
    files: int
    files_read: int
    bytes: int
    bytes_read: int
    skipped_by: tuple[SkippedFiles, ...]


@dataclass(frozen=True)
class QueryStats(Showable):
    """What the scans of a query read. Print it, display it in a notebook, or use its attributes.

    Attributes:
        scans: each scan of a table in this format. A table that a query reads twice has two.
        notes: what the numbers leave out, in sentences.
    """

    scans: tuple[ScannedFiles, ...]
    notes: tuple[str, ...] = ()

    @property
    def files(self) -> int:
        """Number of files of all scans."""
        return sum(scan.files for scan in self.scans)

    @property
    def files_read(self) -> int:
        """Number of files that are opened, of all scans."""
        return sum(scan.files_read for scan in self.scans)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as for JSON."""
        return asdict(self)

    @property
    def _shown(self) -> Shown:
        notes = tuple(Line(printable(note)) for note in self.notes)
        if not self.scans:
            return Shown("The query scans no table in the format pme-parquet.", (), notes)
        title = f"{self.files_read:,} of {number(self.files, 'file')} read, in {number(len(self.scans), 'scan')}"
        table = Table(_HEADER, tuple(map(_row, self.scans[:_MOST])))
        left = len(self.scans) - _MOST
        more = (Line(f"and {number(left, 'more scan')}; to_dict() lists all"),) if left > 0 else ()
        return Shown(title, (table,), (*more, *notes))


def _row(scan: ScannedFiles) -> Row:
    skipped = "; ".join(f"{one.kind} of {'.'.join(one.column)}: {number(one.files, 'file')}" for one in scan.skipped_by)
    return (
        printable(scan.path),
        "no snapshot" if scan.version is None else f"{scan.version:,}",
        f"{scan.files_read:,} of {scan.files:,}",
        f"{size(scan.bytes_read)} of {size(scan.bytes)}",
        printable(skipped) or "nothing",
    )


def query_stats(df: DataFrame) -> QueryStats:
    """Show how many files a query reads, and by which indexes it skips the others.

    It plans the query if that has not happened yet, but does not run it. Partitions that Spark prunes while it runs,
    as with joins, are known only after the query has run: call it afterwards, with the same frame. If the frame is only
    planned again, as by `df.count()`, what was learned is not in it; `df.collect()` and `df.toPandas()` keep it.

    Example:
        df = pme.read(spark, "people", kms=keys).where("id = 17")
        print(pme.query_stats(df))

    Args:
        df: a frame of a classic session. Over Spark Connect it raises `UnsupportedError`.

    Raises:
        BadOptionError: `df` is not a frame.
        PmeError: the query cannot be planned, for example because a seal does not match.
    """
    if not hasattr(df, "sparkSession"):
        message = f"{_WHERE}: df is a {type(df).__name__}. Give the DataFrame of a query."
        raise BadOptionError(message)
    statistics = object_of(df.sparkSession, "QueryStatistics", _WHERE)
    return _stats_of(json.loads(statistics.json(df._jdf)))  # noqa: SLF001 as PySpark does


def _stats_of(document: dict[str, Any]) -> QueryStats:
    return QueryStats(tuple(map(_scan_of, document["scans"])), tuple(document.get("notes", ())))


def _scan_of(scan: dict[str, Any]) -> ScannedFiles:
    return ScannedFiles(
        path=scan["path"],
        version=scan["version"],
        files=scan["files"],
        files_read=scan["filesRead"],
        bytes=scan["bytes"],
        bytes_read=scan["bytesRead"],
        skipped_by=tuple(SkippedFiles(one["kind"], tuple(one["column"]), one["files"]) for one in scan["skippedBy"]),
    )
