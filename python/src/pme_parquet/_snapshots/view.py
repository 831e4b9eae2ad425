"""The snapshots of a table in the form that text, HTML and rich's tables share: the versions, and the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._audience import Words
from pme_parquet._display.content import Line, Row, Shown, Table, how_reached
from pme_parquet._display.words import number, printable, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pme_parquet._snapshots.version import Index, SnapshotPolicy, SnapshotVersion

_MOST = 20
# A read accepts a digest of this many digits.
_DIGEST = 12
_HEADER = ("version", "created", "files", "rows", "seal", "digest")


def not_checked() -> str:
    """What nobody has proved about a list of versions."""
    return (
        "No seal was checked: anyone who can write to the storage can forge what is listed. "
        f"{Words('pme.verify')} checks it with keys."
    )


def shown(place: tuple[str, str], versions: Sequence[SnapshotVersion], problems: Sequence[str]) -> Shown:
    """The view of a list of versions of a table, with its path and how that was reached.

    Texts from manifests are made printable.
    """
    path, storage = place
    title = f"{printable(path)}: {_count(versions)}"
    lines = [Line(problem, "red") for problem in problems[:_MOST]]
    if len(problems) > _MOST:
        lines.append(Line(f"and {len(problems) - _MOST:,} more problems; --json and to_dict() list all", "red"))
    if not versions:
        return Shown(title, (), (*lines, *how_reached(storage)))
    earlier = len(versions) - _MOST
    if earlier > 0:
        lines.insert(0, Line(f"and {number(earlier, 'earlier version')}; --json and to_dict() list all"))
    table = Table(_HEADER, tuple(map(_row, versions[-_MOST:])))
    last = Table((), tuple((name, printable(value)) for name, value in _last(versions[-1]) if value))
    return Shown(title, (table, last), (*lines, Line(not_checked()), *how_reached(storage)))


def _count(versions: Sequence[SnapshotVersion]) -> str:
    return number(len(versions), "version") if versions else "no snapshots"


def _row(version: SnapshotVersion) -> Row:
    return (
        f"{version.version:,}",
        minute(version.created),
        f"{version.files:,}",
        f"{version.rows:,}",
        f"{version.algorithm}: {printable(version.key)}",
        version.digest[:_DIGEST],
    )


def _last(version: SnapshotVersion) -> Iterator[tuple[str, str]]:
    yield "version", f"{version.version}, sealed by {version.creator} with {version.writer}"
    yield "size", size(version.bytes)
    yield "digest", version.digest
    yield "table", f"{version.table} at {version.location}"
    yield "footer key", version.policy.footer_key or ""
    yield "columns", "; ".join(_columns(version.policy))
    yield "partitions", ", ".join(version.partition_columns)
    yield "indexes", indexes_in_words(version.indexes)


def minute(time: str) -> str:
    """A time of a manifest without its seconds."""
    return time[:16].replace("T", " ")


def indexes_in_words(indexes: Sequence[Index]) -> str:
    """Each index with its key."""
    return "; ".join(f"{index.kind} of {index.name}: {key_in_words(index.key)}" for index in indexes)


def key_in_words(key: str | None) -> str:
    """A master key, or that there is none."""
    return "not encrypted" if key is None else f"key '{key}'"


def _columns(policy: SnapshotPolicy) -> Iterator[str]:
    """The columns of each key."""
    if not policy.encrypted:
        yield "not encrypted"
        return
    keys = dict.fromkeys(column.key for column in policy.columns)
    for key in keys:
        names = ", ".join(_name(column.column) for column in policy.columns if column.key == key)
        yield f"{names}: {key_in_words(key)}"


def _name(column: Sequence[str]) -> str:
    return ".".join(column)
