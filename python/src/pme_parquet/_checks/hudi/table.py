"""A check from its beginning to its end: list, read properties, look at each file, decide what is protected, search."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from pme_parquet._checks.files import (
    attempt,
    counted,
    known_columns,
    listed_files,
    look_at_files,
    read_document,
    readable_footer,
    regular_files,
)
from pme_parquet._checks.hudi.properties import (
    DEFINITIONS,
    FILE,
    MAX_BYTES,
    RECORD_KEY,
    Properties,
    Protected,
    indexed,
)
from pme_parquet._checks.results import Findings, HudiCheck
from pme_parquet._display.words import printable
from pme_parquet._storage import UnreadableError, is_checksums, shown, storage
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pme_parquet._access import Access
    from pme_parquet._checks.results import Severity
    from pme_parquet._storage import Found, Storage

_MAX_COMMIT = 64 << 20
_MAX_COMMITS = 50
_SHOWN = 5
_STATISTICS = frozenset({"column_stats", "partition_stats"})
_MAGIC = 8
_PARQUET, _LOG, _ORC, _HFILE = (b"PAR1", b"PARE"), b"#HUDI#", b"ORC", b"DATABLK*"
_AVRO = b"Obj\x01"
_OWN, _TIMELINE, _TABLE = ".hoodie/", ".hoodie/timeline/", ".hoodie/metadata/"
# Schemas, of which all old versions are kept.
_SCHEMAS, _TEMPORARY = ".hoodie/.schema/", ".hoodie/.temp/"
_PARTITION = ".hoodie_partition_metadata"
# What a dropped part of the metadata table is renamed to.
_DROPPED = re.compile(r"\.hoodie/\.metadata_(.+)_\d{14,17}/")
# Hudi's own: names of files and times.
_EMPTY_PARTS = frozenset({".hoodie", "files"})
_IN_FOOTERS = frozenset({b"hoodie_min_record_key", b"hoodie_max_record_key", b"org.apache.hudi.bloomfilter"})

What = Literal[
    "data", "encrypted", "log file", "other format", "index", "timeline", "properties", "definitions", "other"
]


def searched(where: str, columns: Sequence[str] | None, reached: Access, function: str) -> HudiCheck:
    """Everything that `pme.hudi.check` does."""
    files = storage(where, reached.options)
    listed = listed_files(files)
    if not any(one.slashed.startswith(_OWN) for one in listed):
        raise BadOptionError(f"{function}: {shown(where)} is not a Hudi table: it has no .hoodie. Check the path.")
    if columns is not None and not columns:
        raise BadOptionError(f"{function}: columns is empty. Name a column, or leave it out.")
    findings = _Findings()
    regular = regular_files(listed, findings)
    looked = look_at_files(regular, lambda one: look_at(files, one), findings)
    search = _Search(files, findings, looked, columns)
    search.search()
    stated = search.properties
    return HudiCheck(
        shown(where),
        stated.version if stated else None,
        stated.type if stated else None,
        search.protected.names,
        search.columns_from,
        findings.all(),
        counted((file.what for file in looked), len(regular)),
        reached.words,
    )


class _Findings(Findings):
    """Findings that name no directory with a value."""

    def add(self, kind: str, severity: Severity, file: str, what: str, *columns: str) -> None:
        if "/" in file and (not file.startswith(_OWN) or file.startswith(_TEMPORARY)):
            # Names of directories are values of partitions.
            file = f"…/{file.rpartition('/')[2]}"
        super().add(kind, severity, file, what, *columns)


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of a table.

    Attributes:
        found: the file.
        what: what it is.
        index: the part of the metadata table that it belongs to.
        plain: the columns that anyone can read; None if all may be.
        sealed: the columns that its readable footer says are encrypted.
        in_footer: whether a readable footer has record keys, or a Bloom filter of them.
    """

    found: Found
    what: What
    index: str = ""
    plain: frozenset[str] | None = frozenset()
    sealed: frozenset[str] = frozenset()
    in_footer: bool = False

    @property
    def file(self) -> str:
        """Its path below the table, with slashes."""
        return self.found.slashed


