"""A check from its beginning to its end: list, read metadata, look at each file, and say what the table promised."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from pme_parquet._checks.files import (
    counted,
    known_columns,
    listed_files,
    look_at_files,
    partition_names,
    read_document,
    regular_files,
)
from pme_parquet._checks.iceberg import metadata
from pme_parquet._checks.iceberg.avro import MAX_HEADER, Container
from pme_parquet._checks.iceberg.metadata import text
from pme_parquet._checks.results import Findings, IcebergCheck
from pme_parquet._storage import UnreadableError, is_checksums, shown, storage
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pme_parquet._access import Access
    from pme_parquet._checks.iceberg.metadata import Metadata
    from pme_parquet._storage import Found, WholeStorage

MAX_BYTES = 64 * 1024 * 1024
# Characters of all paths.
MAX_PATHS = 1024 * 1024 * 1024
MAX_COLUMNS = 100_000
_DELETED = 2
_BOUNDS = {"lower_bounds": "minimum", "upper_bounds": "maximum"}
# How files begin.
_MAGIC = 4
_AVRO, _ORC = b"Obj\x01", b"ORC"
_PARQUET = (b"PAR1", b"PARE")
# It has the number of a version and nothing else.
_HINT = "version-hint.text"
What = Literal["data", "encrypted", "manifest", "manifest list", "statistics or deletes", "metadata", "other"]
# Puffin, and Iceberg's encrypted stream.
_KINDS: dict[bytes, What] = {b"PFA1": "statistics or deletes", b"AGS1": "encrypted"}


def searched(where: str, reached: Access, function: str) -> IcebergCheck:
    """Everything that `pme.iceberg.check` does."""
    files = storage(where, reached.options)
    findings, names = Findings(), metadata.Names()
    regular = regular_files(listed_files(files), findings)
    numbered = [one for one in regular if metadata.number_of(one.slashed) is not None]
    if not numbered:
        message = f"{function}: {shown(where)} is not an Iceberg table: it has no metadata.json. Check the path."
        raise BadOptionError(message)
    versions = []
    for one in numbered:
        understood = partial(metadata.understood, one.slashed, names, findings)
        version = read_document(files, one, metadata.MAX_BYTES, understood, findings)
        versions += [version] if version else []
    reading = _Manifests()
    looked = look_at_files(regular, lambda one: look_at(files, one, reading), findings)
    search = _Search(findings, names, versions, {one.slashed for one in regular}, looked)
    search.search()
    number, key = (search.newest.number, search.newest.key) if search.newest else (None, None)
    counts = counted((file.what for file in looked), len(regular))
    return IcebergCheck(shown(where), number, key, findings.all(), counts, reached.words)


@dataclass
class Manifest:
    """What a manifest, or a list of manifests, shows.

    Attributes:
        kind: which of them it is; an Avro file of another kind is data.
        bounds: `minimum` and `maximum`, each with the numbers of the columns whose are readable.
        partitions: names of partition fields whose values are readable.
        has_keys: whether it has keys of other files.
        files: paths that it names and that are not deleted.
        characters: their length.
    """

    kind: Literal["manifest", "manifest list", "data"]
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

    def listed(self, row: Mapping[str, Any]) -> None:
        """Adds a manifest of a list."""
        self.name(row["manifest_path"])
        self.has_keys |= bool(row.get("key_metadata"))
        for number, partition in enumerate(row.get("partitions") or ()):
            if partition.get("lower_bound") is not None or partition.get("upper_bound") is not None:
                # A list does not name the fields.
                self.partitions.add(f"*{number}")

    def entry(self, row: Mapping[str, Any]) -> None:
        """Adds a file of a manifest."""
        file = row["data_file"]
        if row.get("status") != _DELETED:
            self.name(file["file_path"])
        self.has_keys |= bool(file.get("key_metadata"))
        self.partitions |= {str(name) for name, value in (file.get("partition") or {}).items() if value is not None}
        for name, word in _BOUNDS.items():
            # Avro has a map with numbers as keys as a list of pairs.
            pairs = file.get(name)
            keys = {one["key"] for one in pairs} if isinstance(pairs, list) else set()
            self.bounds.setdefault(word, set()).update(keys)


class _Manifests:
    """Reads one file at a time, whatever the number of threads, and keeps a limited number of paths of all of them."""

    def __init__(self) -> None:
        self._one = Lock()
        self._left = MAX_PATHS

    def read(self, files: WholeStorage, of: Found) -> Manifest:
        """Everything that an Avro file shows; an exception of `fastavro` means that it cannot be read.

        Raises:
            UnreadableError: it is not as Iceberg writes it, or exceeds a bound.
        """
        name = Container(files.read(of.path, 0, min(of.bytes, MAX_HEADER))).name
        if name not in {"manifest_file", "manifest_entry"}:
            return Manifest("data")
        if of.bytes > MAX_BYTES:
            raise UnreadableError("it is too long to be read")
        with self._one:
            found = Manifest("manifest list" if name == "manifest_file" else "manifest")
            add = found.listed if name == "manifest_file" else found.entry
            for row in Container(files.read(of.path, 0, of.bytes)).rows():
                add(row)
                if found.characters > self._left:
                    raise UnreadableError("it, or all manifests together, name too many files")
                if sum(map(len, found.bounds.values())) > MAX_COLUMNS:
                    raise UnreadableError("it has bounds of too many columns")
            self._left -= found.characters
        return found


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of a table.

    Attributes:
        file: its path below the table, with slashes.
        what: what it is.
        manifest: what it shows, if it is Avro in plaintext.
        plain: whether values in it are readable.
    """

    file: str
    what: What
    manifest: Manifest | None = None
    plain: bool = False


