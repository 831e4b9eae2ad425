"""What one file of a table is, by its place and its first bytes, and what of it is readable."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pme_parquet._checks.files import is_modules, slashed
from pme_parquet._hudi.properties import DEFINITIONS, FILE
from pme_parquet._inspect.footers import footer_of
from pme_parquet._inspect.look import look
from pme_parquet._inspect.thrift import MalformedError, Struct, binary, each, parse
from pme_parquet._logs.sums import is_sums
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from pme_parquet._storage import Found, Storage

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
    "data",
    "encrypted",
    "log file",
    "other format",
    "index",
    "timeline",
    "properties",
    "definitions",
    "other",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of a table.

    Attributes:
        found: the file.
        file: its path below the table, with slashes.
        what: what it is.
        index: the part of the metadata table that it belongs to.
        plain: the columns that anyone can read; None if all may be.
        sealed: the columns that its readable footer says are encrypted.
        in_footer: whether a readable footer has record keys, or a Bloom filter of them.
        problem: why it was not looked at.
    """

    found: Found
    file: str
    what: What
    index: str = ""
    plain: frozenset[str] | None = frozenset()
    sealed: frozenset[str] = frozenset()
    in_footer: bool = False
    problem: str = ""


def shown_path(file: str) -> str:
    """A path without values of partitions, which are names of directories."""
    if "/" not in file or (file.startswith(_OWN) and not file.startswith(_TEMPORARY)):
        return file
    return f"…/{file.rpartition('/')[2]}"


def look_at(storage: Storage, found: Found) -> TableFile:
    """What a file shows to anyone."""
    file = slashed(found)
    try:
        return _looked(storage, found, file)
    except Exception as failed:  # noqa: BLE001 whoever wrote a file must not be able to stop a check
        return TableFile(found, file, "unknown", problem=f"{type(failed).__name__} while it was read")


def _looked(storage: Storage, found: Found, file: str) -> TableFile:
    begin = storage.read(found.path, 0, _MAGIC)
    if is_sums(storage, found):
        return TableFile(found, file, "other")
    if begin[:4] in _PARQUET:
        return _parquet(storage, found, file)
    if file.startswith(_OWN):
        return _own(found, file, begin)
    if begin.startswith((_LOG, _ORC, _HFILE)):
        return TableFile(found, file, "log file" if begin.startswith(_LOG) else "other format", plain=None)
    if found.name == _PARTITION and begin.startswith(b"#"):
        return TableFile(found, file, "other")
    return TableFile(found, file, "unknown", problem="it is no file of a kind that Hudi writes")


def _own(found: Found, file: str, begin: bytes) -> TableFile:
    """A file below `.hoodie`."""
    if file in {FILE, f"{FILE}.backup"}:
        return TableFile(found, file, "properties")
    if file.startswith(DEFINITIONS):
        return TableFile(found, file, "definitions")
    if part := _part(file):
        empty = part in _EMPTY_PARTS or found.name == _PARTITION
        return TableFile(found, file, "other") if empty else TableFile(found, file, "index", index=part)
    commit = file.startswith((_SCHEMAS, _TIMELINE)) and begin.startswith((_AVRO, b"{"))
    if commit or file.startswith(f"{_TIMELINE}history/"):
        return TableFile(found, file, "timeline")
    return TableFile(found, file, "unknown", problem="it is no file of a kind that this check knows below .hoodie")


def _part(file: str) -> str:
    """The part of the metadata table that a file belongs to; empty if to none."""
    dropped = _DROPPED.match(file)
    if dropped:
        return dropped[1]
    return file.removeprefix(_TABLE).partition("/")[0] if file.startswith(_TABLE) else ""


def _parquet(storage: Storage, found: Found, file: str) -> TableFile:
    facts = look(storage, found)
    if facts.footer == "encrypted":
        try:
            whole = is_modules(storage, found)
        except PmeError:
            whole = None
        if whole is None:
            why = "its footer is encrypted; whether all before it is was not looked at"
            return TableFile(found, file, "unknown", problem=why)
        return TableFile(found, file, "encrypted") if whole else TableFile(found, file, "data", plain=None)
    if facts.columns is None:
        why = next((finding.condition for finding in facts.findings), "") or "its footer cannot be read"
        return TableFile(found, file, "unknown", problem=why)
    plain = frozenset(column.name for column in facts.columns if not column.encrypted_with)
    sealed = frozenset(column.name for column in facts.columns if column.encrypted_with)
    if file.startswith(_TIMELINE):
        return TableFile(found, file, "timeline")
    return TableFile(found, file, "data", plain=plain, sealed=sealed, in_footer=_keys_in_footer(storage, found))


def _keys_in_footer(storage: Storage, found: Found) -> bool:
    names: list[bytes] = []

    def take(one: Struct) -> None:
        names.append(one.get("key", b""))

    try:
        with footer_of(storage, found) as (_, footer):
            parse(footer, {5: each("key_value_metadata", {1: binary("key")}, take)})
    except (PmeError, MalformedError):
        return True
    return not _IN_FOOTERS.isdisjoint(names)
