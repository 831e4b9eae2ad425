"""What operations of the connector know of Delta tables: which files are live, who says so, and what else is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._display.words import number
from pme_parquet._operations.operation import Operation
from pme_parquet.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class DeltaFiles:
    """The files of a Delta table.

    Attributes:
        table: its directory.
        version: the version of its log.
        live_by: who says which files are live: `the session's Delta` or `deltalake`.
        live: number of live files; of a partition, if only that was looked at.
        missing: number of live files that are not there.
        elsewhere: number of live files outside of the table's directory, as a clone has them.
        not_live: number of files below the table that are not live, such as files of older versions.
        change_data: number of files of the change data feed.
        checkpoints: number of Parquet files of its checkpoints.
        deletion_vectors: number of files of deletion vectors, which have no encryption and are not looked at.
    """

    table: str
    version: int
    live_by: str
    live: int
    missing: int
    elsewhere: int
    not_live: int
    change_data: int
    checkpoints: int
    deletion_vectors: int

    def __str__(self) -> str:
        parts = [number(self.live, "live file")]
        parts += [f"{self.missing:,} of them missing"] if self.missing else []
        parts += [f"{self.elsewhere:,} of them elsewhere"] if self.elsewhere else []
        parts += [f"{number(self.not_live, 'file')} not live"] if self.not_live else []
        parts += [f"{number(self.change_data, 'file')} of change data"] if self.change_data else []
        parts += [number(self.checkpoints, "checkpoint file")] if self.checkpoints else []
        if self.deletion_vectors:
            parts.append(f"{number(self.deletion_vectors, 'deletion vector file')} (not encrypted, not looked at)")
        return f"Delta table, version {self.version:,} (by {self.live_by}): {', '.join(parts)}"


def delta_files(seen: Any) -> DeltaFiles:  # noqa: ANN401 py4j is untyped
    """The connector's object as ours."""
    return DeltaFiles(
        table=str(seen.table()),
        version=int(seen.version()),
        live_by=str(seen.by()),
        live=seen.live(),
        missing=seen.missing(),
        elsewhere=seen.elsewhere(),
        not_live=seen.notLive(),
        change_data=seen.changes(),
        checkpoints=seen.checkpoints(),
        deletion_vectors=seen.vectors(),
    )


def told(spark: SparkSession, path: str, options: Mapping[str, str], where: str) -> Any:  # noqa: ANN401 as above
    """What `deltalake` says of the Delta table at a path, if the session has no Delta; otherwise None.

    The connector refuses a Delta table if nobody knows its live files.

    Raises:
        UnsupportedError: `deltalake` cannot tell, either.
        PmeError: the storage cannot be read from Python.
    """
    table = Operation(spark, where, "LiveFiles", "undecided").call(path, dict(options))
    if table is None:
        return None
    from pme_parquet._access import access  # noqa: PLC0415 only for such tables
    from pme_parquet._logs.live import is_installed  # noqa: PLC0415 as above
    from pme_parquet._logs.said import said  # noqa: PLC0415 as above

    if not is_installed():
        return None
    found = said(table, access(table, None, spark, where))
    if found.version is None:
        raise not_known(where, table, found.problem)
    lengths = found.lengths
    tell = Operation(spark, where, "LiveFiles", "reported")
    return tell.call(table, found.version, found.by, list(lengths), list(lengths.values()))


def not_known(where: str, table: str, why: str) -> UnsupportedError:
    """Nobody can tell which files of a table are live."""
    return UnsupportedError(
        f"{where}: {table} is a Delta table, and which of its files are live is not known: {why}. Use a session with "
        "Delta that can read the table."
    )
