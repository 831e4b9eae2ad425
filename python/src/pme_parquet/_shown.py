"""What is shown three ways, as text, as HTML in a notebook and by rich on a terminal: a title, tables and lines.

Texts are shown as they are: who makes a `Shown` of what a file or a user says takes `_inspect.words.printable` of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

# The last columns of a table hold sentences and paths.
_WRAPPED = 2
Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below a header; a list of what is told line by line has none.

    Attributes:
        header: a title for each column.
        rows: as long as the header, or each other.
        styles: rich's style of each row, on a terminal; none, or one for each.
    """

    header: Row
    rows: tuple[Row, ...]
    styles: Row = ()


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence, and rich's style of it on a terminal."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What every form shows, from above."""

    title: str
    tables: tuple[Table, ...] = ()
    lines: tuple[Line, ...] = ()


def text(shown: Shown) -> str:
    """Lines for any terminal, log or file."""
    tables = [line for table in shown.tables for line in ("", *_rows(table))]
    lines = [line.text for line in shown.lines]
    return "\n".join([shown.title, *tables, *([""] if lines else []), *lines])


def html(shown: Shown) -> str:
    """For a notebook; every text is escaped."""
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
    """For a terminal; texts are never read as rich's markup."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 only here
    from rich.console import Group  # noqa: PLC0415 as above
    from rich.table import Table as Drawn  # noqa: PLC0415 as above
    from rich.text import Text  # noqa: PLC0415 as above

    parts: list[RenderableType] = [Text(shown.title, style="bold")]
    for table in shown.tables:
        drawn = Drawn(box=SIMPLE_HEAD, show_header=bool(table.header), pad_edge=False)
        columns = table.header or table.rows[0]
        for number, title in enumerate(columns):
            drawn.add_column(Text(title), overflow="fold", no_wrap=number < len(columns) - _WRAPPED)
        for row, style in zip(table.rows, table.styles or ("",) * len(table.rows), strict=True):
            drawn.add_row(*(Text(cell) for cell in row), style=style)
        parts.append(drawn)
    parts += [Text(line.text, style=line.style) for line in shown.lines]
    return Group(*parts)


def _rows(table: Table) -> Iterator[str]:
    rows = (table.header, *table.rows) if table.header else table.rows
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
