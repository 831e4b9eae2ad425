"""A plan as a title, tables and lines. Names of columns and keys come from users, so they pass through `printable`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._display.content import Line, Shown, Table
from pme_parquet._display.words import FOOTERS, number, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pme_parquet._plan.parts import PlannedColumn, PlannedFiles, Refusal, UnmatchedPattern

_MOST = 200


def shown(
    columns: Sequence[PlannedColumn],
    files: PlannedFiles,
    exposed: Sequence[str],
    unmatched: Sequence[UnmatchedPattern],
    refusals: Sequence[Refusal],
) -> Shown:
    """The view of a plan."""
    tables = [Table((), tuple((name, printable(value)) for name, value in _of_files(files) if value))]
    if columns:
        listed = columns[:_MOST]
        rows = tuple(tuple(map(printable, _of_column(column))) for column in listed)
        styles = tuple("" if column.key else "yellow" for column in listed)
        tables.append(Table(("column", "type", "key", "reason"), rows, styles))
    more = [Line(f"and {len(columns) - _MOST:,} more columns; to_dict() lists all")] if len(columns) > _MOST else []
    return Shown(_title(columns), tuple(tables), (*more, *_lines(exposed, unmatched, refusals)))


def _title(columns: Sequence[PlannedColumn]) -> str:
    partitions = sum(column.by == "partition column" for column in columns)
    leaves = number(len(columns) - partitions, "leaf column")
    text = f"Plan of a write: {leaves}, {sum(column.key is not None for column in columns):,} encrypted"
    text += f", {number(partitions, 'partition column')}" if partitions else ""
    return text


def _of_files(files: PlannedFiles) -> Iterator[tuple[str, str]]:
    yield "footer", f"{FOOTERS[files.footer]}, key '{files.footer_key}'"
    yield "algorithm", files.algorithm
    if files.key_management == "direct":
        yield "data keys", "the named keys themselves"
    else:
        place = "in" if files.key_material == "internal" else "beside"
        yield "data keys", f"{files.data_key_bits} bits, {place} the file"
        between = f"a key-encryption key ({files.kek_bits} bits), wrapped by " if files.kek_bits else ""
        yield "wrapped by", f"{between}the master key"
    if files.aad_prefix is not None:
        yield "AAD prefix", f"{files.aad_prefix} ({'in' if files.store_aad_prefix else 'not in'} the file)"
    yield "unlisted columns", files.unlisted_columns
    yield "KMS", files.kms


def _of_column(column: PlannedColumn) -> tuple[str, ...]:
    return column.path, column.type, column.key or "", _because(column)


def _because(column: PlannedColumn) -> str:
    if column.by == "column key":
        return f"column key, by '{column.pattern}'"
    return {
        "plaintext": "plaintext: no key names it",
        "partition column": "partition column: its values are readable in directory names",
        "refused": "refused, see below",
    }.get(column.by, column.by)


def _lines(
    exposed: Sequence[str], unmatched: Sequence[UnmatchedPattern], refusals: Sequence[Refusal]
) -> Iterator[Line]:
    for line in exposed:
        yield Line(f"readable by anyone with access to the files: {printable(line)}", "yellow")
    for entry in unmatched:
        near = f"; nearest: {', '.join(entry.nearest)}" if entry.nearest else ""
        yield Line(printable(f"'{entry.pattern}' of key '{entry.key}' matches no column{near}"), "red")
    for refusal in refusals:
        yield Line(f"The write would fail: {printable(refusal.message)}", "red")
    yield Line("Nothing was written, and the KMS was not called.")
