"""A check from its beginning to its end: list, read properties, look at each file, decide what is protected, search."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from pme_parquet._checks.files import counted, listed_files, regular_files, slashed
from pme_parquet._checks.findings import FoundOnce
from pme_parquet._display.words import printable
from pme_parquet._hudi.checked import HudiCheck, HudiFinding
from pme_parquet._hudi.files import look_at, shown_path
from pme_parquet._hudi.properties import FILE, MAX_BYTES, RECORD_KEY, Properties, Protected, indexed
from pme_parquet._logs.bounds import UnreadableError
from pme_parquet._storage import shown, storage
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pme_parquet._access import Access
    from pme_parquet._checks.findings import Severity
    from pme_parquet._hudi.files import TableFile
    from pme_parquet._storage import Found, WholeStorage

_MAX_COMMIT = 64 << 20
_MAX_COMMITS = 50
_THREADS = 16
_SHOWN = 5
Read = TypeVar("Read")
_STATISTICS = frozenset({"column_stats", "partition_stats"})


def searched(where: str, columns: Sequence[str] | None, reached: Access, function: str) -> HudiCheck:
    """Everything that `pme.hudi.check` does."""
    files = storage(where, reached.options)
    listed = listed_files(files)
    if not any(slashed(one).startswith(".hoodie/") for one in listed):
        raise BadOptionError(f"{function}: {shown(where)} is not a Hudi table: it has no .hoodie. Check the path.")
    if columns is not None and not columns:
        raise BadOptionError(f"{function}: columns is empty. Name a column, or leave it out.")
    findings = _Findings(HudiFinding)
    regular = regular_files(listed, findings)
    with ThreadPoolExecutor(_THREADS) as threads:
        looked = list(threads.map(lambda one: look_at(files, one), regular))
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
        counted(file.what for file in looked),
        reached.words,
    )


class _Findings(FoundOnce[HudiFinding]):
    """Findings that name no directory with a value."""

    def add(self, kind: str, severity: Severity, file: str, what: str, *columns: str) -> None:
        super().add(kind, severity, shown_path(file), what, *columns)


class _Search:
    """What is known of a table, and what it shows."""

    def __init__(
        self,
        files: WholeStorage,
        findings: FoundOnce[HudiFinding],
        looked: Sequence[TableFile],
        columns: Sequence[str] | None,
    ) -> None:
        self._files, self._findings, self._looked = files, findings, looked
        self.properties = self._properties()
        sealed = sorted({name for file in looked for name in file.sealed})
        names, self.columns_from = columns, "as asked for"
        if columns is None:
            hidden = any(file.what == "encrypted" and not file.file.startswith(".hoodie/") for file in looked)
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
            self._findings.unread("", "the table has no hoodie.properties")
            return None
        return self._read(of_table.found, Properties)

    def _read(self, found: Found, understood: Callable[[bytes], Read]) -> Read | None:
        if found.bytes > MAX_BYTES:
            self._findings.unread(slashed(found), "it is too long to be read")
            return None
        try:
            return understood(self._files.read(found.path, 0, found.bytes))
        except UnreadableError as why:
            self._findings.unread(slashed(found), str(why))
        except Exception as failed:  # noqa: BLE001 each storage has errors of its own, and no document may stop a check
            self._findings.unread(slashed(found), f"{type(failed).__name__} while it was read")
        return None

    def _definitions(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for file in self._looked:
            if file.what == "definitions":
                found |= self._read(file.found, indexed) or {}
        return found

    def _file(self, file: TableFile) -> None:
        add, protected = self._findings.add, self.protected
        if file.problem:
            self._findings.unread(file.file, file.problem)
        elif file.what == "log file":
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
                content = self._files.read(file.found.path, 0, file.found.bytes)
                missing = {name: pattern for name, pattern in missing.items() if not pattern.search(content)}
        for name in sorted(missing):
            what = f"no commit that was looked at has a column {printable(name)}: check the name"
            self._findings.unread("", what)


def _named(name: str) -> bytes:
    """How a schema in a commit names the last part of a column's name."""
    last = name.rsplit(".", maxsplit=1)[-1].strip().strip("`").encode()
    return rb'(?i)\\?"name\\?"\s*:\s*\\?"' + re.escape(last) + rb'\\?"'
