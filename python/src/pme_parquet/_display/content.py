"""What a result shows when a user prints it: a title, tables and lines, as text, HTML or rich's tables.

The forms do not change texts. Code that makes a `Shown` from texts of a file or a user must apply `words.printable`.
Tables are fitted into the width of a terminal: sentences are wrapped, paths lose their middle.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions, RenderableType

Row = tuple[str, ...]
_EDGE = 2
# A narrower column is unreadable. The terminal breaks the line instead.
_LEAST = 12
_GAP = "…"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below a header; a list of single lines has none.

    Attributes:
        header: a title for each column.
        rows: as long as the header, or each other.
        styles: rich's style of each row on a terminal; empty, or one for each row.
        free: whether its last column takes the room it wants, as where it has what is copied to a shell.
        paths: whether the last column has paths. Where there is no room for them they stand below the column before.
    """

    header: Row
    rows: tuple[Row, ...]
    styles: Row = ()
    paths: bool = False
    free: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence, and rich's style of it on a terminal."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What every form shows, from top to bottom."""

    title: str
    tables: tuple[Table, ...] = ()
    lines: tuple[Line, ...] = ()


def how_reached(storage: str) -> tuple[Line, ...]:
    """A line that says how a storage was reached; none for local files."""
    return (Line(f"storage: {storage}"),) if storage else ()


def text(shown: Shown) -> str:
    """Lines for any terminal, log or file. Tables are as wide as the terminal, or COLUMNS, or 80 characters."""
    from shutil import get_terminal_size  # noqa: PLC0415 slow to import

    width = get_terminal_size().columns
    tables = [line for table in shown.tables for line in ("", *_rows(table, width))]
    lines = [line.text for line in shown.lines]
    return "\n".join([shown.title, *tables, *([""] if lines else []), *lines])


def html(shown: Shown) -> str:
    """HTML for a notebook; every text is escaped."""
    from html import escape  # noqa: PLC0415 only here

    def row(tag: str, cells: Row) -> str:
        style = ' style="text-align: left"'
        return f"<tr>{''.join(f'<{tag}{style}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    parts = [f"<p><strong>{escape(shown.title)}</strong></p>"]
    for table in shown.tables:
        header = row("th", table.header) if table.header else ""
        parts.append(f"<table>{header}{''.join(row('td', cells) for cells in table.rows)}</table>")
    items = "".join(f"<li>{escape(line.text)}</li>" for line in shown.lines)
    return "".join([*parts, f"<ul>{items}</ul>" if items else ""])


def rich(shown: Shown) -> RenderableType:
    """Rich's tables for a terminal; texts are never read as rich's markup."""
    from rich.console import Group  # noqa: PLC0415 only here
    from rich.text import Text  # noqa: PLC0415 as above

    tables = [_Drawn(table) for table in shown.tables]
    lines = [Text(line.text, style=line.style) for line in shown.lines]
    return Group(Text(shown.title, style="bold"), *tables, *lines)


class _Drawn:
    """A table that rich draws in the available width."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.box import SIMPLE_HEAD  # noqa: PLC0415 only here
        from rich.table import Table as Drawn  # noqa: PLC0415 as above
        from rich.text import Text  # noqa: PLC0415 as above

        # Two at each edge, and three between columns.
        fitted = fit(self._table, options.max_width - 1, between=3)
        drawn = Drawn(box=SIMPLE_HEAD, show_header=bool(fitted.header), pad_edge=False)
        titles = fitted.header or fitted.rows[0]
        for number, title in enumerate(titles, start=1):
            is_free = fitted.free and number == len(titles)
            drawn.add_column(Text(title), no_wrap=not is_free, overflow="fold" if is_free else "ellipsis")
        for row, style in zip(fitted.rows, fitted.styles or ("",) * len(fitted.rows), strict=True):
            drawn.add_row(*(Text(cell) for cell in row), style=style)
        yield drawn


def _rows(table: Table, width: int) -> Iterator[str]:
    fitted = fit(table, width)
    rows = [
        tuple(cell.split("\n") for cell in row) for row in ((fitted.header,) if fitted.header else ()) + fitted.rows
    ]
    widths = [max(len(line) for cell in column for line in cell) for column in zip(*rows, strict=True)]
    for row in rows:
        for cells in zip_longest(*row, fillvalue=""):
            yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


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


class Showable(ABC):
    """A result that defines its content in `_shown`. It has the forms that terminals and notebooks ask for."""

    @property
    @abstractmethod
    def _shown(self) -> Shown:
        """The title, tables and lines of every form."""

    def __str__(self) -> str:
        return text(self._shown)

    def _repr_html_(self) -> str:
        return html(self._shown)

    def __rich__(self) -> RenderableType:
        return rich(self._shown)
