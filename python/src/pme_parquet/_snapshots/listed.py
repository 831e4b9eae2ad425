"""The snapshots of a table, as `pme.snapshots` returns them. `view` shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, overload

from pme_parquet._display.showable import Showable
from pme_parquet._snapshots.version import SnapshotVersion

if TYPE_CHECKING:
    from pme_parquet._display.content import Shown


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
        from pme_parquet._snapshots.view import shown  # noqa: PLC0415 only when it is shown

        return shown((self.path, self.storage), self.versions, self.problems)
