"""An inspection as text, as HTML and as rich's tables: one file line by line, several files by groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pme_parquet._inspect import words
from pme_parquet._inspect.words import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from pme_parquet._inspect.report import Column, InspectedFile, Inspection, Key

_MOST = 20
# The last columns of a table hold sentences and paths.
_WRAPPED = 2
Row = tuple[str, ...]


@dataclass(frozen=True)
class _Table:
    """Rows below a header; a list of what is told line by line has none."""

    header: Row
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class _Shown:
    """What every form shows: a title, tables, differences, findings."""

    title: str
    tables: tuple[_Table, ...]
    drift: tuple[str, ...]
    findings: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        return self.drift + self.findings


def text(report: Inspection) -> str:
    """Lines for any terminal, log or file."""
    shown = _shown(report)
    tables = [line for table in shown.tables for line in ("", *_lines(table))]
    return "\n".join([shown.title, *tables, *([""] if shown.lines else []), *shown.lines])


def html(report: Inspection) -> str:
    """For a notebook; every text of a file is escaped."""
    from html import escape  # noqa: PLC0415 only here

    def row(tag: str, cells: Row) -> str:
        style = ' style="text-align: left"'
        return f"<tr>{''.join(f'<{tag}{style}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    shown = _shown(report)
    parts = [f"<p><strong>{escape(shown.title)}</strong></p>"]
    for table in shown.tables:
        header = row("th", table.header) if table.header else ""
        parts.append(f"<table>{header}{''.join(row('td', cells) for cells in table.rows)}</table>")
    items = "".join(f"<li>{escape(line)}</li>" for line in shown.lines)
    return "".join([*parts, f"<ul>{items}</ul>" if items else ""])


def rich(report: Inspection) -> RenderableType:
    """For a terminal; texts are never read as rich's markup."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 only here
    from rich.console import Group  # noqa: PLC0415 as above
    from rich.table import Table  # noqa: PLC0415 as above
    from rich.text import Text  # noqa: PLC0415 as above

    shown = _shown(report)
    parts: list[RenderableType] = [Text(shown.title, style="bold")]
    for table in shown.tables:
        drawn = Table(box=SIMPLE_HEAD, show_header=bool(table.header), pad_edge=False)
        columns = table.header or table.rows[0]
        for number, title in enumerate(columns):
            drawn.add_column(Text(title), overflow="fold", no_wrap=number < len(columns) - _WRAPPED)
        for row in table.rows:
            drawn.add_row(*(Text(cell) for cell in row))
        parts.append(drawn)
    parts += [Text(line, style="yellow") for line in shown.drift]
    parts += [Text(line, style="red") for line in shown.findings]
    return Group(*parts)


def _shown(report: Inspection) -> _Shown:
    one = len(report.files) == 1
    tables = _of_file(report.files[0]) if one else (_of_groups(report),) if report.files else ()
    return _Shown(_title(report), tuple(tables), report.drift, tuple(_findings(report)))


def _title(report: Inspection) -> str:
    total = sum(file.bytes for file in report.files)
    told = f"{printable(report.path)}: {words.number(len(report.files), 'file')}, {words.size(total)}"
    encrypted = sum(file.encrypted for file in report.files)
    return f"{told}, {encrypted:,} encrypted" if len(report.files) != 1 else told


def _findings(report: Inspection) -> Iterator[str]:
    findings = [finding.message for finding in report.findings]
    yield from findings[:_MOST]
    if len(findings) > _MOST:
        yield f"and {len(findings) - _MOST:,} findings more: --json and to_dict() have all"


def _of_groups(report: Inspection) -> _Table:
    rows = []
    for group in report.groups[:_MOST]:
        file = group.example
        told = (file.footer or "not known", file.algorithm or "", words.key_ids(file), file.file)
        rows.append((f"{group.files:,}", words.size(group.bytes), *map(printable, told)))
    return _Table(("files", "size", "footer", "algorithm", "keys", "the first"), tuple(rows))


def _of_file(file: InspectedFile) -> Iterator[_Table]:
    yield _Table((), tuple((name, printable(value)) for name, value in _told(file) if value))
    if file.columns:
        header = ("column", "size", "encrypted with")
        yield _Table(header, tuple(_of_column(column) for column in file.columns))


def _told(file: InspectedFile) -> Iterator[tuple[str, str]]:
    hidden = "not visible without the footer key" if file.footer == "encrypted" else ""
    yield "footer", words.FOOTERS[file.footer]
    yield "algorithm", file.algorithm or ""
    yield "AAD prefix", words.aad_prefix(file)
    if file.footer_key:
        yield "footer key", _key(file.footer_key)
    for key in file.column_keys[:_MOST]:
        yield "column key", _key(key)
    if len(file.column_keys) > _MOST:
        yield "", f"and {len(file.column_keys) - _MOST:,} column keys more"
    yield "columns", hidden if file.columns is None else f"{len(file.columns):,}"
    yield "rows", hidden if file.rows is None else f"{file.rows:,} in {words.number(file.row_groups or 0, 'row group')}"
    yield "written by", hidden if file.created_by is None else file.created_by


def _key(key: Key) -> str:
    details = words.key_details(key)
    return f"{words.key_id(key)}: {details}" if details else words.key_id(key)


def _of_column(column: Column) -> Row:
    key = "" if column.key is None else f": {words.key_id(column.key)}"
    told = f"{column.encrypted_with}{key}" if column.encrypted_with else "not encrypted"
    return printable(column.path), words.size(column.compressed_bytes), printable(told)


def _lines(table: _Table) -> Iterator[str]:
    rows = (table.header, *table.rows) if table.header else table.rows
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