def look_at(storage: Storage, found: Found) -> TableFile:
    """What a file shows to anyone, by its place and its first bytes.

    Raises:
        UnreadableError: it cannot be read, or is of no known kind.
    """
    begin = storage.read(found.path, 0, _MAGIC)
    if is_checksums(storage, found):
        return TableFile(found, "other")
    if begin[:4] in _PARQUET:
        return _parquet(storage, found)
    if found.slashed.startswith(_OWN):
        return _own(found, begin)
    if begin.startswith((_LOG, _ORC, _HFILE)):
        return TableFile(found, "log file" if begin.startswith(_LOG) else "other format", plain=None)
    if found.name == _PARTITION and begin.startswith(b"#"):
        return TableFile(found, "other")
    raise UnreadableError("it is no file of a kind that Hudi writes")


def _own(found: Found, begin: bytes) -> TableFile:
    """A file below `.hoodie`."""
    file = found.slashed
    if file in {FILE, f"{FILE}.backup"}:
        return TableFile(found, "properties")
    if file.startswith(DEFINITIONS):
        return TableFile(found, "definitions")
    if part := _part(file):
        empty = part in _EMPTY_PARTS or found.name == _PARTITION
        return TableFile(found, "other") if empty else TableFile(found, "index", index=part)
    commit = file.startswith((_SCHEMAS, _TIMELINE)) and begin.startswith((_AVRO, b"{"))
    if commit or file.startswith(f"{_TIMELINE}history/"):
        return TableFile(found, "timeline")
    raise UnreadableError("it is no file of a kind that this check knows below .hoodie")


def _part(file: str) -> str:
    """The part of the metadata table that a file belongs to; empty if to none."""
    dropped = _DROPPED.match(file)
    if dropped:
        return dropped[1]
    return file.removeprefix(_TABLE).partition("/")[0] if file.startswith(_TABLE) else ""


def _parquet(storage: Storage, found: Found) -> TableFile:
    columns = known_columns(storage, found)
    if columns.footer == "encrypted":
        return TableFile(found, "encrypted") if columns.whole else TableFile(found, "data", plain=None)
    if found.slashed.startswith(_TIMELINE):
        return TableFile(found, "timeline")
    footer = readable_footer(storage, found)
    in_footer = footer is None or not _IN_FOOTERS.isdisjoint(footer.metadata_names)
    return TableFile(found, "data", plain=columns.plain, sealed=columns.sealed, in_footer=in_footer)


