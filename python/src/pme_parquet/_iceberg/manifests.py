"""What plaintext manifests and lists of manifests show. `fastavro` reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from pme_parquet._iceberg.avro import Container
from pme_parquet._iceberg.bounds import text
from pme_parquet._logs.bounds import UnreadableError
from pme_parquet.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MAX_BYTES = 64 * 1024 * 1024
# Characters of all paths.
MAX_PATHS = 1024 * 1024 * 1024
MAX_COLUMNS = 100_000
Kind = Literal["manifest", "manifest list", "data"]
_KINDS: dict[str, Kind] = {"manifest_file": "manifest list", "manifest_entry": "manifest"}
_DELETED = 2
_BOUNDS = {"lower_bounds": "minimum", "upper_bounds": "maximum"}


@dataclass
class Manifest:
    """What a file of Avro shows.

    Attributes:
        kind: what it is; an Avro file of another kind is data.
        bounds: `minimum` and `maximum`, each with the numbers of the columns whose are readable.
        partitions: names of partition fields whose values are readable.
        has_keys: whether it has keys of other files.
        files: paths that it names and that are not deleted.
        characters: their length.
    """

    kind: Kind
    bounds: dict[str, set[int]] = field(default_factory=dict)
    partitions: set[str] = field(default_factory=set)
    has_keys: bool = False
    files: set[str] = field(default_factory=set)
    characters: int = 0

    def name(self, path: object) -> None:
        """Adds a path."""
        named = text(path, "path of a file")
        if named not in self.files:
            self.files.add(named)
            self.characters += len(named)


def need_fastavro(where: str) -> None:
    """Checks that the package is there.

    Raises:
        UnsupportedError: it is not.
    """
    if find_spec("fastavro") is None:
        raise UnsupportedError(
            f"{where}: this needs the package fastavro, which is not installed. pip install fastavro."
        )


class Manifests:
    """Reads one file at a time, whatever the number of threads, and keeps a limited number of paths of all of them."""

    def __init__(self) -> None:
        self._one = Lock()
        self._left = MAX_PATHS

    def read(self, begin: bytes, whole: Callable[[], bytes]) -> Manifest:
        """Everything that an Avro file shows; an exception of `fastavro` means that it cannot be read.

        Args:
            begin: its first `MAX_HEADER` bytes.
            whole: returns all of it; not called if it is data.

        Raises:
            UnreadableError: it is not as Iceberg writes it, or exceeds a bound.
        """
        name = Container(begin).name
        if name not in _KINDS:
            return Manifest("data")
        with self._one:
            found, add = Manifest(_KINDS[name]), _listed if name == "manifest_file" else _entry
            for row in Container(whole()).rows():
                add(found, row)
                self._check(found)
            self._left -= found.characters
        return found

    def _check(self, found: Manifest) -> None:
        if found.characters > self._left:
            raise UnreadableError("it, or all manifests together, name too many files")
        if sum(map(len, found.bounds.values())) > MAX_COLUMNS:
            raise UnreadableError("it has bounds of too many columns")


def _listed(found: Manifest, row: Mapping[str, Any]) -> None:
    found.name(row["manifest_path"])
    found.has_keys |= bool(row.get("key_metadata"))
    for number, partition in enumerate(row.get("partitions") or ()):
        if partition.get("lower_bound") is not None or partition.get("upper_bound") is not None:
            # A list does not name the fields.
            found.partitions.add(f"*{number}")


def _entry(found: Manifest, row: Mapping[str, Any]) -> None:
    file = row["data_file"]
    if row.get("status") != _DELETED:
        found.name(file["file_path"])
    found.has_keys |= bool(file.get("key_metadata"))
    found.partitions |= {str(name) for name, value in (file.get("partition") or {}).items() if value is not None}
    for name, shown in _BOUNDS.items():
        found.bounds.setdefault(shown, set()).update(_numbers(file.get(name)))


def _numbers(bounds: object) -> Iterator[int]:
    """The keys of a map with numbers as keys, which Avro has as a list of pairs."""
    for one in bounds if isinstance(bounds, list) else ():
        yield one["key"]
