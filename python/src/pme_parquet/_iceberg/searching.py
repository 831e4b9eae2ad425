"""A check from its beginning to its end: list, read metadata, look at each file, and say what the table promised."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from pme_parquet._checks.files import counted, listed_files, regular_files, slashed
from pme_parquet._checks.findings import FoundOnce
from pme_parquet._iceberg import metadata
from pme_parquet._iceberg.checked import IcebergCheck, IcebergFinding
from pme_parquet._iceberg.files import Manifests, look_at
from pme_parquet._logs.bounds import UnreadableError
from pme_parquet._storage import shown, storage
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from pme_parquet._access import Access
    from pme_parquet._iceberg.files import Manifest, TableFile
    from pme_parquet._iceberg.metadata import Metadata
    from pme_parquet._storage import Found, WholeStorage

_THREADS = 16


def searched(where: str, reached: Access, function: str) -> IcebergCheck:
    """Everything that `pme.iceberg.check` does."""
    files = storage(where, reached.options)
    findings = FoundOnce(IcebergFinding)
    regular = regular_files(listed_files(files), findings)
    names = metadata.Names()
    versions = [made for one in regular if (made := _version(files, one, findings, names)) is not None]
    if not any(metadata.number_of(slashed(one)) is not None for one in regular):
        message = f"{function}: {shown(where)} is not an Iceberg table: it has no metadata.json. Check the path."
        raise BadOptionError(message)
    reading = Manifests()
    with ThreadPoolExecutor(_THREADS) as threads:
        looked = list(threads.map(lambda one: look_at(files, one, reading), regular))
    newest = max(versions, key=lambda one: (one.number, one.file), default=None)
    _Search(findings, names, versions, newest, looked).search()
    counts = counted(file.what for file in looked)
    number, key = (newest.number, newest.key) if newest else (None, None)
    return IcebergCheck(shown(where), number, key, findings.all(), counts, reached.words)


def _version(
    files: WholeStorage, found: Found, findings: FoundOnce[IcebergFinding], names: metadata.Names
) -> Metadata | None:
    file = slashed(found)
    if metadata.number_of(file) is None:
        return None
    if found.bytes > metadata.MAX_BYTES:
        findings.unread(file, "it is too long to be read")
        return None
    try:
        document = metadata.parsed(file, files.read(found.path, 0, found.bytes))
        made = metadata.version(file, document)
        metadata.search(findings, names, made, document)
    except UnreadableError as why:
        findings.unread(file, str(why))
    except Exception as failed:  # noqa: BLE001 each storage has errors of its own, and no document may stop a check
        findings.unread(file, f"{type(failed).__name__} while it was read")
    else:
        return made
    return None


class _Search:
    """What is known of a table, and what it shows."""

    def __init__(
        self,
        findings: FoundOnce[IcebergFinding],
        names: metadata.Names,
        versions: list[Metadata],
        newest: Metadata | None,
        looked: list[TableFile],
    ) -> None:
        self._findings, self._versions, self._newest, self._looked = findings, versions, newest, looked
        self._columns, self._partitions = names.columns, names.partitions
        self._here = {file.file: file for file in looked}
        self._live = self._of_newest()

    def search(self) -> None:
        """Adds all findings."""
        for file in self._looked:
            self._file(file)
            # Beside a file whose directories are the same.
            if file.what == "other":
                continue
            for column, whole in metadata.directories(file.file, self._partitions):
                what = "its values are in names of directories" if whole else "its hashes are in names of directories"
                self._findings.add("partition value", "high" if whole else "low", file.file, what, column)
        self._table()

    def _below(self, path: str) -> str | None:
        """The part of a full path below the table; None if it is elsewhere."""
        return self._newest.below(path) if self._newest else None

    def _of_newest(self) -> set[str] | None:
        """The files of the newest version below the table; None if its manifests cannot be read."""
        path = self._newest.manifest_list if self._newest else None
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
        file = self._here.get(below) if below is not None else None
        return file.manifest if file else None

    def _state(self, file: str) -> str:
        if self._live is None:
            return "live or not"
        return "live" if file in self._live else "not of the newest version"

    def _file(self, file: TableFile) -> None:
        add = self._findings.add
        if file.problem:
            self._findings.unread(file.file, file.problem)
        elif file.what == "data" and file.plain:
            add("plaintext file", "high", file.file, f"{self._state(file.file)}: values in it are readable", "*")
        elif file.what == "data" and file.plain is None:
            self._findings.unread(file.file, "its footer is encrypted; whether all before it is was not looked at")
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
            column, whole = self._partitions.get(name, ("*", True))
            what = "its values are readable in partitions" if whole else "its hashes are readable in partitions"
            add("partition value", "high" if whole else "low", file, what, column)
        outside = sum(self._below(path) is None for path in of.files)
        if outside:
            self._findings.unread(file, f"it names {outside:,} files that are not below the table")
        absent = sum((below := self._below(path)) is not None and below not in self._here for path in of.files)
        if absent:
            what = f"it names {absent:,} files that are not there, or are empty"
            add("missing file", "note", file, what)

    def _table(self) -> None:
        add = self._findings.add
        if self._newest is None:
            self._findings.unread("", "no metadata of the table can be read")
            return
        self._key(self._newest)
        if len({(one.uuid, one.location) for one in self._versions}) > 1:
            what = "versions differ in table-uuid or location: one of them may be of another table"
            add("other table", "unread", "", what)
        if self._live is None and self._newest.has_snapshot:
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
        plain = sum(file.what in {"data", "manifest", "manifest list"} and file.plain is True for file in self._looked)
        if newest.has_snapshot and not newest.has_keys:
            what = "encryption.key-id names a key, and the table has no wrapped key: its catalog does not encrypt"
            add("ignored key", "high", newest.file, what)
        elif plain:
            what = f"encryption.key-id names a key, and {plain:,} of its files are plaintext"
            add("ignored key", "high", "", what)
        elif not newest.has_keys:
            self._findings.unread("", "there is no data yet; whether the catalog encrypts is not known")
