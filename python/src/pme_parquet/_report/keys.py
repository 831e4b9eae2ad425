"""The master keys of a table: the purpose of each, and what would be lost with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pme_parquet._display.words import number, size
from pme_parquet._inspect.inspected import Key
from pme_parquet._inspect.view import short
from pme_parquet._report.html import Html, first, limited, paragraph, tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pme_parquet._inspect.inspected import Column, InspectedFile
    from pme_parquet._report.facts import Facts, KeyUse

_MOST_KEYS = 100
_MOST_NAMES = 12
Role = Literal["footer", "columns"]
_WRAPPINGS = {
    "double": "wrapped twice",
    "single": "wrapped once",
    "direct": ("not wrapped: the master key is the data key"),
    "derived": "in the file, decrypted by the master key itself or by Hadoop KMS",
}
_MATERIALS = {"internal": "in the file", "external": "in a separate file", "mixed": "in the file or in a separate file"}


@dataclass
class MasterKey:
    """A master key in one of its roles.

    Attributes:
        name: its id, or why there is none.
        version: its version, if the KMS writes one.
        role: what it protects: footers and everything without a key of its own, or columns.
        files: number of files that use it in this role.
        columns: those it encrypts; none if that is not visible.
        bytes: their size; none if that is not visible.
        wrappings: how data keys are stored.
        data_key_bits: lengths of data keys.
        kek_bits: lengths of key-encryption keys.
        keks: ids of key-encryption keys.
        closed_files: files that cannot be read at all without it.
        closed_columns: columns that cannot be read without it; none if that is not visible.
        open_elsewhere: those of them that some files have in plaintext.
    """

    name: str
    version: str | None
    role: Role
    files: int = 0
    columns: set[str] | None = field(default_factory=set)
    bytes: int | None = 0
    wrappings: set[str] = field(default_factory=set)
    data_key_bits: set[int] = field(default_factory=set)
    kek_bits: set[int] = field(default_factory=set)
    keks: set[str] = field(default_factory=set)
    closed_files: int = 0
    closed_columns: set[str] | None = None
    open_elsewhere: set[str] = field(default_factory=set)

    @property
    def title(self) -> str:
        """Its name and version."""
        return f"{self.name}, version {self.version}" if self.version else self.name

    @property
    def loss(self) -> str:
        """What can no longer be read if it is lost."""
        if self.closed_files:
            return f"all of {number(self.closed_files, 'file')}"
        if self.closed_columns:
            columns = "this column" if len(self.closed_columns) == 1 else "these columns"
            but = f" (readable in other files: {', '.join(sorted(self.open_elsewhere))})" if self.open_elsewhere else ""
            return f"{columns} in {number(self.files, 'file')}{but}"
        return "nothing on its own" if self.closed_columns is not None else "columns that are not visible"


def master_keys(facts: Facts) -> list[MasterKey]:
    """Every visible master key: keys of footers first, then by name."""
    found = _Found()
    for file in facts.inspection.files:
        found.file(file)
    if facts.usage is not None:
        found.usage(facts.usage)
    return sorted(found.keys.values(), key=lambda key: (key.role != "footer", key.title))


class _Found:
    """The master keys found so far, by role, name and version."""

    def __init__(self) -> None:
        self.keys: dict[tuple[Role, str, str | None], MasterKey] = {}

    def _entry(self, role: Role, name: str, version: str | None) -> MasterKey:
        return self.keys.setdefault((role, name, version), MasterKey(name, version, role))

    def file(self, file: InspectedFile) -> None:
        """Adds the keys that a file shows without a key."""
        roles: list[tuple[Role, Key]] = [("footer", file.footer_key)] if file.footer_key else []
        roles += [("columns", key) for key in file.column_keys]
        used: dict[int, MasterKey] = {}
        for role, key in roles:
            one = self._entry(role, short(key), key.master_key_version)
            used[id(one)] = one
            _describe(one, key)
        for one in used.values():
            one.files += 1
            if file.columns is None:
                one.columns = one.bytes = None
                one.closed_files += one.role == "footer"
            else:
                one.closed_columns = one.closed_columns or set()
        for column in file.columns or ():
            self._column(column)

    def _column(self, column: Column) -> None:
        if column.encrypted_with is None or column.key is None:
            return
        role: Role = "footer" if column.encrypted_with == "footer key" else "columns"
        one = self._entry(role, short(column.key), column.key.master_key_version)
        one.closed_columns = (one.closed_columns or set()) | {column.name}
        if one.columns is not None and one.bytes is not None:
            one.columns.add(column.name)
            one.bytes += column.compressed_bytes

    def usage(self, uses: Sequence[KeyUse]) -> None:
        """Replaces what is visible without keys by what keys show, and adds keys that only keys show."""
        for key in self.keys.values():
            key.columns, key.bytes, key.closed_files, key.closed_columns = set(), 0, 0, set()
        seen = set(self.keys)
        for use in uses:
            if use.kind in {"footer", "column"}:
                role: Role = "footer" if use.kind == "footer" else "columns"
                version = None if use.version is None else str(use.version)
                name = use.master_key or short(Key("none"))
                one = self._entry(role, name, version)
                if (role, name, version) not in seen:
                    one.files += use.files
                    words = (_WRAPPINGS.get(use.wrapping or ""), _MATERIALS.get(use.material or ""))
                    one.wrappings.add(", ".join(part for part in words if part))
                _use(one, use)


def _use(one: MasterKey, use: KeyUse) -> None:
    one.closed_files += use.unreadable_files
    one.closed_columns = (one.closed_columns or set()) | {*use.unreadable_columns, *use.unreadable_in_some_files}
    one.open_elsewhere |= set(use.unreadable_in_some_files)
    one.data_key_bits |= set(use.data_key_bits)
    one.kek_bits |= set(use.kek_bits)
    # If a part is unknown, a sum would be too small.
    one.bytes = None if use.bytes is None or one.bytes is None else one.bytes + use.bytes
    if one.columns is not None:
        one.columns = None if use.bytes is None and not use.columns else one.columns | set(use.columns)


def _describe(one: MasterKey, key: Key) -> None:
    if key.management == "envelope":
        wrapping = _WRAPPINGS["double" if key.double_wrapping else "single"]
        one.wrappings.add(f"{wrapping}, {_MATERIALS[key.material or 'internal']}")
    elif key.management == "direct":
        one.wrappings.add(_WRAPPINGS["direct"])
    elif key.management == "derived":
        one.wrappings.add(_WRAPPINGS["derived"])
    if key.data_key_bits:
        one.data_key_bits.add(key.data_key_bits)
    if key.kek_bits:
        one.kek_bits.add(key.kek_bits)
    if key.kek_id:
        one.keks.add(key.kek_id)


def keys(facts: Facts) -> Html:
    """Which master key protects what, and what would be lost without it."""
    rows = []
    for key in master_keys(facts):
        columns = "not visible" if key.columns is None else first(sorted(key.columns), _MOST_NAMES) or "none"
        role = "footers, and columns without a key of their own" if key.role == "footer" else "columns"
        amount = "not visible" if key.bytes is None else size(key.bytes)
        rows.append((key.title, role, f"{key.files:,}", columns, amount, _kept(key), _lengths(key), key.loss))
    if not rows:
        return paragraph("The files name no keys.")
    header = ("Master key", "Protects", "Files", "Columns", "Size", "Data keys", "Key lengths", "Unreadable without it")
    explained = paragraph(
        "A master key wraps the data keys in the files and is stored outside them. Anyone who may use it can read "
        "what its row lists. If it is lost, that data is lost."
    )
    return tag("div", explained, limited("Master keys", header, rows, numbers=(2, 4), most=_MOST_KEYS))


def _kept(key: MasterKey) -> str:
    return "; ".join(sorted(key.wrappings)) or "not known"


def _lengths(key: MasterKey) -> str:
    data, between = (in_bits(bits) for bits in (key.data_key_bits, key.kek_bits))
    parts = [f"data keys {data}" if data else "not visible"]
    if key.keks:
        parts.append(f"{number(len(key.keks), 'key-encryption key')}{' of ' + between if between else ''}")
    elif between:
        parts.append(f"key-encryption keys of {between}")
    return ", ".join(parts)


def in_bits(lengths: Iterable[int]) -> str:
    """Lengths of keys in words; empty if there is none."""
    text = " or ".join(str(one) for one in sorted(lengths))
    return f"{text} bits" if text else ""
