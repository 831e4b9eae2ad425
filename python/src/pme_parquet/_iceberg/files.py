"""What one file of a table is, by its first bytes, and what of it is readable; `fastavro` reads manifests."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from pme_parquet._checks.files import is_modules, slashed
from pme_parquet._iceberg import metadata
from pme_parquet._iceberg.avro import MAX_HEADER, Container
from pme_parquet._iceberg.metadata import text
from pme_parquet._inspect.look import look
from pme_parquet._logs.bounds import UnreadableError
from pme_parquet._logs.sums import is_sums
from pme_parquet.errors import PmeError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pme_parquet._storage import Found, WholeStorage

MAX_BYTES = 64 * 1024 * 1024
# Characters of all paths.
MAX_PATHS = 1024 * 1024 * 1024
MAX_COLUMNS = 100_000
Kind = Literal["manifest", "manifest list", "data"]
_KINDS: dict[str, Kind] = {"manifest_file": "manifest list", "manifest_entry": "manifest"}
_DELETED = 2
_BOUNDS = {"lower_bounds": "minimum", "upper_bounds": "maximum"}
_MAGIC = 4
_AVRO, _STREAM, _PUFFIN, _ORC = b"Obj\x01", b"AGS1", b"PFA1", b"ORC"
_PARQUET = (b"PAR1", b"PARE")
# It has the number of a version and nothing else.
_HINT = "version-hint.text"
What = Literal[
    "data", "encrypted", "manifest", "manifest list", "statistics or deletes", "metadata", "other", "unknown"
]
_STRANGE = "it is no file of a kind that Iceberg writes"


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


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of a table.

    Attributes:
        found: the file.
        file: its path below the table, with slashes.
        what: what it is.
        manifest: what it shows, if it is Avro in plaintext.
        plain: whether values in it are readable; None if that was not looked at.
        problem: why it could not be read.
    """

    found: Found
    file: str
    what: What
    manifest: Manifest | None = None
    plain: bool | None = False
    problem: str = ""


def look_at(files: WholeStorage, found: Found, reading: Manifests) -> TableFile:
    """What a file shows to anyone."""
    file = slashed(found)
    try:
        return _looked(files, found, file, reading)
    except UnreadableError as why:
        return TableFile(found, file, "unknown", problem=str(why))
    except Exception as failed:  # noqa: BLE001 whoever wrote a file must not be able to stop a check
        return TableFile(found, file, "unknown", problem=f"{type(failed).__name__} while it was read")


def _looked(files: WholeStorage, found: Found, file: str, reading: Manifests) -> TableFile:
    begin = files.read(found.path, 0, _MAGIC)
    if begin in _PARQUET or begin.startswith(_ORC):
        return _data(files, found, file)
    if begin == _AVRO:
        return _avro(files, found, file, reading)
    if begin == _PUFFIN:
        return TableFile(found, file, "statistics or deletes", plain=True)
    if begin == _STREAM:
        return TableFile(found, file, "encrypted")
    if metadata.number_of(file) is not None:
        return TableFile(found, file, "metadata")
    known = found.name == _HINT or is_sums(files, found)
    return TableFile(found, file, "other" if known else "unknown", problem="" if known else _STRANGE)


def _avro(files: WholeStorage, found: Found, file: str, reading: Manifests) -> TableFile:
    def whole() -> bytes:
        if found.bytes > MAX_BYTES:
            raise UnreadableError("it is too long to be read")
        return files.read(found.path, 0, found.bytes)

    made = reading.read(files.read(found.path, 0, min(found.bytes, MAX_HEADER)), whole)
    return TableFile(found, file, made.kind, made, plain=True)


def _data(files: WholeStorage, found: Found, file: str) -> TableFile:
    """A file of Parquet or ORC."""
    facts = look(files, found)
    if facts.footer == "encrypted":
        try:
            whole = is_modules(files, found)
        except PmeError:
            whole = None
        return TableFile(found, file, "encrypted" if whole else "data", plain=None if whole is None else not whole)
    if facts.columns is None:
        why = next((finding.condition for finding in facts.findings), "") or "its footer cannot be read"
        return TableFile(found, file, "unknown", problem=why)
    return TableFile(found, file, "data", plain=not all(column.encrypted_with for column in facts.columns))
