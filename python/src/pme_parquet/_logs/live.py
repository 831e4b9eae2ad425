"""Which files are live: `deltalake` decides, from the copied log and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pme_parquet.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pme_parquet._logs.log import Log

BY = "deltalake"
NOT_INSTALLED = "the package deltalake is not installed. pip install deltalake"


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


def is_installed() -> bool:
    """Whether `deltalake` is there."""
    return find_spec(BY) is not None


def need_deltalake(where: str) -> None:
    """Checks that the package is there.

    Raises:
        UnsupportedError: it is not.
    """
    if not is_installed():
        raise UnsupportedError(
            f"{where}: this needs the package deltalake, which is not installed. pip install deltalake."
        )


def live(directory: Path, log: Log) -> Live:
    """The live files of the table whose log is below a directory."""
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
