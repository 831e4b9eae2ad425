"""Which files of a Delta table are live: `deltalake` says so, or a session's Delta.

`deltalake` gets the copied log and nothing else. A session's Delta can read a log that has encrypted checkpoints.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pme_parquet._audience import DELTA_PACKAGES, Words
from pme_parquet._delta_log.log import LOG, copied
from pme_parquet._storage import storage
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._access import Access
    from pme_parquet._delta_log.log import Log

BY = "deltalake"
# What commits and checkpoints are.
_OF_VERSIONS = (".json", ".parquet")


@dataclass(frozen=True, slots=True)
class Live:
    """What a reader of the log says of a table.

    Attributes:
        version: the newest version; None if nobody can read the table.
        files: paths of the live files as the log has them, decoded; None as above.
        problem: why not.
        lengths: the length of each live file, by its path as the log has it: a URL, absolute or relative to the table.
            Only `deltalake` says it.
        by: who says so: `deltalake`, or the session's Delta; empty if nobody does.
        metadata: the newest `metaData` action as in a commit; only the session's Delta says it.
    """

    version: int | None = None
    files: frozenset[str] | None = None
    problem: str = ""
    lengths: Mapping[str, int] = field(default_factory=dict)
    by: str = ""
    metadata: Mapping[str, Any] | None = None


NOT_INSTALLED = Live(problem="the package deltalake is not installed. pip install deltalake")


def is_installed() -> bool:
    """Whether `deltalake` is there."""
    return importlib.util.find_spec(BY) is not None


def from_storage(table: str, reached: Access) -> Live:
    """What `deltalake` says of a table, from a copy of its log.

    Raises:
        PmeError: the storage cannot list the table.
    """
    if not is_installed():
        return NOT_INSTALLED
    files = storage(table, reached.options)
    of_log = [one for one in files.everything() if one.slashed.startswith(LOG)]
    unread: list[str] = []
    with TemporaryDirectory(prefix="pme-delta-") as directory:
        log = copied(files, of_log, Path(directory), lambda file, _: unread.append(file))
        if any(file.endswith(_OF_VERSIONS) for file in unread):
            return Live(problem="parts of its log could not be read")
        return from_log(Path(directory), log)


def from_log(directory: Path, log: Log) -> Live:
    """What `deltalake` says of the table whose log was copied below a directory."""
    if not is_installed():
        return NOT_INSTALLED
    if not _has_no_gap(log):
        # `deltalake` would read what is left, and take it for the whole table.
        return Live(problem="commits are missing, or the checkpoint in their place is encrypted")
    from deltalake import DeltaTable  # noqa: PLC0415 an extra, and slow to import

    try:
        table = DeltaTable(str(directory))
        added: Any = table.get_add_actions()
        paths = [str(path) for path in added.column("path").to_pylist()]
        lengths = dict(zip(paths, added.column("size_bytes").to_pylist(), strict=True))
        return Live(table.version(), frozenset(map(unquote, paths)), lengths=lengths, by=BY)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as failed:  # noqa: BLE001 a panic of its Rust code is no Exception
        # Its message may repeat parts of the log.
        return Live(problem=f"deltalake failed with {type(failed).__name__}")


def _has_no_gap(log: Log) -> bool:
    """Whether all commits are there since the first one, or since a whole checkpoint that anyone can read."""
    newest = max((*log.commits, *log.checkpoints), default=-1)
    since = max(log.whole, default=-1)
    return newest >= 0 and all(version in log.commits for version in range(since + 1, newest + 1))


def from_session(table: str, spark: SparkSession, why: str, where: str) -> Live:
    """What the session's Delta says.

    Args:
        table: the table's directory.
        spark: a session.
        why: why `deltalake` cannot tell; part of the problem if the session cannot, either.
        where: the function that the user called.
    """
    from pme_parquet._spark.driver import method_of  # noqa: PLC0415 only with Spark

    try:
        found = method_of(spark, "LiveFiles", "read", where)(table, {})
    except PmeError as failed:
        return Live(problem=f"{why}; {failed.condition}: the session's Delta cannot tell")
    except Exception as failed:  # noqa: BLE001 each file system of Hadoop has errors of its own
        return Live(problem=f"{why}; {type(failed).__name__}: the session's Delta cannot tell")
    if found is None:
        add = Words("", f": add it with --packages ({DELTA_PACKAGES})")
        return Live(problem=f"{why}; the session has no Delta{add}")
    files = frozenset(map(str, found.names()))
    return Live(int(found.version()), files, by=str(found.by()), metadata=json.loads(str(found.metadata())))
