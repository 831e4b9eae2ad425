"""Fits tables into the width of a terminal: sentences are wrapped, paths lose their middle."""

from __future__ import annotations

from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pme_parquet._display.content import Row, Table

_EDGE = 2
# A narrower column is unreadable. The terminal breaks the line instead.
_LEAST = 12
_GAP = "…"


def fit(table: Table, width: int, *, between: int = 2) -> Table:
    """The same table within that width if possible: with line breaks in its cells and shorter paths.

    Args:
        table: has no line breaks.
        width: in characters.
        between: how many characters separate two columns.
    """
    if not table.rows or table.free:
        return table
    if table.paths and _width(table, between) > width:
        table = _paths_below(table, width, between)
    widths = _widths(_columns(table))
    room = width - _EDGE - between * (len(widths) - 1)
    narrow = _narrowed(widths, room)
    if narrow == widths:
        return table
    rows = tuple(tuple(map(_wrapped, row, narrow)) for row in table.rows)
    return replace(table, header=tuple(map(_wrapped, table.header, narrow)), rows=rows)


def _columns(table: Table) -> list[tuple[str, ...]]:
    return list(zip(*((table.header, *table.rows) if table.header else table.rows), strict=True))


def _widths(columns: list[tuple[str, ...]]) -> list[int]:
    return [max(len(line) for cell in column for line in cell.split("\n")) for column in columns]


def _width(table: Table, between: int) -> int:
    widths = _widths(_columns(table))
    return _EDGE + sum(widths) + between * (len(widths) - 1)


def _paths_below(table: Table, width: int, between: int) -> Table:
    """Moves the cells of the last column below those of the previous one, shortened to the available width."""
    *first, _, _ = _widths(_columns(table))
    room = max(width - _EDGE - sum(first) - between * len(first), 2 * _LEAST)
    rows = tuple((*row[:-2], "\n".join(filter(None, (row[-2], elided(row[-1], room))))) for row in table.rows)
    return replace(table, header=_joined(table.header), rows=rows, paths=False)


def _joined(header: Row) -> Row:
    return (*header[:-2], ", ".join(header[-2:])) if header else header


def _narrowed(widths: list[int], room: int) -> list[int]:
    """Takes the excess width from the widest column, one character at a time."""
    narrow = list(widths)
    while sum(narrow) > room and max(narrow) > _LEAST:
        narrow[narrow.index(max(narrow))] -= 1
    return narrow


def _wrapped(cell: str, width: int) -> str:
    parts = (part for line in cell.split("\n") for part in _parts(line, width))
    return "\n".join(
        part if len(part) <= width else "\n".join(wrap(part, width, break_on_hyphens=False)) for part in parts
    )


def _parts(line: str, width: int) -> list[str]:
    """Puts parts separated by semicolons on lines of their own, if they do not fit on one line."""
    return [line] if len(line) <= width else line.replace("; ", ";\n").split("\n")


def elided(path: str, width: int) -> str:
    """A path without its middle. The end of a path says more than its beginning."""
    if len(path) <= width:
        return path
    end = max(width * 2 // 3, 1)
    return f"{path[: width - end - 1]}{_GAP}{path[-end:]}"
