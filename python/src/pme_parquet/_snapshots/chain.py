"""Compares the versions of a table: each names the one before it, and the parts that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pme_parquet._snapshots import problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pme_parquet._snapshots.version import SnapshotVersion


class Manifest(NamedTuple):
    """A manifest in the directory of snapshots: the number and digest of its file, and what it states.

    The digest is None if the file cannot be read, and the version is None if it is damaged, too.
    """

    name: str
    number: int
    digest: str | None
    version: SnapshotVersion | None
    problem: str | None


def differences(manifests: Sequence[Manifest], parts: Mapping[str, int]) -> Iterator[str]:
    """The problems between versions.

    Args:
        manifests: in the order of their numbers.
        parts: the length of each other file in the directory.
    """
    before: Manifest | None = None
    table: str | None = None
    for manifest in manifests:
        # The oldest versions may have expired.
        if before and manifest.number > before.number + 1:
            yield problems.versions_missing(before.number + 1, manifest.number - 1)
        version = manifest.version
        if version is not None:
            if before and before.number == version.version - 1 and before.digest not in {None, version.previous}:
                yield problems.broken_chain(manifest.name, before.number)
            if table not in {None, version.table}:
                yield problems.other_table(manifest.name)
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
            yield problems.part_missing(name, part.name, why)
        for file in part.indexes:
            if why := _wrong(parts.get(file.name), file.length):
                yield problems.index_missing(name, file.name, why)


def _wrong(length: int | None, stated: int) -> str:
    """What is wrong with a file of this length; nothing if it is as a version states it."""
    if length is None:
        return "is missing"
    return "" if length == stated else f"is {length} bytes long instead of {stated}"