def look_at(files: WholeStorage, found: Found, reading: _Manifests) -> TableFile:
    """What a file shows to anyone, by its first bytes.

    Raises:
        UnreadableError: it cannot be read, or is of no known kind.
        Exception: any of `fastavro`, for a manifest that cannot be read.
    """
    file, begin = found.slashed, files.read(found.path, 0, _MAGIC)
    if begin in _PARQUET or begin.startswith(_ORC):
        columns = known_columns(files, found)
        whole = columns.footer == "encrypted" and columns.whole
        return TableFile(file, "encrypted" if whole else "data", plain=bool(columns.plain) or columns.whole is False)
    if begin == _AVRO:
        made = reading.read(files, found)
        return TableFile(file, made.kind, made, plain=True)
    if begin in _KINDS:
        return TableFile(file, _KINDS[begin])
    if metadata.number_of(file) is not None:
        return TableFile(file, "metadata")
    if found.name == _HINT or is_checksums(files, found):
        return TableFile(file, "other")
    raise UnreadableError("it is no file of a kind that Iceberg writes")


class _Search:
    """What is known of a table, and what it shows."""

    def __init__(
        self,
        findings: Findings,
        names: metadata.Names,
        versions: Sequence[Metadata],
        here: set[str],
        looked: Sequence[TableFile],
    ) -> None:
        self._findings, self._versions, self._here, self._looked = findings, versions, here, looked
        self.newest = max(versions, key=lambda one: (one.number, one.file), default=None)
        self._columns, self._partitions = names.columns, names.partitions
        self._manifests = {file.file: file.manifest for file in looked}
        self._live = self._of_newest()

    def search(self) -> None:
        """Adds all findings."""
        for file in self._looked:
            self._file(file)
        # A file of checksums is in the directory of the file that it is about. One that cannot be read has its name.
        for place in self._here - {file.file for file in self._looked if file.what == "other"}:
            for name in partition_names(place):
                if name in self._partitions:
                    self._partition(place, name, "in names of directories")
        self._table()

    def _partition(self, file: str, name: str, place: str) -> None:
        """Adds that values of a partition field are readable in a place."""
        column, whole = self._partitions.get(name, ("*", True))
        what = f"its {'values' if whole else 'hashes'} are {place}"
        self._findings.add("partition value", "high" if whole else "low", file, what, column)

    def _below(self, path: str) -> str | None:
        """The part of a full path below the table; None if it is elsewhere."""
        return self.newest.below(path) if self.newest else None

    def _of_newest(self) -> set[str] | None:
        """The files of the newest version below the table; None if its manifests cannot be read."""
        path = self.newest.manifest_list if self.newest else None
        listed = self._named(path) if path else None
        if listed is None or listed.kind != "manifest list":
            return None
        found: set[str] = set()
        for manifest in listed.files:
            of_it = self._named(manifest)
            if of_it is None or of_it.kind != "manifest":
                return None
            found |= {below for file in of_it.files if (below := self._below(file)) is not None}
        return found

    def _named(self, path: str) -> Manifest | None:
        below = self._below(path)
        return None if below is None else self._manifests.get(below)

    def _state(self, file: str) -> str:
        if self._live is None:
            return "live or not"
        return "live" if file in self._live else "not of the newest version"

    def _file(self, file: TableFile) -> None:
        add = self._findings.add
        if file.what == "data" and file.plain:
            add("plaintext file", "high", file.file, f"{self._state(file.file)}: values in it are readable", "*")
        elif file.what == "statistics or deletes":
            what = "Puffin in plaintext: positions of deleted rows, or sketches with hashes of values"
            add("puffin", "low", file.file, what)
        elif file.manifest is not None:
            self._manifest(file.file, file.manifest)

    def _manifest(self, file: str, of: Manifest) -> None:
        add = self._findings.add
        add("plaintext manifest", "low", file, f"the {of.kind} is readable: paths, and numbers of rows and nulls")
        for shown_, numbers in of.bounds.items():
            names = sorted({self._columns.get(number, "*") for number in numbers})
            if names:
                add("statistics", "high", file, f"its {shown_} is readable", *names)
        if of.has_keys:
            add("data keys", "high", file, "keys of other files are readable, and with them those files", "*")
        for name in sorted(of.partitions):
            self._partition(file, name, "readable in partitions")
        outside = sum(self._below(path) is None for path in of.files)
        if outside:
            self._findings.unread(file, f"it names {outside:,} files that are not below the table")
        absent = sum((below := self._below(path)) is not None and below not in self._here for path in of.files)
        if absent:
            what = f"it names {absent:,} files that are not there, or are empty"
            add("missing file", "note", file, what)

    def _table(self) -> None:
        add = self._findings.add
        if self.newest is None:
            self._findings.unread("", "no metadata of the table can be read")
            return
        self._key(self.newest)
        if len({(one.uuid, one.location) for one in self._versions}) > 1:
            what = "versions differ in table-uuid or location: one of them may be of another table"
            add("other table", "unread", "", what)
        if self._live is None and self.newest.has_snapshot:
            what = "its manifests are encrypted: which files are live, and whether some are elsewhere, is not known"
            add("encrypted manifests", "note", "", what)

    def _key(self, newest: Metadata) -> None:
        """What became of the promise to encrypt."""
        add = self._findings.add
        names = sorted({one.key for one in self._versions if one.key})
        for one in self._versions:
            # Iceberg sets a key when it creates a table, and neither adds nor removes it.
            if not one.key and (names or one is newest):
                more = ", and other versions do" if names else ""
                add("no key", "high", one.file, f"this version of the table names no encryption.key-id{more}")
        if len(names) > 1:
            add("other key", "note", "", "versions of the table name different keys in encryption.key-id")
        if not newest.key:
            return
        plain = sum(file.what in {"data", "manifest", "manifest list"} and file.plain for file in self._looked)
        if newest.has_snapshot and not newest.has_keys:
            what = "encryption.key-id names a key, and the table has no wrapped key: its catalog does not encrypt"
            add("ignored key", "high", newest.file, what)
        elif plain:
            what = f"encryption.key-id names a key, and {plain:,} of its files are plaintext"
            add("ignored key", "high", "", what)
        elif not newest.has_keys:
            self._findings.unread("", "there is no data yet; whether the catalog encrypts is not known")
