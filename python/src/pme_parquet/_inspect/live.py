"""Which inspected files of Delta tables are live. Delta's own protocol says so: `deltalake`, or a session's Delta."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from pme_parquet._audience import Words
from pme_parquet._inspect.formats import DELTA
from pme_parquet._inspect.tables import table_above
from pme_parquet._logs.live import NOT_INSTALLED, Live, is_installed
from pme_parquet._logs.said import said
from pme_parquet._snapshots.listing import below
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from pme_parquet._access import Access
    from pme_parquet._inspect.inspected import InspectedFile, InspectedTable


def with_live(
    where: str,
    files: Sequence[InspectedFile],
    tables: Sequence[InspectedTable],
    reached: Access,
    spark: SparkSession | None,
) -> tuple[tuple[InspectedFile, ...], tuple[InspectedTable, ...]]:
    """The files and the tables, with what is known of files that are live."""
    owners = {table.table: table for table in tables if table.format == DELTA}
    if not owners:
        return tuple(files), tuple(tables)
    whole, above = table_above(where)
    inside = "" if whole == where else f"{above}/"
    known: dict[str, InspectedTable] = {}
    states: dict[str, bool] = {}
    for name, table in owners.items():
        is_below = bool(name) and whole == where
        prefix = f"{name}/" if is_below else ""
        own = [file.file for file in files if _slashes(file.file).startswith(prefix)]
        answer = _ask(below(where, *name.split("/")) if is_below else whole, reached, spark)
        live = answer.files
        if live is None:
            known[name] = replace(table, live_problem=answer.problem)
            continue
        of_table = {
            file: (_slashes(file).removeprefix(prefix) if is_below else inside + _slashes(file)) for file in own
        }
        states |= {file: inner in live for file, inner in of_table.items()}
        alive = sum(states[file] for file in own)
        wanted = sum(one.startswith(inside) for one in live)
        known[name] = replace(
            table,
            version=answer.version,
            live_by=answer.by,
            live=alive,
            not_live=len(own) - alive,
            live_elsewhere=wanted - alive,
        )
    marked = tuple(replace(file, live=states[file.file]) if file.file in states else file for file in files)
    return marked, tuple(known.get(table.table, table) for table in tables)


def _slashes(path: str) -> str:
    return path.replace(os.sep, "/")


def _ask(table: str, reached: Access, spark: SparkSession | None) -> Live:
    """`deltalake` first, since it starts no job."""
    answer = Live(problem=NOT_INSTALLED)
    if is_installed():
        try:
            answer = said(table, reached)
        except PmeError as failed:
            answer = Live(problem=f"the storage failed ({failed.condition or type(failed).__name__})")
    if answer.files is None and spark is not None:
        from pme_parquet._logs.session import by_session  # noqa: PLC0415 only with Spark

        return by_session(table, spark, answer.problem, Words("pme.inspect"))
    return answer
