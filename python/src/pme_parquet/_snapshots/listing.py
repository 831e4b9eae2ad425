"""Finds the manifests of a table, and reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pme_parquet._snapshots import problems
from pme_parquet._snapshots.chain import Manifest, differences
from pme_parquet._snapshots.fields import MalformedError
from pme_parquet._snapshots.listed import Snapshots
from pme_parquet._snapshots.manifest import MAX_BYTES, OtherFormatError, digest, version_of
from pme_parquet._storage import not_read, shown, storage
from pme_parquet.errors import BadOptionError, PmeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pme_parquet._snapshots.version import SnapshotVersion
    from pme_parquet._storage import Found, Storage

DIRECTORY = "_pme_snapshots"
_NAME = re.compile(r"snapshot-([0-9]{10})\.json")
_THREADS = 8


def listed(table: str, location: str | None, options: Mapping[str, Any] | None) -> Snapshots:
    """The versions of a table.

    Args:
        table: the table's directory.
        location: the directory of the snapshots, if it is elsewhere.
        options: of fsspec.
    """
    return _listed(table, location, *_found(table, location, options))[0]


def _listed(
    table: str, location: str | None, files: Storage | None, found: Sequence[Found]
) -> tuple[Snapshots, SnapshotVersion | None]:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 slow to import

    directory = _directory(table, location)
    if files is None:
        return Snapshots(shown(table), shown(directory), ()), None
    named = _named(found)
    with ThreadPoolExecutor(_THREADS) as threads:
        manifests = sorted(threads.map(lambda one: _manifest(files, *one), named), key=lambda one: one.number)
    others = {file.shown: file.bytes for file in found if file.regular}
    wrong = [manifest.problem for manifest in manifests if manifest.problem]
    versions = tuple(manifest.version for manifest in manifests if manifest.version)
    listing = Snapshots(shown(table), shown(directory), versions, (*wrong, *differences(manifests, others)))
    return listing, manifests[-1].version if manifests else None


def newest(table: str, location: str | None, options: Mapping[str, Any] | None) -> SnapshotVersion | None:
    """The newest version of a table; None for a table that is not sealed. Arguments as for `listed`.

    Raises:
        PmeError: the newest version cannot be read. An older one does not take its place.
    """
    files, found = _found(table, location, options)
    named = _named(found)
    if files is None or not named:
        return None
    manifest = _manifest(files, *max(named, key=lambda one: one[0]))
    if manifest.version is None:
        raise problems.error_of(manifest.problem or "")
    return manifest.version


def within(table: str, options: Mapping[str, Any] | None) -> tuple[Snapshots, SnapshotVersion | None]:
    """The versions of a table that is known to exist, and the newest; none if the newest cannot be read.

    What the storage refuses is a problem of the table, and raises nothing.
    """
    directory = _directory(table, None)
    try:
        return _listed(table, None, *_files(directory, options))
    except PmeError as failed:
        return Snapshots(shown(table), shown(directory), (), (problems.of_error(failed),)), None


def below(path: str, *names: str) -> str:
    """The path of what is below a path. A chained URL of fsspec begins with its own path."""
    first, chain, rest = path.partition("::")
    return f"{first.rstrip('/')}/{'/'.join(names)}{chain}{rest}"


def _directory(table: str, location: str | None) -> str:
    return location or below(table, DIRECTORY)


def _found(table: str, location: str | None, options: Mapping[str, Any] | None) -> tuple[Storage | None, list[Found]]:
    """The files in the directory of snapshots; no storage if the table has no such directory."""
    directory = _directory(table, location)
    files, found = _files(directory, options)
    if files is None and location is not None:
        raise BadOptionError(f"{shown(directory)}: there is nothing at this path. Check the location of the snapshots.")
    if files is None:
        _require_table(table, options)
    return files, found


def _named(found: Iterable[Found]) -> list[tuple[int, Found]]:
    """The manifests, with their numbers."""
    return [(int(match[1]), file) for file in found if (match := _NAME.fullmatch(file.shown))]


def _files(directory: str, options: Mapping[str, Any] | None) -> tuple[Storage | None, list[Found]]:
    """The files of a directory; no storage if nothing is at the path."""
    try:
        files = storage(directory, options)
        return files, list(files.files())
    except BadOptionError:
        return None, []


def _require_table(table: str, options: Mapping[str, Any] | None) -> None:
    """Raises BadOptionError if there is nothing at the path: a misspelt path must not look like an unsealed table."""
    next(iter(storage(table, options).files()), None)


def _manifest(files: Storage, number: int, found: Found) -> Manifest:
    name = found.shown
    content = _content(files, found)
    if isinstance(content, str):
        return Manifest(name, number, None, None, content)
    digested = digest(content)
    try:
        version = version_of(content)
    except MalformedError as malformed:
        return Manifest(name, number, digested, None, problems.damaged(name, str(malformed)))
    except OtherFormatError as other:
        return Manifest(name, number, digested, None, problems.other_format(name, other.version))
    if version.version != number:
        why = f"its name and its content, version {version.version}, differ"
        return Manifest(name, number, digested, None, problems.damaged(name, why))
    return Manifest(name, number, digested, version, None)


def _content(files: Storage, found: Found) -> bytes | str:
    """The bytes of a manifest, or the problem that it has."""
    if not found.regular:
        return problems.damaged(found.shown, "it is not a regular file")
    if found.bytes > MAX_BYTES:
        return problems.damaged(found.shown, f"it is {found.bytes} bytes long, and at most {MAX_BYTES} are allowed")
    try:
        content = files.read(found.path, 0, found.bytes)
    except Exception as failed:  # noqa: BLE001 every storage raises errors of its own
        return problems.of_error(not_read(found.shown, failed))
    if len(content) != found.bytes:
        return problems.damaged(found.shown, f"only {len(content)} of its {found.bytes} bytes could be read")
    return content
