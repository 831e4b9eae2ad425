"""The tables that inspected files belong to, with their formats and what their snapshots state.

A table is a directory with data files, without the names of partitions (`day=1`) at its end. A Delta or Hudi table at
the inspected path has all files below it, and an Iceberg table those beside and below its metadata.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from pme_parquet._display.words import number, printable
from pme_parquet._inspect import problems
from pme_parquet._inspect.formats import ICEBERG, iceberg_tables, log_format, metadata_of, names_of, table_of
from pme_parquet._inspect.inspected import Finding, InspectedTable
from pme_parquet._inspect.tails import is_data
from pme_parquet._snapshots.listing import DIRECTORY, below, within
from pme_parquet._storage import shown
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from concurrent.futures import Executor

    from pme_parquet._inspect.formats import Names
    from pme_parquet._snapshots.version import SnapshotVersion
    from pme_parquet._storage import Found, Storage


class _Place(NamedTuple):
    """A table: its path, its path below the inspected one, its files, whether all of its files were listed, its format.

    Iceberg's files of metadata are not among the files, and counted.
    """

    path: str
    shown: str
    files: Sequence[Found]
    whole: bool = True
    format: str | None = None
    metadata: int = 0


def without_metadata(
    storage: Storage, found: Sequence[Found], threads: Executor
) -> tuple[Sequence[Found], Mapping[Names, int]]:
    """Files without those of Iceberg's metadata, and the number of these for each Iceberg table.

    Names alone make no file metadata: whoever can write to the storage could hide a data file by its name.
    """
    tables = iceberg_tables(found)

    def owner_of(file: Found) -> Names | None:
        owner = metadata_of(file, tables)
        return None if owner is None or is_data(storage, file) else owner

    owners = list(threads.map(owner_of, found)) if tables else [None] * len(found)
    data = [file for file, owner in zip(found, owners, strict=True) if owner is None]
    return data, Counter(owner for owner in owners if owner is not None)


def tables(
    path: str,
    found: Sequence[Found],
    iceberg: Mapping[Names, int],
    options: Mapping[str, Any] | None,
    threads: Executor,
) -> tuple[InspectedTable, ...]:
    """The tables of the files below a path; none for a single file.

    Args:
        path: the inspected path.
        found: its files, without Iceberg's metadata.
        iceberg: the Iceberg tables below the path, as `without_metadata` found them.
        options: of fsspec.
        threads: to read with.
    """
    if any(file.alone for file in found):
        return ()
    looked = threads.map(lambda place: _looked(place, options), _places(path, found, iceberg, options))
    # A directory above several tables is a table only if it looks like one.
    return tuple(
        table for place, table in looked if place.files or table.has_snapshots or table.format or not (found or iceberg)
    )


def _places(
    path: str, found: Sequence[Found], iceberg: Mapping[Names, int], options: Mapping[str, Any] | None
) -> list[_Place]:
    table = _table_of(path)
    format_of_path = ICEBERG if () in iceberg else _format(table, options)
    known: Collection[Names] = {*iceberg, ()} if format_of_path and table == path else iceberg
    files: dict[Names, list[Found]] = {names: [] for names in iceberg}
    for file in found:
        directory = names_of(file)[:-1]
        owner = table_of(directory, known)
        files.setdefault(_without_partitions(directory) if owner is None else owner, []).append(file)
    first = _Place(
        table,
        "" if table == path else shown(table),
        files.pop((), []),
        table == path,
        format_of_path,
        iceberg.get((), 0),
    )
    others = (
        _Place(
            below(path, *names),
            "/".join(names),
            files[names],
            format=ICEBERG if names in iceberg else None,
            metadata=iceberg.get(names, 0),
        )
        for names in sorted(files)
    )
    return [first, *others]


def _format(table: str, options: Mapping[str, Any] | None) -> str | None:
    """The format of a table by its log; none if the storage cannot say, which is a finding later."""
    try:
        return log_format(table, options)
    except PmeError:
        return None


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


def table_above(path: str) -> tuple[str, str]:
    """The table that a path is a partition of, or the path itself; and the names of the partition."""
    table = _table_of(path)
    first, other = (one.partition("::")[0].rstrip("/") for one in (path, table))
    return table, first[len(other) :].strip("/")


def _looked(place: _Place, options: Mapping[str, Any] | None) -> tuple[_Place, InspectedTable]:
    snapshots, newest = within(place.path, options)
    where = f"{place.shown}/{DIRECTORY}".lstrip("/") if place.whole else snapshots.location
    findings = [_finding(where, problem) for problem in snapshots.problems]
    if newest and place.whole:
        findings += _differing(place, newest, where)
    found = place.format
    if found is None:
        try:
            found = log_format(place.path, options)
        except PmeError as failed:
            findings.append(Finding(place.shown, failed.condition, printable(failed.message)))
    versions = len(snapshots.versions)
    return place, InspectedTable(place.shown, versions, newest, tuple(findings), found or "", place.metadata)


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
