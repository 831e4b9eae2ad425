"""The three forms of a content: text, HTML for a notebook, and rich's tables for a terminal."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from pme_parquet._display.fitting import fit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions, RenderableType

    from pme_parquet._display.content import Row, Shown, Table


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
