"""The columns of an ORC file: a tree of types, numbered from its root, and the statistics that everybody can read.

Of an encrypted column, the statistics are those of its mask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pme_parquet._orc.wire import (
    Field,
    MalformedError,
    Message,
    UnknownError,
    long,
    message,
    messages,
    number,
    numbers,
    presence,
    texts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


# As the format numbers them, in the words of Spark and Hive.
_KINDS = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "timestamp"),
    *("array", "map", "struct", "uniontype", "decimal", "date", "varchar", "char"),
    *("timestamp with local time zone", "geometry", "geography"),
)
_CHILDREN = {"array": 1, "map": 2}
_GROUPS = {"struct", "uniontype"}
# A table with ten thousand columns is very wide.
MAX_COLUMNS = 50_000
# ORC's reader calls itself for each level.
_DEPTH = 100
TYPES = messages(
    "types",
    {
        1: number("kind"),
        2: numbers("subtypes", MAX_COLUMNS),
        3: texts("field_names", MAX_COLUMNS),
        4: number("maximum_length"),
        5: number("precision"),
        6: number("scale"),
    },
    MAX_COLUMNS,
)
_NUMBER, _FIXED64, _BYTES = 0, 1, 2
_RANGES = {
    2: ("int", _NUMBER),
    3: ("double", _FIXED64),
    4: ("string", _BYTES),
    6: ("decimal", _BYTES),
    7: ("date", _NUMBER),
    9: ("timestamp", _NUMBER),
}
_OTHERS = {"bucket": "number of true values", "binary": "total length", "collection": "numbers of elements"}


@dataclass(frozen=True, slots=True)
class OrcType:
    """A column: also a struct, a list or a map.

    Attributes:
        id: its number; children follow their parent.
        kind: the name of its type, without parameters: `varchar`.
        last: the number of the last column in it, or its own.
        parents: the numbers of the columns that it is in, from the root.
        names: its path as Spark names columns: `tags`, `element`.
        orc_names: its path as ORC names columns: `tags`, `_elem`.
        type: the name of its type with parameters: `varchar(11)`.
    """

    id: int
    kind: str
    last: int
    parents: tuple[int, ...]
    names: tuple[str, ...]
    orc_names: tuple[str, ...]
    type: str

    @property
    def is_leaf(self) -> bool:
        """Whether there is none in it."""
        return self.last == self.id and self.kind not in {*_CHILDREN, *_GROUPS}

    def holds(self, column: int) -> bool:
        """Whether a column is this one or in it."""
        return self.id <= column <= self.last


def columns_of(types: Sequence[Message]) -> tuple[OrcType, ...]:
    """All columns in the order of their numbers. Each is the child of exactly one, and follows it.

    Raises:
        MalformedError: the types are not a tree.
        UnknownError: this version does not know a type.
    """
    if not types:
        raise MalformedError("it has no columns")
    kinds = [_kind(one, number) for number, one in enumerate(types)]
    tree = _Tree(types, kinds)
    tree.walk()
    return tuple(
        OrcType(
            column,
            kinds[column],
            tree.last[column],
            tree.parents[column],
            tree.names[column],
            tree.orc_names[column],
            _type(kinds[column], types[column]),
        )
        for column in range(len(types))
    )


def _kind(of: Message, column: int) -> str:
    if "kind" not in of:
        raise MalformedError(f"column {column} has no type")
    if of["kind"] >= len(_KINDS):
        raise UnknownError(f"column {column} has an unknown type, number {of['kind']}")
    kind = _KINDS[of["kind"]]
    count = len(of["subtypes"])
    if count != _CHILDREN.get(kind, count if kind in _GROUPS else 0):
        raise MalformedError(f"column {column} of type {kind} has {count} children")
    if len(of["field_names"]) != (count if kind == "struct" else 0):
        names = len(of["field_names"])
        raise MalformedError(f"column {column} of type {kind} has {count} children, but {names} names of fields")
    return kind


def _type(kind: str, of: Message) -> str:
    if kind in {"varchar", "char"} and "maximum_length" in of:
        return f"{kind}({of['maximum_length']})"
    if kind == "decimal" and "precision" in of:
        return f"decimal({of['precision']},{of.get('scale', 0)})"
    return kind


class _Tree:
    """One walk over the types in their order and without recursion: the file decides how deep they are."""

    def __init__(self, types: Sequence[Message], kinds: Sequence[str]) -> None:
        self._types = types
        self._kinds = kinds
        self.last = [0] * len(types)
        self.parents: list[tuple[int, ...]] = [()]
        self.names: list[tuple[str, ...]] = [()]
        self.orc_names: list[tuple[str, ...]] = [()]
        # The columns whose children follow, each with the number of those that were met.
        self._open: list[list[int]] = []

    def walk(self) -> None:
        for column in range(len(self._types)):
            if column:
                self._child(column)
            self._open.append([column, 0])
            if len(self._open) > _DEPTH:
                raise MalformedError(f"its types are nested more than {_DEPTH} levels deep")
            while self._open and self._open[-1][1] == len(self._types[self._open[-1][0]]["subtypes"]):
                self.last[self._open.pop()[0]] = column
        if self._open:
            raise MalformedError(f"column {self._open[-1][0]} has a child that does not exist")

    def _child(self, column: int) -> None:
        if not self._open:
            raise MalformedError(f"column {column} belongs to no other")
        parent, index = self._open[-1]
        of = self._types[parent]
        if of["subtypes"][index] != column:
            raise MalformedError(f"the child of column {parent} is column {of['subtypes'][index]} instead of {column}")
        self._open[-1][1] += 1
        name, orc_name = self._name(parent, index)
        self.parents.append((*self.parents[parent], parent))
        self.names.append((*self.names[parent], name))
        self.orc_names.append((*self.orc_names[parent], orc_name))

    def _name(self, parent: int, index: int) -> tuple[str, str]:
        kind = self._kinds[parent]
        if kind == "struct":
            name: str = self._types[parent]["field_names"][index]
            return name, name
        if kind == "array":
            return "element", "_elem"
        if kind == "map":
            return ("value", "_value") if index else ("key", "_key")
        return str(index), str(index)


def _there(name: str, wire: int) -> Field:
    """A value whose presence alone matters: its size and sign do not."""
    return Field(name, wire, lambda _: True, bits=64)


_BOUNDS = {name: {1: _there("minimum", wire), 2: _there("maximum", wire)} for name, wire in _RANGES.values()}
_SUMS = {
    "int": {3: _there("sum", _NUMBER)},
    "double": {3: _there("sum", _FIXED64)},
    "decimal": {3: _there("sum", _BYTES)},
    # The sum of a string's statistics is a number of bytes; long bounds are cut, and stand elsewhere.
    "string": {
        3: _there("total length", _NUMBER),
        4: _there("minimum, cut", _BYTES),
        5: _there("maximum, cut", _BYTES),
    },
    "timestamp": {3: _there("minimum in UTC", _NUMBER), 4: _there("maximum in UTC", _NUMBER)},
}
STATISTICS = messages(
    "statistics",
    {
        1: long("count"),
        **{of: message(name, {**_BOUNDS[name], **_SUMS.get(name, {})}) for of, (name, _) in _RANGES.items()},
        5: presence("bucket"),
        8: presence("binary"),
        10: number("has_null"),
        11: long("bytes_on_disk"),
        12: presence("collection"),
    },
    MAX_COLUMNS,
)


def statistics_names(of: Message) -> tuple[str, ...]:
    """What the statistics of a column contain, in words."""
    found = [
        word for field, word in (("count", "number of values"), ("has_null", "whether any is null")) if field in of
    ]
    for name, _ in _RANGES.values():
        for one in of.get(name, {}):
            short = one.removesuffix(", cut").removesuffix(" in UTC")
            if short not in found:
                found.append(short)
    return (*found, *(word for name, word in _OTHERS.items() if name in of))
