"""The names of columns as `column_keys` takes them, from a footer's schema.

The rules are those of the connector's SchemaColumns: the values of a list are `tags.element`, whatever the file calls
the level between: `tags.list`, `tags.array`, or nothing at all.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pme_parquet._inspect.thrift import MalformedError, binary, each, i32, struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pme_parquet._inspect.thrift import Field, Struct

# Columns and the groups that contain them.
MAX_ELEMENTS = 150_000
# Deeper columns are named by their path: the names of many very deep columns would fill the memory.
MAX_DEPTH = 64

_REPEATED = 2
# From parquet.thrift's ConvertedType, and from the fields of its LogicalType.
_CONVERTED = {1: "map", 2: "map", 3: "list"}
_LOGICAL = {2: struct("map", {}), 3: struct("list", {})}
_ELEMENT = {
    1: i32("type"),
    3: i32("repetition_type"),
    4: binary("name"),
    5: i32("num_children"),
    6: i32("converted_type"),
    10: struct("logical_type", _LOGICAL),
}

Path = tuple[str, ...]


@dataclass(slots=True)
class _Node:
    """A column or a group of columns."""

    name: str
    repeated: bool
    kind: str | None
    primitive: bool
    children: list[_Node] = field(default_factory=list)

    @property
    def holds_one_repeated(self) -> bool:
        return len(self.children) == 1 and self.children[0].repeated


class Names:
    """The columns of one schema."""

    def __init__(self) -> None:
        self._elements: list[Struct] = []
        self._named: dict[Path, str] | None = None

    @property
    def field(self) -> Field:
        """The field that reads the schema from a footer; read it before anything that asks for names."""
        return each("schema", _ELEMENT, self._add)

    def of(self, path: Sequence[bytes]) -> str:
        """The name of the column with this path; the path itself if the schema does not have it."""
        if self._named is None:
            self._named = dict(_named(_tree(self._elements)))
        parts = tuple(_text(part) for part in path)
        return self._named.get(parts) or joined(parts)

    def _add(self, element: Struct) -> None:
        if len(self._elements) == MAX_ELEMENTS:
            raise MalformedError(f"its schema has more than {MAX_ELEMENTS} elements")
        self._elements.append(element)


def _tree(elements: Sequence[Struct]) -> list[_Node]:
    """The children of the root. Columns that the schema lacks get no names."""
    roots: list[_Node] = []
    # The open groups: the group whose children come next, and how many are left.
    open_: list[tuple[list[_Node], int]] = [(roots, elements[0].get("num_children", 0))] if elements else []
    for element in elements[1:]:
        while open_ and open_[-1][1] <= 0:
            open_.pop()
        if not open_:
            break
        siblings, left = open_.pop()
        open_.append((siblings, left - 1))
        node = _Node(
            _text(element.get("name", b"")),
            element.get("repetition_type") == _REPEATED,
            _kind(element),
            primitive="type" in element,
        )
        siblings.append(node)
        if not node.primitive:
            open_.append((node.children, element.get("num_children", 0)))
    return roots


def _kind(element: Struct) -> str | None:
    """The kind of a group. If the two annotations differ, parquet-java uses the older one."""
    if "converted_type" in element:
        return _CONVERTED.get(element["converted_type"])
    return next(iter(element.get("logical_type", ())), None)


def _named(roots: Sequence[_Node]) -> Iterator[tuple[Path, str]]:
    """Path and name of each column; without recursion, because a schema can be arbitrarily deep."""
    left: list[tuple[_Node, Path, Path]] = [_entered(node, (), ()) for node in roots]
    while left:
        node, path, name = left.pop()
        if node.primitive:
            yield path, joined(name)
        elif len(path) < MAX_DEPTH:
            left.extend(_inside(node, path, name))


def _entered(node: _Node, path: Path, name: Path) -> tuple[_Node, Path, Path]:
    """A repeated field outside of lists and maps is a list of its own: protobuf's converters write it this way."""
    inner = (*name, node.name)
    return node, (*path, node.name), (*inner, "element") if node.repeated else inner


def _inside(node: _Node, path: Path, name: Path) -> Iterator[tuple[_Node, Path, Path]]:
    if not node.holds_one_repeated or node.kind is None:
        yield from (_entered(child, path, name) for child in node.children)
        return
    [repeated] = node.children
    inner = (*path, repeated.name)
    if node.kind == "list":
        if _is_element(repeated, node):
            yield repeated, inner, (*name, "element")
        else:
            [only] = repeated.children
            yield only, (*inner, only.name), (*name, "element")
    elif repeated.primitive:
        yield repeated, inner, name
    else:
        for child, part in zip(repeated.children, ("key", "value"), strict=False):
            yield child, (*inner, child.name), (*name, part)


def _is_element(repeated: _Node, of: _Node) -> bool:
    """The Parquet format's rules for lists: the repeated field is the element, or holds it."""
    return repeated.primitive or len(repeated.children) != 1 or repeated.name in {"array", f"{of.name}_tuple"}


def _text(part: bytes) -> str:
    return part.decode("utf-8", "backslashreplace")


def joined(path: Iterable[str]) -> str:
    """The name of a path in a form that `column_keys` reads back: odd names in backticks."""
    return ".".join(part if _is_plain(part) else "`" + part.replace("`", "``") + "`" for part in path)


def _is_plain(part: str) -> bool:
    return bool(part) and all(char in "_@#$-" or unicodedata.category(char)[0] in "LN" for char in part)
