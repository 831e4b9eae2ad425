"""A plan as a title, tables and lines. Names of columns and keys are users', and stand as `printable` gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._inspect.words import FOOTERS, number, printable
from pme_parquet._shown import Line, Shown, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pme_parquet._plan import Plan, PlannedColumn, PlannedFiles

_MOST = 200


def shown(plan: Plan) -> Shown:
    """What every form shows."""
    tables = [Table((), tuple((name, printable(value)) for name, value in _of_files(plan.files) if value))]
    if plan.columns:
        listed = plan.columns[:_MOST]
        rows = tuple(tuple(map(printable, _of_column(column))) for column in listed)
        styles = tuple("" if column.key else "yellow" for column in listed)
        tables.append(Table(("column", "type", "key", "because"), rows, styles))
    return Shown(_title(plan), tuple(tables), tuple(_lines(plan)))


def _title(plan: Plan) -> str:
    partitions = sum(column.by == "partition column" for column in plan.columns)
    columns = number(len(plan.columns) - partitions, "leaf column")
    told = f"Plan of a write: {columns}, {sum(column.key is not None for column in plan.columns):,} encrypted"
    told += f", {number(partitions, 'partition column')}" if partitions else ""
    return told


def _of_files(files: PlannedFiles) -> Iterator[tuple[str, str]]:
    yield "footer", f"{FOOTERS[files.footer]}, by key '{files.footer_key}'"
    yield "algorithm", files.algorithm
    if files.key_management == "direct":
        yield "data keys", "the named keys themselves"
    else:
        place = "in" if files.key_material == "internal" else "beside"
        yield "data keys", f"{files.data_key_bits} bits, {place} the file"
        between = f"a key encryption key of {files.kek_bits} bits, and that by " if files.kek_bits else ""
        yield "wrapped by", f"{between}the master key"
    if files.aad_prefix is not None:
        yield "AAD prefix", f"{files.aad_prefix} ({'kept in' if files.store_aad_prefix else 'not in'} the file)"
    yield "unlisted columns", files.unlisted_columns
    yield "KMS", files.kms


def _of_column(column: PlannedColumn) -> tuple[str, ...]:
    return column.path, column.type, column.key or "", _because(column)


def _because(column: PlannedColumn) -> str:
    if column.by == "column key":
        return f"column key, by '{column.pattern}'"
    return {
        "plaintext": "plaintext: no key names it",
        "partition column": "partition column: its values are names of directories",
        "refused": "refused, see below",
    }.get(column.by, column.by)


def _lines(plan: Plan) -> Iterator[Line]:
    if len(plan.columns) > _MOST:
        yield Line(f"and {len(plan.columns) - _MOST:,} columns more: to_dict() has all")
    for told in plan.exposed:
        yield Line(f"readable to whoever gets at the files: {printable(told)}", "yellow")
    for entry in plan.unmatched:
        near = f"; nearest: {', '.join(entry.nearest)}" if entry.nearest else ""
        yield Line(printable(f"matches nothing: '{entry.pattern}' of key '{entry.key}'{near}"), "red")
    for refusal in plan.refusals:
        yield Line(f"the write would be refused: {printable(refusal.message)}", "red")
    yield Line("Nothing was written, and the KMS was not called.")
