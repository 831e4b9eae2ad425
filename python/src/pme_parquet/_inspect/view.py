"""An inspection in the form that text, HTML and rich's tables share: one file line by line, several files by groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._display.causes import Grouped, by_cause
from pme_parquet._display.content import Line, Row, Shown, Table
from pme_parquet._display.words import FOOTERS, number, printable, size
from pme_parquet._inspect.key_words import aad_prefix, key_details, key_id, key_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pme_parquet._inspect.inspected import Column, Finding, Group, InspectedFile, Key

_MOST = 20


def shown(
    path: str,
    files: Sequence[InspectedFile],
    groups: Sequence[Group],
    drift: Sequence[str],
    findings: Sequence[Finding],
) -> Shown:
    """The view of an inspection; texts from files are made printable."""
    tables = _of_file(files[0]) if len(files) == 1 else (_of_groups(groups),) if files else ()
    differences = (Line(line, "yellow") for line in drift)
    wrong = (Line(line, "red") for line in _findings(findings))
    return Shown(_title(path, files), tuple(tables), (*differences, *wrong))


def _title(path: str, files: Sequence[InspectedFile]) -> str:
    text = f"{printable(path)}: {number(len(files), 'file')}, {size(sum(file.bytes for file in files))}"
    encrypted = sum(file.encrypted for file in files)
    return f"{text}, {encrypted:,} encrypted" if len(files) != 1 else text


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    return by_cause(Grouped(finding.condition, finding.file, finding.message) for finding in findings)


def _of_groups(groups: Sequence[Group]) -> Table:
    rows = []
    for group in groups[:_MOST]:
        file = group.example
        cells = (file.footer or "not known", file.algorithm or "", key_ids(file), file.file)
        rows.append((f"{group.files:,}", size(group.bytes), *map(printable, cells)))
    return Table(("files", "size", "footer", "algorithm", "keys", "first file"), tuple(rows), paths=True)


def _of_file(file: InspectedFile) -> Iterator[Table]:
    yield Table((), tuple((name, printable(value)) for name, value in _fields(file) if value))
    if file.columns:
        header = ("column", "size", "encrypted with")
        yield Table(header, tuple(_of_column(column) for column in file.columns))


def _fields(file: InspectedFile) -> Iterator[tuple[str, str]]:
    hidden = "not visible without the footer key" if file.footer == "encrypted" else ""
    yield "footer", FOOTERS[file.footer]
    yield "algorithm", file.algorithm or ""
    yield "AAD prefix", aad_prefix(file)
    if file.footer_key:
        yield "footer key", _key(file.footer_key)
    for key in file.column_keys[:_MOST]:
        yield "column key", _key(key)
    if len(file.column_keys) > _MOST:
        yield "", f"and {len(file.column_keys) - _MOST:,} more column keys"
    yield "columns", hidden if file.columns is None else f"{len(file.columns):,}"
    yield "rows", hidden if file.rows is None else f"{file.rows:,} in {number(file.row_groups or 0, 'row group')}"
    yield "written by", hidden if file.created_by is None else file.created_by


def _key(key: Key) -> str:
    details = key_details(key)
    return f"{key_id(key)}: {details}" if details else key_id(key)


def _of_column(column: Column) -> Row:
    key = "" if column.key is None else f": {key_id(column.key)}"
    protection = f"{column.encrypted_with}{key}" if column.encrypted_with else "not encrypted"
    return printable(column.name), size(column.compressed_bytes), printable(protection)
