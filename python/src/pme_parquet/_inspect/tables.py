"""The tables that inspected files belong to: their formats, what their snapshots state, and which files are live.

A table is a directory with data files, without the names of partitions (`day=1`) at its end. A Delta or Hudi table at
the inspected path has all files below it, and an Iceberg table those next to and below its metadata. Of the files below
a Delta table, `deltalake` or a session's Delta says which are live; logs and metadata are not read here otherwise.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pme_parquet._audience import Words
from pme_parquet._delta_log import live
from pme_parquet._display.words import number, printable
from pme_parquet._inspect import problems
from pme_parquet._inspect.footers import is_data
from pme_parquet._inspect.inspected import DELTA, HUDI, ICEBERG, Finding, InspectedTable
from pme_parquet._snapshots.listing import DIRECTORY, below, within
from pme_parquet._storage import shown, storage
from pme_parquet.errors import BadOptionError, PmeError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from pyspark.sql import SparkSession

    from pme_parquet._access import Access
    from pme_parquet._inspect.inspected import InspectedFile
    from pme_parquet._snapshots.version import SnapshotVersion
    from pme_parquet._storage import Found, Storage

    # The names of directories from the inspected path to a table.
    Names = tuple[str, ...]

_LOGS = {DELTA: "_delta_log", HUDI: ".hoodie"}
_METADATA = "metadata"
_NEWEST = ".metadata.json"
# A Parquet file in this directory is data that somebody put there.
_OF_METADATA = re.compile(r".+\.(?:avro|json|puffin|stats)|version-hint\.text")


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
    named = (_names_of(file) for file in found if file.name.endswith(_NEWEST) and not file.is_path)
    tables = {names[:-2] for names in named if names[-2:-1] == (_METADATA,)}

    def owner_of(file: Found) -> Names | None:
        *above, name = _names_of(file)
        owner = tuple(above[:-1])
        is_metadata = above[-1:] == [_METADATA] and _OF_METADATA.fullmatch(name) and owner in tables
        return owner if is_metadata and not is_data(storage, file) else None

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
    if any(file.is_path for file in found):
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
        directory = _names_of(file)[:-1]
        # The innermost of the tables that the directory belongs to.
        above: Iterator[Names] = (directory[:length] for length in range(len(directory), -1, -1))
        owner = next((names for names in above if names in known), None)
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
        return _log_format(table, options)
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


def _looked(place: _Place, options: Mapping[str, Any] | None) -> tuple[_Place, InspectedTable]:
    snapshots, newest = within(place.path, options)
    where = f"{place.shown}/{DIRECTORY}".lstrip("/") if place.whole else snapshots.location
    findings = [_finding(where, problem) for problem in snapshots.problems]
    if newest and place.whole:
        findings += _differing(place, newest, where)
    found = place.format
    if found is None:
        try:
            found = _log_format(place.path, options)
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


def _names_of(file: Found) -> Names:
    """The names of a path below the inspected one."""
    return tuple(_slashes(file.shown).split("/"))


def _log_format(table: str, options: Mapping[str, Any] | None) -> str:
    """Delta or Hudi if the table has a log of that name; otherwise empty.

    Raises:
        PmeError: the storage cannot say, or the table has both logs.
    """
    found = [name for name, log in _LOGS.items() if _has_files(below(table, log), options)]
    if len(found) > 1:
        raise UnsupportedError(
            f"{shown(table)}: the directory has the logs of several tables ({', '.join(_LOGS.values())}), so it is not "
            "known which of its files are live. Remove the log that is not the table's."
        )
    return "".join(found)


def _has_files(directory: str, options: Mapping[str, Any] | None) -> bool:
    try:
        return next(iter(storage(directory, options).everything()), None) is not None
    except BadOptionError:  # nothing is there
        return False


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
    whole = _table_of(where)
    first, other = (one.partition("::")[0].rstrip("/") for one in (where, whole))
    inside = "" if whole == where else f"{first[len(other) :].strip('/')}/"
    known: dict[str, InspectedTable] = {}
    states: dict[str, bool] = {}
    for name, table in owners.items():
        is_below = bool(name) and whole == where
        prefix = f"{name}/" if is_below else ""
        own = [file.file for file in files if _slashes(file.file).startswith(prefix)]
        answer = _ask(below(where, *name.split("/")) if is_below else whole, reached, spark)
        if answer.files is None:
            known[name] = replace(table, live_problem=answer.problem)
            continue
        of_table = {
            file: (_slashes(file).removeprefix(prefix) if is_below else inside + _slashes(file)) for file in own
        }
        states |= {file: inner in answer.files for file, inner in of_table.items()}
        alive = sum(states[file] for file in own)
        wanted = sum(one.startswith(inside) for one in answer.files)
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


def _ask(table: str, reached: Access, spark: SparkSession | None) -> live.Live:
    """`deltalake` first, since it starts no job."""
    try:
        answer = live.from_storage(table, reached)
    except PmeError as failed:
        answer = live.Live(problem=f"the storage failed ({failed.condition or type(failed).__name__})")
    if answer.files is None and spark is not None:
        return live.from_session(table, spark, answer.problem, Words("pme.inspect"))
    return answer
