"""Rewrites the files of a Delta table, and compares the rows before and after each commit of its own.

A commit is found by its `userMetadata`. A mark below the table says that rows are still to be compared, so if a run is
killed, the next one compares them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from pme_parquet._delta_tables.logged import LoggedTable

_MARK = re.compile(r"(\d{1,18})-(pme_[0-9a-f]{32})")


@dataclass(frozen=True)
class Rewritten:
    """What one OPTIMIZE did.

    Attributes:
        removed: number of files that it replaced.
        added: number of files that it wrote.
        rows: number of rows that were compared before and after; None if there was no file.
    """

    removed: int
    added: int
    rows: int | None


class Rewriting:
    """The rewrites of one run."""

    def __init__(self, table: LoggedTable, where: str) -> None:
        self._table = table
        self._where = where

    def finish(self) -> int | None:
        """Compares the rows of commits of runs that died before they did; returns their number, None without any.

        Raises:
            PmeError: the rows are not the same, or cannot be compared anymore.
        """
        rows: int | None = None
        for name in sorted(self._table.marks()):
            found = _MARK.fullmatch(name)
            if found is None:
                continue
            try:
                counted = self._compared(found[2], int(found[1]))
            except PmeError:
                raise
            except Exception as failed:
                raise PmeError(
                    f"{self._where}: a run that was interrupted did not compare the rows before and after its commit, "
                    "and they cannot be compared now, for example because VACUUM has deleted files. Compare them with "
                    f"a backup, or accept that; then delete {self._table.place_of(name)}, and run it again."
                ) from failed
            self._table.unmark(name)
            rows = counted if counted is not None else rows
        return rows

    def rewrite(self, order: str | None) -> Rewritten | None:
        """Rewrites all live files, and compares rows; returns None if a commit of another session came first.

        Raises:
            PmeError: the rows of a commit are not those of the version before it.
        """
        before = self._table.version().number
        text = f"pme_{uuid4().hex}"
        mark = f"{before}-{text}"
        self._table.mark(mark)
        try:
            removed, added = self._table.rewrite(order, text)
        except Exception as failed:
            if not _is_conflict(failed):
                raise
            self._table.unmark(mark)
            return None
        rows = None
        # If there is no file, Delta makes no commit.
        if removed or added:
            rows = self._compared(text, before)
            if rows is None:
                raise PmeError(
                    f"{self._where}: the history of {self._table.path} does not have the commit that was just made, so "
                    "rows were not compared. Run it again."
                )
        self._table.unmark(mark)
        return Rewritten(removed, added, rows)

    def _compared(self, text: str, after: int) -> int | None:
        rows = None
        for version in self._table.commits(text, after):
            before, now = self._table.content(version - 1), self._table.content(version)
            if before != now:
                self._table.unmark(f"{after}-{text}")
                raise PmeError(_differs(self._where, self._table.name, version))
            rows = now[0]
        return rows


def _differs(where: str, name: str, version: int) -> str:
    again = f"INSERT OVERWRITE {name} SELECT * FROM {name} VERSION AS OF {version - 1}"  # noqa: S608 for people
    return (
        f"{where}: version {version} has other rows than version {version - 1}, though files were only rewritten. "
        f"Version {version - 1} still has the rows, until VACUUM: do not run it. RESTORE would bring plaintext files "
        "back. If nobody has written since, this writes the rows again, with the keys: SET "
        f"pme-parquet.plaintextFiles=allow, then {again}. Please report this."
    )


def _is_conflict(failed: Exception) -> bool:
    """Whether another commit came first. Delta tries again by itself where it can."""
    cause: Any = getattr(failed, "java_exception", None) or getattr(failed, "_origin", None)
    names = [type(failed).__name__]
    while cause is not None:
        names.append(str(cause.getClass().getSimpleName()))
        cause = cause.getCause()
    return any(name.startswith("Concurrent") or name == "MetadataChangedException" for name in names)
