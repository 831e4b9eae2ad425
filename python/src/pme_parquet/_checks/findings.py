"""Findings of a check, and its answer: what is readable, in which file and column. A finding contains no value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from pme_parquet._display.content import Line, Showable, Shown, Table, how_reached
from pme_parquet._display.words import number, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Severity = Literal["high", "low", "note", "unread"]
# A table with more has the same few faults in all its files.
MOST = 100_000
_PARTITION = re.compile(r"([^/=]+)=[^/]*(?=/)")
_MOST = 50
_STYLES = {"high": "red", "low": "yellow", "unread": "yellow", "note": ""}
_SEVERITIES = {"high": "readable", "low": "something", "unread": "not looked at", "note": "note"}


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


class CheckResult(Showable):
    """What all checks answer: findings, what was looked at, and how the storage was reached."""

    path: str
    version: int | None
    findings: Sequence[CheckFinding]
    looked_at: Mapping[str, int]
    storage: str

    @property
    def ok(self) -> bool:
        """Whether everything was looked at, and nothing was found that shows a value, or anything about one.

        Notes do not count. It says nothing of what the check cannot recognize: see the page on the check.
        """
        return all(finding.severity == "note" for finding in self.findings)

    def _shown_as(self, kind: str, line: str) -> Shown:
        """The view, with what the table is and a line about it."""
        return _shown((self.path, kind, self.version), line, self.findings, self.looked_at, self.storage)


def _shown(
    table: tuple[str, str, int | None],
    about: str,
    findings: Sequence[CheckFinding],
    looked_at: Mapping[str, int],
    storage: str,
) -> Shown:
    """A title, a table of findings by kind and column, a line about the table, and what was looked at.

    A table is its path, what it is, and its version.
    """
    path, kind, number_of = table
    version = "" if number_of is None else f", version {number_of:,}"
    wrong = sum(finding.severity != "note" for finding in findings)
    title = f"{printable(path)}: {kind}{version}: {number(wrong, 'finding') if wrong else 'no findings'}"
    groups = _groups(findings)
    lines = []
    if len(groups) > _MOST:
        lines.append(Line(f"and {number(len(groups) - _MOST, 'more kind')} of findings; --json and to_dict() list all"))
    lines.append(Line(about))
    lines.append(Line(f"looked at: {', '.join(f'{what}: {count:,}' for what, count in looked_at.items())}"))
    return Shown(title, (_table(groups[:_MOST]),) if groups else (), (*lines, *how_reached(storage)))


def _groups(findings: Sequence[CheckFinding]) -> list[list[CheckFinding]]:
    found: dict[tuple[str, str, str, str], list[CheckFinding]] = {}
    for one in findings:
        found.setdefault((one.severity, one.kind, one.column, one.what), []).append(one)
    return list(found.values())


def _table(groups: list[list[CheckFinding]]) -> Table:
    rows = []
    for group in groups:
        first = group[0]
        more = f" and {len(group) - 1:,} more" if len(group) > 1 else ""
        column = first.column or "-"
        rows.append((_SEVERITIES[first.severity], column, f"{first.kind}: {first.what}", f"{first.file}{more}"))
    styles = tuple(_STYLES[group[0].severity] for group in groups)
    return Table(("", "column", "finding", "file"), tuple(rows), styles, paths=True)
