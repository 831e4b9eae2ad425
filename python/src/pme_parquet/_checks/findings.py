"""Findings of a check: what is readable, and in which file and column. A finding never contains a value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from pme_parquet._display.words import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

Severity = Literal["high", "low", "note", "unread"]
# A table with more has the same few faults in all its files.
MOST = 100_000
_PARTITION = re.compile(r"([^/=]+)=[^/]*(?=/)")


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """What anyone who can read the storage learns.

    Attributes:
        kind: a short name, for example `statistics`, `predicate` or `plaintext file`.
        severity: `high`: values are readable. `low`: something about values is. `note`: nothing is, but read it.
            `unread`: this was not looked at.
        column: the protected column by its logical name; empty if there is none, `*` if it may be any.
        file: its path below the table, without values of partition columns; empty for the whole table.
        what: a sentence that contains no value of the table.
    """

    kind: str
    severity: Severity
    column: str
    file: str
    what: str


One = TypeVar("One", bound=CheckFinding)


class FoundOnce(Generic[One]):
    """Collects findings of one class, each once."""

    def __init__(self, make: type[One]) -> None:
        self._make = make
        self._found: dict[One, None] = {}
        self._seen: set[tuple[str, str, str, str]] = set()
        self._full = False

    def add(self, kind: str, severity: Severity, file: str, what: str, *columns: str) -> None:
        """Adds a finding for each column, or one without a column."""
        for column in columns or ("",):
            # One of many: a commit may have a million of the same.
            key = (kind, file, what, column)
            if key in self._seen:
                continue
            self._seen.add(key)
            made = self._make(kind, severity, printable(column), path_shown(file), what)
            if len(self._found) < MOST:
                self._found[made] = None
            else:
                self._full = True
                self._seen.clear()

    def unread(self, file: str, what: str) -> None:
        """Adds that something was not looked at."""
        self.add("not looked at", "unread", file, what)

    def all(self) -> tuple[One, ...]:
        """All findings, the worst first."""
        order = ("high", "low", "unread", "note")
        found: Iterable[One] = self._found
        if self._full:
            found = (*found, self._make("not looked at", "unread", "", "", f"more than {MOST:,} findings"))
        return tuple(sorted(found, key=lambda one: (order.index(one.severity), one.kind, one.column, one.file)))


def path_shown(path: str) -> str:
    """A path below the table, without the values in names of directories, as `day=…`."""
    return printable(_PARTITION.sub(r"\1=…", path.replace("\\", "/")))
