"""An inspection as text, HTML and rich's tables show it: one file line by line, several files by groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._inspect import words
from pme_parquet._inspect.causes import Told, by_cause
from pme_parquet._inspect.words import printable
from pme_parquet._shown import Line, Row, Shown, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pme_parquet._inspect.report import Column, InspectedFile, Inspection, Key

_MOST = 20


def shown(report: Inspection) -> Shown:
    """What is told of it, with what its files say made printable."""
    one = len(report.files) == 1
    tables = _of_file(report.files[0]) if one else (_of_groups(report),) if report.files else ()
    drift = (Line(line, "yellow") for line in report.drift)
    findings = (Line(line, "red") for line in _findings(report))
    return Shown(_title(report), tuple(tables), (*drift, *findings))


def _title(report: Inspection) -> str:
    total = sum(file.bytes for file in report.files)
    told = f"{printable(report.path)}: {words.number(len(report.files), 'file')}, {words.size(total)}"
    encrypted = sum(file.encrypted for file in report.files)
    return f"{told}, {encrypted:,} encrypted" if len(report.files) != 1 else told


def _findings(report: Inspection) -> Iterator[str]:
    return by_cause(Told(finding.condition, finding.file, finding.message) for finding in report.findings)


def _of_groups(report: Inspection) -> Table:
    rows = []
    for group in report.groups[:_MOST]:
        file = group.example
        told = (file.footer or "not known", file.algorithm or "", words.key_ids(file), file.file)
        rows.append((f"{group.files:,}", words.size(group.bytes), *map(printable, told)))
    return Table(("files", "size", "footer", "algorithm", "keys", "first file"), tuple(rows), paths=True)


def _of_file(file: InspectedFile) -> Iterator[Table]:
    yield Table((), tuple((name, printable(value)) for name, value in _told(file) if value))
    if file.columns:
        header = ("column", "size", "encrypted with")
        yield Table(header, tuple(_of_column(column) for column in file.columns))


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
    return printable(column.name), words.size(column.compressed_bytes), printable(told)
