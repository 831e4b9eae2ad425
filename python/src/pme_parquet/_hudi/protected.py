"""Which columns are protected, and which of Hudi's own columns repeat them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RECORD_KEY, PARTITION_PATH = "_hoodie_record_key", "_hoodie_partition_path"
# They hold times, numbers and names of files.
_OWN = frozenset({"_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_file_name", "_hoodie_operation"})


class Protected:
    """The protected columns of a table.

    Args:
        names: the columns; all if None.
        keys: the fields of the record key; None if they are not known.
        partitions: the fields of the partition path; None if they are not known.
    """

    def __init__(
        self, names: Sequence[str] | None, keys: Sequence[str] | None, partitions: Sequence[str] | None
    ) -> None:
        self.names = tuple(names or ())
        self._paths = None if names is None else [_path(name) for name in names]
        self.keys = ("*",) if keys is None else self._among(keys)
        self.partitions = ("*",) if partitions is None else self._among(partitions)

    def among(self, columns: Iterable[str]) -> tuple[str, ...]:
        """The protected ones among columns of files or indexes, sorted; of Hudi's copies, what they repeat."""
        found: set[str] = set()
        for column in columns:
            own = column.lower()
            if own == RECORD_KEY:
                found.update(self.keys)
            elif own == PARTITION_PATH:
                found.update(self.partitions)
            elif own not in _OWN:
                found.update(self._among([column]))
        return tuple(sorted(found))

    def _among(self, columns: Iterable[str]) -> tuple[str, ...]:
        if self._paths is None:
            return tuple(columns)
        return tuple(column for column in columns if any(_overlap(_path(column), one) for one in self._paths))


def _path(name: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("`").lower() for part in name.split("."))


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one is the other, or in it."""
    return all(left == right for left, right in zip(one, other, strict=False))
