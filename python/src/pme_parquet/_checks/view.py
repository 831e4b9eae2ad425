"""Shows what a check found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._display.content import Line, Shown, Table, how_reached
from pme_parquet._display.words import number, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pme_parquet._checks.findings import CheckFinding

_MOST = 50
_STYLES = {"high": "red", "low": "yellow", "unread": "yellow", "note": ""}
_SEVERITIES = {"high": "readable", "low": "something", "unread": "not looked at", "note": "note"}


def shown(
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