class _Search:
    """What is known of a table, and what it shows."""

    def __init__(
        self,
        files: Storage,
        findings: Findings,
        looked: Sequence[TableFile],
        columns: Sequence[str] | None,
    ) -> None:
        self._files, self._findings, self._looked = files, findings, looked
        self.properties = self._properties()
        sealed = sorted({name for file in looked for name in file.sealed})
        names, self.columns_from = columns, "as asked for"
        if columns is None:
            hidden = any(file.what == "encrypted" and not file.file.startswith(_OWN) for file in looked)
            names = sealed if sealed and not hidden else None
            self.columns_from = "columns that files encrypt" if names else "all, since no footer says which"
        stated = self.properties
        self.protected = Protected(names, stated.keys if stated else None, stated.partitions if stated else None)
        self._asked = columns or ()
        self._indexed = self._definitions()

    def search(self) -> None:
        """Adds all findings."""
        for file in self._looked:
            self._file(file)
        self._table()
        self._names()

    def _properties(self) -> Properties | None:
        """What the table says of itself; a finding if that is not known."""
        of_table = next((file for file in self._looked if file.file == FILE), None)
        if of_table is None:
            self._findings.unread("", "the table has no hoodie.properties that can be read")
            return None
        return read_document(self._files, of_table.found, MAX_BYTES, Properties, self._findings)

    def _definitions(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for file in self._looked:
            if file.what == "definitions":
                found |= read_document(self._files, file.found, MAX_BYTES, indexed, self._findings) or {}
        return found

    def _file(self, file: TableFile) -> None:
        add, protected = self._findings.add, self.protected
        if file.what == "log file":
            what = "rows or record keys in a log file, of merge-on-read or change data, are readable"
            add("log file", "high", file.file, what, "*")
        elif file.what == "other format":
            add("plaintext file", "high", file.file, "it is not Parquet, and values in it are readable", "*")
        elif file.what == "index":
            self._index(file)
        elif file.what == "data" and file.plain is None:
            add("plaintext file", "high", file.file, "its footer is encrypted, but not everything before it is", "*")
        elif file.what == "data":
            readable = protected.among(file.plain or ())
            kind = "plaintext column" if file.sealed else "plaintext file"
            what = "it is not encrypted in this file" if file.sealed else "values in it are readable"
            if readable:
                add(kind, "high", file.file, what, *(readable if len(readable) <= _SHOWN else ("*",)))
            if file.in_footer and protected.keys:
                what = "its readable footer has the smallest and largest record key, or a Bloom filter of record keys"
                add("record keys in a footer", "high", file.file, what, *protected.keys)

    def _index(self, file: TableFile) -> None:
        """A part of the metadata table, or a copy of one that was dropped."""
        part, add = file.index, self._findings.add
        keys = self.protected.keys
        if part in _STATISTICS:
            fields = self._indexed.get("column_stats")
            found = ("*",) if fields is None else self.protected.among(fields)
            if found:
                add("statistics", "high", file.file, f"smallest and largest values are readable in {part}", *found)
            else:
                why = f"{part} now has no protected column; whether it had one before was not looked at"
                self._findings.unread(file.file, why)
        elif part == "record_index":
            if keys:
                add("record keys", "high", file.file, "record keys are readable in record_index", *keys)
        elif part.startswith(("secondary_index_", "expr_index_")):
            fields = self._indexed.get(part)
            found = ("*",) if fields is None else self.protected.among((*fields, RECORD_KEY))
            if found:
                add("index", "high", file.file, "values, or what is computed from them, are readable", *found)
        elif part == "bloom_filters":
            if keys:
                what = "Bloom filters of record keys: anyone can try out whether a key is among them"
                add("Bloom filters", "low", file.file, what, *keys)
        else:
            self._findings.unread(file.file, "it is a part of the metadata table that this check does not know")

    def _table(self) -> None:
        add, stated = self._findings.add, self.properties
        if self.protected.partitions:
            what = "its values are in names of directories, the timeline and the metadata table"
            add("partition value", "high", "", what, *self.protected.partitions)
        if stated is None:
            return
        if stated.type != "COPY_ON_WRITE":
            add("table type", "low", FILE, "the table is MERGE_ON_READ: its next updates will be in readable log files")
        if stated.change_data:
            add("change data", "low", FILE, "changes of rows will be written into readable log files")
        if stated.other_format:
            add("file format", "low", FILE, "base files may be of another format than Parquet, and readable")
        if self.protected.keys:
            what = (
                "the column _hoodie_record_key repeats it, and footers have its smallest and largest value under the "
                "footer's key: with that key these are readable"
            )
            add("record key", "note", "", what, *self.protected.keys)

    def _names(self) -> None:
        """A column that no commit names may be misspelt, and then nothing was searched for."""
        missing = {name: re.compile(_named(name)) for name in self._asked}
        commits = sorted(
            (one for one in self._looked if one.what == "timeline"), key=lambda one: one.file, reverse=True
        )
        for file in commits[:_MAX_COMMITS]:
            if missing and file.found.bytes <= _MAX_COMMIT:
                read = partial(self._files.read, file.found.path, 0, file.found.bytes)
                content = attempt(file.found, read, self._findings) or b""
                missing = {name: pattern for name, pattern in missing.items() if not pattern.search(content)}
        for name in sorted(missing):
            what = f"no commit that was looked at has a column {printable(name)}: check the name"
            self._findings.unread("", what)


def _named(name: str) -> bytes:
    """How a schema in a commit names the last part of a column's name."""
    last = name.rsplit(".", maxsplit=1)[-1].strip().strip("`").encode()
    return rb'(?i)\\?"name\\?"\s*:\s*\\?"' + re.escape(last) + rb'\\?"'
