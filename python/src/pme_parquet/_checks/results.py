"""What a check answers: what is readable, in which file and column. No finding contains a value of the table."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pme_parquet._display.content import Line, Showable, Shown, Table, how_reached
from pme_parquet._display.words import number, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Severity = Literal["high", "low", "note", "unread"]
# A table with more has the same few faults in all its files.
MOST = 100_000
_PARTITION = re.compile(r"([^/=]+)=[^/]*(?=/)")
_MOST = 50
_MOST_COLUMNS = 20
_STYLES = {"high": "red", "low": "yellow", "unread": "yellow", "note": ""}
_SEVERITIES = {"high": "readable", "low": "something", "unread": "not looked at", "note": "note"}


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """What anyone who can read the storage of a table learns.

    Attributes:
        kind: a short name, for example `statistics`, `predicate` or `plaintext file`.
        severity: `high`: values, or keys of files, are readable. `low`: something about values is, or will be. `note`:
            nothing is, but read it. `unread`: this was not looked at.
        column: the protected column by its logical name; empty if there is none, `*` if it may be any.
        file: its path below the table, without values of partition columns; empty for the whole table.
        what: a sentence that contains no value of the table.
    """

    kind: str
    severity: Severity
    column: str
    file: str
    what: str


class Findings:
    """Collects findings, each once."""

    def __init__(self) -> None:
        self._found: dict[CheckFinding, None] = {}
        self._seen: set[tuple[str, str, str, str]] = set()
        self._counts: Counter[str] = Counter()
        self._full = False

    def add(self, kind: str, severity: Severity, file: str, what: str, *columns: str) -> None:
        """Adds a finding for each column, or one without a column."""
        for column in columns or ("",):
            # One of many: a commit may have a million of the same.
            key = (kind, file, what, column)
            if key in self._seen:
                continue
            self._seen.add(key)
            made = CheckFinding(kind, severity, printable(column), path_shown(file), what)
            # Each severity has room of its own: faults of one kind do not crowd out what is worse.
            if self._counts[severity] < MOST:
                self._found[made] = None
                self._counts[severity] += 1
            else:
                self._full = True
                self._seen.clear()

    def unread(self, file: str, what: str) -> None:
        """Adds that something was not looked at."""
        self.add("not looked at", "unread", file, what)

    def all(self) -> tuple[CheckFinding, ...]:
        """All findings, the worst first."""
        order = ("high", "low", "unread", "note")
        found: Iterable[CheckFinding] = self._found
        if self._full:
            found = (
                *found,
                CheckFinding("not looked at", "unread", "", "", f"more than {MOST:,} findings of one severity"),
            )
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

    def to_dict(self) -> dict[str, Any]:
        """Everything, as for JSON."""
        found = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}
        # What there may be much of comes last.
        del found["findings"]
        return found | {"ok": self.ok, "findings": [asdict(finding) for finding in self.findings]}

    def _view(self, kind: str, about: str) -> Shown:
        """A title, a table of findings by kind and column, a line about the table, and what was looked at."""
        version = "" if self.version is None else f", version {self.version:,}"
        wrong = sum(finding.severity != "note" for finding in self.findings)
        title = f"{printable(self.path)}: {kind} table{version}: {number(wrong, 'finding') if wrong else 'no findings'}"
        groups = _groups(self.findings)
        more = number(len(groups) - _MOST, "more kind")
        lines = [
            *([f"and {more} of findings; --json and to_dict() list all"] if len(groups) > _MOST else []),
            about,
            f"looked at: {', '.join(f'{what}: {count:,}' for what, count in self.looked_at.items())}",
        ]
        tables = (_table(groups[:_MOST]),) if groups else ()
        return Shown(title, tables, (*map(Line, lines), *how_reached(self.storage)))


@dataclass(frozen=True)
class DeltaCheck(CheckResult):
    """The result of a check. Print it, display it in a notebook, or use its attributes.

    Attributes:
        path: the checked table.
        version: its newest version; None if nobody can read the table.
        columns: the protected columns by their newest names; empty if none was found.
        columns_from: how these were found, in words.
        findings: what anyone can read, and what was not looked at; the worst first.
        looked_at: numbers: commits, checkpoints, and data files by what the log says of them.
        storage: how the storage was reached, in words without secrets; empty for local files.
        live_by: who says which files are live: `deltalake` or `the session's Delta`; empty if nobody can.
    """

    path: str
    version: int | None
    columns: tuple[str, ...]
    columns_from: str
    findings: tuple[CheckFinding, ...] = field(repr=False)
    looked_at: dict[str, int]
    storage: str = ""
    live_by: str = ""

    @property
    def _shown(self) -> Shown:
        return self._view("Delta", _protected(self.columns, self.columns_from, "none"))


@dataclass(frozen=True)
class HudiCheck(CheckResult):
    """The result of a check. Print it, display it in a notebook, or use its attributes.

    Attributes:
        path: the checked table.
        version: the version of Hudi's table format; None if `hoodie.properties` does not say.
        type: `COPY_ON_WRITE` or `MERGE_ON_READ`; None if `hoodie.properties` does not say.
        columns: the protected columns; empty for all.
        columns_from: how these were found, in words.
        findings: what anyone can read, and what was not looked at; the worst first.
        looked_at: numbers of files by what they are.
        storage: how the storage was reached, in words without secrets; empty for local files.
    """

    path: str
    version: int | None
    type: str | None
    columns: tuple[str, ...]
    columns_from: str
    findings: tuple[CheckFinding, ...] = field(repr=False)
    looked_at: dict[str, int]
    storage: str = ""

    @property
    def _shown(self) -> Shown:
        return self._view("Hudi", _protected(self.columns, self.columns_from, "all"))


@dataclass(frozen=True)
class IcebergCheck(CheckResult):
    """The result of a check. Print it, display it in a notebook, or use its attributes.

    Attributes:
        path: the checked table.
        version: the number in the name of its newest metadata file; None if that has none.
        key: the master key that its newest metadata names; None if it names none.
        findings: what anyone can read, and what was not looked at; the worst first.
        looked_at: numbers of files by what they are.
        storage: how the storage was reached, in words without secrets; empty for local files.
    """

    path: str
    version: int | None
    key: str | None
    findings: tuple[CheckFinding, ...] = field(repr=False)
    looked_at: dict[str, int]
    storage: str = ""

    @property
    def _shown(self) -> Shown:
        return self._view("Iceberg", f"encryption.key-id: {printable(self.key) if self.key else 'none'}")


def _protected(columns: Sequence[str], columns_from: str, none: str) -> str:
    names = ", ".join(map(printable, columns[:_MOST_COLUMNS])) + (", …" if len(columns) > _MOST_COLUMNS else "")
    return f"protected columns ({columns_from}): {names or none}"


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
