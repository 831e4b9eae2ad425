"""Finds the manifests of a table, reads them and compares them: each names the one before it, and its parts.

Problems are in the connector's words: *where: what: why. What to do*.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from pme_parquet._display.words import printable
from pme_parquet._snapshots.fields import MalformedError
from pme_parquet._snapshots.manifest import MAX_BYTES, OtherFormatError, digest, version_of
from pme_parquet._snapshots.results import Snapshots
from pme_parquet._storage import not_read, shown, storage
from pme_parquet.errors import BY_CONDITION, BadOptionError, PmeError, SnapshotDamagedError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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
    listing = Snapshots(shown(table), shown(directory), versions, (*wrong, *_differences(manifests, others)))
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
        raise _error_of(manifest.problem or "")
    return manifest.version


def within(table: str, options: Mapping[str, Any] | None) -> tuple[Snapshots, SnapshotVersion | None]:
    """The versions of a table that is known to exist, and the newest; none if the newest cannot be read.

    What the storage refuses is a problem of the table, and raises nothing.
    """
    directory = _directory(table, None)
    try:
        return _listed(table, None, *_files(directory, options))
    except PmeError as failed:
        return Snapshots(shown(table), shown(directory), (), (_of_error(failed),)), None


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


def _manifest(files: Storage, number: int, found: Found) -> _Manifest:
    name = found.shown
    content = _content(files, found)
    if isinstance(content, str):
        return _Manifest(name, number, None, None, content)
    digested = digest(content)
    try:
        version = version_of(content)
    except MalformedError as malformed:
        return _Manifest(name, number, digested, None, _damaged(name, str(malformed)))
    except OtherFormatError as other:
        return _Manifest(name, number, digested, None, _other_format(name, other.version))
    if version.version != number:
        why = f"its name and its content, version {version.version}, differ"
        return _Manifest(name, number, digested, None, _damaged(name, why))
    return _Manifest(name, number, digested, version, None)


def _content(files: Storage, found: Found) -> bytes | str:
    """The bytes of a manifest, or the problem that it has."""
    if not found.regular:
        return _damaged(found.shown, "it is not a regular file")
    if found.bytes > MAX_BYTES:
        return _damaged(found.shown, f"it is {found.bytes} bytes long, and at most {MAX_BYTES} are allowed")
    try:
        content = files.read(found.path, 0, found.bytes)
    except Exception as failed:  # noqa: BLE001 every storage raises errors of its own
        return _of_error(not_read(found.shown, failed))
    if len(content) != found.bytes:
        return _damaged(found.shown, f"only {len(content)} of its {found.bytes} bytes could be read")
    return content


class _Manifest(NamedTuple):
    """A manifest in the directory of snapshots: the number and digest of its file, and what it states.

    The digest is None if the file cannot be read, and the version is None if it is damaged, too.
    """

    name: str
    number: int
    digest: str | None
    version: SnapshotVersion | None
    problem: str | None


def _differences(manifests: Sequence[_Manifest], parts: Mapping[str, int]) -> Iterator[str]:
    """The problems between versions.

    Args:
        manifests: in the order of their numbers.
        parts: the length of each other file in the directory.
    """
    before: _Manifest | None = None
    table: str | None = None
    for manifest in manifests:
        # The oldest versions may have expired.
        if before and manifest.number > before.number + 1:
            yield _versions_missing(before.number + 1, manifest.number - 1)
        version = manifest.version
        if version is not None:
            if before and before.number == version.version - 1 and before.digest not in {None, version.previous}:
                yield _broken_chain(manifest.name, before.number)
            if table not in {None, version.table}:
                yield _other_table(manifest.name)
            table = version.table
            if manifest is manifests[-1] or not _is_overwritten(version, parts):
                yield from _missing_parts(manifest.name, version, parts)
        before = manifest


def _is_overwritten(version: SnapshotVersion, parts: Mapping[str, int]) -> bool:
    """Whether none of the files of an older version is left: an overwrite of the table keeps the manifests only."""
    names = [part.name for part in version.parts] + [file.name for part in version.parts for file in part.indexes]
    return not any(name in parts for name in names)


def _missing_parts(name: str, version: SnapshotVersion, parts: Mapping[str, int]) -> Iterator[str]:
    for part in version.parts:
        if why := _wrong(parts.get(part.name), part.length):
            yield _part_missing(name, part.name, why)
        for file in part.indexes:
            if why := _wrong(parts.get(file.name), file.length):
                yield _index_missing(name, file.name, why)


def _wrong(length: int | None, stated: int) -> str:
    """What is wrong with a file of this length; nothing if it is as a version states it."""
    if length is None:
        return "is missing"
    return "" if length == stated else f"is {length} bytes long instead of {stated}"


def _damaged(manifest: str, why: str) -> str:
    """A manifest does not have the form of one."""
    return _text(SnapshotDamagedError(f"{manifest}: the snapshot is damaged: {why}. Restore the file."))


def _other_format(manifest: str, version: int) -> str:
    """A manifest has a newer format."""
    return _text(
        UnsupportedError(
            f"{manifest}: format {version} of snapshots is not supported: this version knows only format 1. Use a "
            "later version."
        )
    )


def _versions_missing(first: int, last: int) -> str:
    """An earlier and a later version exist, but not these."""
    which = f"version {first} is" if first == last else f"versions {first} to {last} are"
    return _text(
        SnapshotDamagedError(
            f"{which} missing: an earlier and a later one exist. Find out who deleted them, or restore them."
        )
    )


def _broken_chain(manifest: str, before: int) -> str:
    """The file of the version before is not the one that the manifest names."""
    return _text(
        SnapshotDamagedError(
            f"{manifest}: the chain of versions is broken: version {before} is not the file that this version names as "
            "the one before it. Find out which of the two was replaced, and restore it."
        )
    )


def _other_table(manifest: str) -> str:
    """The manifest belongs to another table than the version before."""
    return _text(
        SnapshotDamagedError(
            f"{manifest}: the snapshot belongs to another table than the version before it. Restore the file."
        )
    )


def _part_missing(manifest: str, part: str, why: str) -> str:
    """A part of the list of files is missing, or has another length."""
    return _text(SnapshotDamagedError(f"{manifest}: its list of files is incomplete: {part} {why}. Restore that file."))


def _index_missing(manifest: str, file: str, why: str) -> str:
    """A file of an index is missing, or has another length. Reads then only skip less."""
    return _text(
        SnapshotDamagedError(
            f"{manifest}: an index is incomplete: {file} {why}. Reads skip fewer files by it, and are correct. Restore "
            "that file, or drop the index with pme.drop_index and make it again."
        )
    )


def _of_error(error: PmeError) -> str:
    """The text of an error, for example of the storage."""
    return _text(error)


def _error_of(text: str) -> PmeError:
    """The error that a problem is the text of."""
    return BY_CONDITION.get(text[1:].partition("]")[0], PmeError)(text)


def _text(error: PmeError) -> str:
    return printable(error.message)
