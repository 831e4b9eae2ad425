"""What `pme.snapshots` and `pme.describe_index` return: a table's versions and indexes, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, overload

from pme_parquet._audience import Words
from pme_parquet._display.content import Line, Row, Showable, Shown, Table, how_reached
from pme_parquet._display.words import number, printable, size
from pme_parquet._snapshots.version import Index, SnapshotVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pme_parquet._snapshots.version import SnapshotPolicy

_INDEX_HEADER = ("column", "kind", "parameters", "type", "key")
_MOST = 20
# A read accepts a digest of this many digits.
_DIGEST = 12
_HEADER = ("version", "created", "files", "rows", "seal", "digest")


@dataclass(frozen=True)
class Snapshots(Showable, Sequence[SnapshotVersion]):
    """The versions of a sealed table, the oldest first: `len(versions)`, `versions[-1]`, `for version in versions`.

    No seal was checked, so anyone who can write to the storage may have written what is listed.

    Attributes:
        path: the table's directory.
        location: the directory of the snapshots.
        versions: each version that can be read.
        problems: what is wrong: damaged or missing versions, a broken chain, missing parts. Empty if nothing is.
        storage: how the storage was reached, in words without secrets; empty for local files.
    """

    path: str
    location: str
    versions: tuple[SnapshotVersion, ...]
    problems: tuple[str, ...] = ()
    storage: str = ""

    @overload
    def __getitem__(self, index: int) -> SnapshotVersion: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SnapshotVersion, ...]: ...
    def __getitem__(self, index: int | slice) -> SnapshotVersion | tuple[SnapshotVersion, ...]:
        return self.versions[index]

    def __len__(self) -> int:
        return len(self.versions)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as for JSON."""
        return {
            "path": self.path,
            "location": self.location,
            "storage": self.storage,
            "versions": [asdict(version) for version in self.versions],
            "problems": list(self.problems),
        }

    @property
    def _shown(self) -> Shown:
        return _shown_versions((self.path, self.storage), self.versions, self.problems)


@dataclass(frozen=True)
class Indexes(Showable, Sequence[Index]):
    """The indexes of the newest version of a table: `len(indexes)`, `indexes[0]`, `for index in indexes`.

    No seal was checked, so anyone who can write to the storage may have written what is listed.

    Attributes:
        path: the table's directory.
        version: number of the version; None for a table that is not sealed.
        indexes: each index.
        storage: how the storage was reached, in words without secrets; empty for local files.
    """

    path: str
    version: int | None
    indexes: tuple[Index, ...]
    storage: str = ""

    @overload
    def __getitem__(self, index: int) -> Index: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Index, ...]: ...
    def __getitem__(self, index: int | slice) -> Index | tuple[Index, ...]:
        return self.indexes[index]

    def __len__(self) -> int:
        return len(self.indexes)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as for JSON."""
        return {
            "path": self.path,
            "version": self.version,
            "storage": self.storage,
            "indexes": [asdict(index) for index in self.indexes],
        }

    @property
    def _shown(self) -> Shown:
        if self.version is None:
            return Shown(f"{printable(self.path)}: no snapshots", (), how_reached(self.storage))
        count = "1 index" if len(self.indexes) == 1 else f"{len(self.indexes) or 'no'} indexes"
        title = f"{printable(self.path)}: version {self.version} has {count}"
        rows = tuple(map(_index_row, self.indexes))
        return Shown(title, (Table(_INDEX_HEADER, rows),) if rows else (), how_reached(self.storage))


def _index_row(index: Index) -> tuple[str, ...]:
    cells = (index.name, index.kind, index.settings, index.type, index.key or "not encrypted")
    return tuple(map(printable, cells))


def not_checked() -> str:
    """What nobody has proved about a list of versions."""
    return (
        "No seal was checked: anyone who can write to the storage can forge what is listed. "
        f"{Words('pme.verify')} checks it with keys."
    )


def _shown_versions(place: tuple[str, str], versions: Sequence[SnapshotVersion], problems: Sequence[str]) -> Shown:
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
    yield "erased", "; ".join(f"{', '.join(one.keys)} on {one.erased[:10]}" for one in version.erasures)


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
