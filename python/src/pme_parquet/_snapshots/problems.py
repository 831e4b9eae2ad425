"""The texts of problems, in the connector's words: *where: what: why. What to do*."""

from __future__ import annotations

from pme_parquet._display.words import printable
from pme_parquet.errors import BY_CONDITION, PmeError, SnapshotDamagedError, UnsupportedError


def damaged(manifest: str, why: str) -> str:
    """A manifest does not have the form of one."""
    return _text(SnapshotDamagedError(f"{manifest}: the snapshot is damaged: {why}. Restore the file."))


def other_format(manifest: str, version: int) -> str:
    """A manifest has a newer format."""
    return _text(
        UnsupportedError(
            f"{manifest}: format {version} of snapshots is not supported: this version knows only format 1. Use a "
            "later version."
        )
    )


def versions_missing(first: int, last: int) -> str:
    """An earlier and a later version exist, but not these."""
    which = f"version {first} is" if first == last else f"versions {first} to {last} are"
    return _text(
        SnapshotDamagedError(
            f"{which} missing: an earlier and a later one exist. Find out who deleted them, or restore them."
        )
    )


def broken_chain(manifest: str, before: int) -> str:
    """The file of the version before is not the one that the manifest names."""
    return _text(
        SnapshotDamagedError(
            f"{manifest}: the chain of versions is broken: version {before} is not the file that this version names as "
            "the one before it. Find out which of the two was replaced, and restore it."
        )
    )


def other_table(manifest: str) -> str:
    """The manifest belongs to another table than the version before."""
    return _text(
        SnapshotDamagedError(
            f"{manifest}: the snapshot belongs to another table than the version before it. Restore the file."
        )
    )


def part_missing(manifest: str, part: str, why: str) -> str:
    """A part of the list of files is missing, or has another length."""
    return _text(SnapshotDamagedError(f"{manifest}: its list of files is incomplete: {part} {why}. Restore that file."))


def index_missing(manifest: str, file: str, why: str) -> str:
    """A file of an index is missing, or has another length. Reads then only skip less."""
    return _text(
        SnapshotDamagedError(
            f"{manifest}: an index is incomplete: {file} {why}. Reads skip fewer files by it, and are correct. Restore "
            "that file, or drop the index with pme.drop_index and make it again."
        )
    )


def of_error(error: PmeError) -> str:
    """The text of an error, for example of the storage."""
    return _text(error)


def error_of(text: str) -> PmeError:
    """The error that a problem is the text of."""
    return BY_CONDITION.get(text[1:].partition("]")[0], PmeError)(text)


def _text(error: PmeError) -> str:
    return printable(error.message)
