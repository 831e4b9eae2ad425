"""The tables that inspected files belong to, with what their snapshots state.

A table is a directory with data files, without the names of partitions (`day=1`) at its end.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from pme_parquet._display.words import number, printable
from pme_parquet._inspect import problems
from pme_parquet._inspect.inspected import Finding, InspectedTable
from pme_parquet._snapshots.listing import DIRECTORY, below, within
from pme_parquet._storage import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Executor

    from pme_parquet._snapshots.version import SnapshotVersion
    from pme_parquet._storage import Found


class _Place(NamedTuple):
    """A table: its path, its path below the inspected one, its files, and whether all of its files were listed."""

    path: str
    shown: str
    files: Sequence[Found]
    whole: bool = True


def tables(
    path: str, found: Sequence[Found], options: Mapping[str, Any] | None, threads: Executor
) -> tuple[InspectedTable, ...]:
    """The tables of the files below a path; none for a single file.

    Args:
        path: the inspected path.
        found: its files.
        options: of fsspec.
        threads: to read with.
    """
    if any(file.alone for file in found):
        return ()
    looked = threads.map(lambda place: _looked(place, options), _places(path, found))
    # A directory above several tables is a table only if it looks like one.
    return tuple(table for place, table in looked if place.files or table.has_snapshots or not found)


def _places(path: str, found: Sequence[Found]) -> list[_Place]:
    files: dict[tuple[str, ...], list[Found]] = defaultdict(list)
    for file in found:
        files[_without_partitions(file.shown.replace(os.sep, "/").split("/")[:-1])].append(file)
    of_path = files.pop((), [])
    table = _table_of(path)
    first = _Place(path, "", of_path) if table == path else _Place(table, shown(table), of_path, whole=False)
    return [first, *(_Place(below(path, *names), "/".join(names), files[names]) for names in sorted(files))]


def _without_partitions(names: Sequence[str]) -> tuple[str, ...]:
    end = len(names)
    while end and "=" in names[end - 1]:
        end -= 1
    return tuple(names[:end])


def _table_of(path: str) -> str:
    """The table that a path is a partition of, or the path itself."""
    first, chain, rest = path.partition("::")
    names = first.rstrip("/").split("/")
    table = _without_partitions(names)
    # A relative path of partitions alone does not say where its table is.
    return path if len(table) in {0, len(names)} else "/".join(table) + chain + rest


def _looked(place: _Place, options: Mapping[str, Any] | None) -> tuple[_Place, InspectedTable]:
    snapshots, newest = within(place.path, options)
    where = f"{place.shown}/{DIRECTORY}".lstrip("/") if place.whole else snapshots.location
    findings = [_finding(where, problem) for problem in snapshots.problems]
    if newest and place.whole:
        findings += _differing(place, newest, where)
    return place, InspectedTable(place.shown, len(snapshots.versions), newest, tuple(findings))


def _finding(where: str, problem: str) -> Finding:
    """A finding with the place of a problem, whose text begins with its condition unless the storage failed."""
    condition = problem[1:].partition("]")[0] if problem.startswith("[") else ""
    message = problem.removeprefix(f"[{condition}] ") if condition else problem
    return Finding(where, condition, f"[{condition}] {printable(where)}: {message}" if condition else message)


def _differing(place: _Place, newest: SnapshotVersion, where: str) -> list[Finding]:
    """A finding if numbers show that a read by the newest version would refuse the files."""
    files = [file for file in place.files if file.bytes]  # Spark ignores files without a byte
    there = len(files), sum(file.bytes for file in files)
    if there == (newest.files, newest.bytes):
        return []
    numbers = (newest.files, newest.bytes), there
    listed, found = (f"{number(count, 'file')} of {number(length, 'byte')}" for count, length in numbers)
    error = problems.not_as_listed(where, newest.version, listed, found)
    return [Finding(where, error.condition, printable(error.message))]
