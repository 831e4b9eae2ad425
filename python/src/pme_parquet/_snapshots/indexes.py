"""The indexes of a sealed table, as `pme.describe_index` returns them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, overload

from pme_parquet._display.content import Shown, Table, how_reached
from pme_parquet._display.showable import Showable
from pme_parquet._display.words import printable
from pme_parquet._snapshots.version import Index

_HEADER = ("column", "kind", "parameters", "type", "key")


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
        rows = tuple(map(_row, self.indexes))
        return Shown(title, (Table(_HEADER, rows),) if rows else (), how_reached(self.storage))


def _row(index: Index) -> tuple[str, ...]:
    cells = (index.name, index.kind, index.settings, index.type, index.key or "not encrypted")
    return tuple(map(printable, cells))
