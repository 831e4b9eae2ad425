"""Columns by all of their names: logical, physical under column mapping, and earlier ones.

A path is a tuple of names without upper case, since Delta compares names that way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pme_parquet._delta_log.log import document
from pme_parquet._display.words import printable
from pme_parquet._inspect.names import joined
from pme_parquet._storage import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Path = tuple[str, ...]

PHYSICAL = "delta.columnMapping.physicalName"
MAX_FIELDS = 50_000
MAX_DEPTH = 64
# Of lists and maps; in a schema, `elementType` and so on.
_PARTS = ("element", "key", "value")
_SHOWN = 20


def split(name: str) -> Path:
    """The parts of a name such as `address.city`; odd names are in backticks.

    Raises:
        ValueError: it is not a name.
    """
    parts = re.findall(r"`((?:[^`]|``)+)`(?:\.|$)|([^.`]+)(?:\.|$)", name)
    path = tuple((quoted.replace("``", "`") or plain) for quoted, plain in parts)
    if not path or joined(path).replace("`", "") != name.replace("`", ""):
        raise ValueError(name)
    return path


def path_of(name: str) -> Path:
    """The path of a column's name in a footer, whatever it is."""
    try:
        return split(name)
    except ValueError:
        return tuple(name.split("."))


def fold(path: Iterable[str]) -> Path:
    """The form in which paths are compared."""
    return tuple(part.casefold() for part in path)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a schema, with the names of the fields around it."""

    logical: Path
    physical: Path
    metadata: dict[str, Any]
    leaf: bool


def fields(schema: str) -> Iterator[Field]:
    """The fields of a schema as the log has it; those of structs within arrays and maps follow their names.

    Raises:
        UnreadableError: it is not a schema, or a very large one.
    """
    left: list[tuple[Any, Path, Path]] = [(document(schema), (), ())]
    count = 0
    while left:
        node, logical, physical = left.pop()
        if not isinstance(node, dict):
            continue
        left += [(node.get(f"{part}Type"), (*logical, part), (*physical, part)) for part in _PARTS]
        children = node.get("fields", [])
        for one in children if isinstance(children, list) else [None]:
            count += 1
            of = one if isinstance(one, dict) else {}
            name, kind, metadata = of.get("name"), of.get("type"), of.get("metadata")
            if not isinstance(name, str) or count > MAX_FIELDS or len(logical) > MAX_DEPTH:
                raise UnreadableError("it has a schema that cannot be read")
            metadata = metadata if isinstance(metadata, dict) else {}
            own = metadata.get(PHYSICAL)
            is_struct = isinstance(kind, dict) and kind.get("type") == "struct"
            made = Field(
                (*logical, name), (*physical, own if isinstance(own, str) else name), metadata, leaf=not is_struct
            )
            yield made
            left.append((kind, made.logical, made.physical))


@dataclass(slots=True)
class Schemas:
    """The names of all schemas that the log has: each path, folded, with the name of the newest schema."""

    _logical_of: dict[Path, Path] = field(default_factory=dict)
    _names_of: dict[Path, set[Path]] = field(default_factory=dict)
    _under: dict[Path, set[Path]] = field(default_factory=dict)
    _leaves: set[Path] = field(default_factory=set)
    _newest: tuple[Path, ...] = ()

    def add(self, found: Sequence[Field]) -> None:
        """Adds a schema, the oldest first."""
        for one in found:
            physical = fold(one.physical)
            self._logical_of[physical] = self._logical_of[fold(one.logical)] = one.logical
            names = {physical, fold(one.logical)}
            self._names_of.setdefault(physical, set()).update(names)
            for name in names:
                for length in range(1, len(name) + 1):
                    self._under.setdefault(name[:length], set()).add(physical)
        self._leaves.update(fold(one.physical) for one in found if one.leaf)
        self._newest = tuple(one.logical for one in found if one.leaf)

    def names(self, path: Path) -> dict[Path, str]:
        """Each folded path of a column, and of the columns in it, with the column's newest name."""
        wanted = fold(path)
        base = self._base(wanted)
        found = {wanted: joined(path)}
        for physical in self._under.get(base, ()):
            names = self._names_of[physical]
            if base == wanted:
                found |= dict.fromkeys(names, joined(self._logical_of[physical]))
            elif base in names:
                found |= dict.fromkeys((name + wanted[len(base) :] for name in names), joined(path))
        return found

    def every(self) -> dict[Path, str]:
        """The same for all columns but structs."""
        names = ((name, physical) for physical in self._leaves for name in self._names_of[physical])
        return {name: joined(self._logical_of[physical]) for name, physical in names}

    def known(self, path: Path) -> bool:
        """Whether any schema has the column; or the list or map, if it is a part of one."""
        return self._base(fold(path)) in self._logical_of

    def _base(self, path: Path) -> Path:
        """The path without the parts of lists and maps at its end that no schema names."""
        while path and path not in self._logical_of and path[-1] in _PARTS:
            path = path[:-1]
        return path

    def shown(self) -> str:
        """The newest columns, for a message."""
        names = [printable(joined(path)) for path in self._newest]
        return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")

    def __bool__(self) -> bool:
        return bool(self._names_of)
