"""The protected columns: which paths and which texts of a log name one."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pme_parquet._delta.columns import MAX_FIELDS, Path, Schemas, fold, joined, split
from pme_parquet._display.words import printable
from pme_parquet.errors import BadOptionError, UnknownColumnError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# More of them cannot be searched for in each text.
_MOST_ODD = 1_000
_MAX_TEXT = 1 << 20
_PART = r"(?:`[^`]+`|[^\W\d]\w*)(?:#\d+L?)?"
_CHAIN = re.compile(rf"{_PART}(?:\s?\.\s?{_PART})*")
_ONE = re.compile(r"`([^`]+)`|([^\W\d]\w*)(?:#\d+L?)?")
_WORD = re.compile(r"[^\W\d]\w*")


class Protected:
    """The protected columns, which it finds in paths and in texts."""

    def __init__(self, names: dict[Path, str], *, every: bool = False) -> None:
        self._names = names
        self.every = every
        # A struct shows something of the columns in it.
        self._above: dict[Path, str] = {}
        for path, name in names.items():
            for length in range(1, len(path)):
                self._above.setdefault(path[:length], name)
        # A log asks for the same few columns a million times.
        self._known: dict[Path, str | None] = {}
        self._deepest = max(map(len, names), default=0)
        self._heads = {path[0] for path in names}
        self._odd = {part: name for path, name in names.items() for part in path[-1:] if not _WORD.fullmatch(part)}

    def __bool__(self) -> bool:
        return self.every or bool(self._names)

    @property
    def names(self) -> tuple[str, ...]:
        """The protected columns by their newest names."""
        return tuple(sorted(set(self._names.values())))

    def may_begin(self, name: str) -> bool:
        """Whether a protected column, or what contains one, can have a path that begins with this name."""
        return self.every or fold((name,))[0] in self._heads

    def column(self, path: Sequence[str]) -> str | None:
        """The protected column that has this path, contains it, or is in it."""
        key = tuple(path)
        if key not in self._known:
            if len(self._known) >= MAX_FIELDS:
                self._known.clear()
            self._known[key] = self._find(key)
        return self._known[key]

    def _find(self, path: Path) -> str | None:
        folded = fold(path)
        for length in range(len(folded), 0, -1):
            if folded[:length] in self._names:
                return self._names[folded[:length]]
        return self._above.get(folded) or (joined(path) if self.every and path else None)

    def within(self, text: object) -> tuple[str, ...]:
        """The protected columns that a text names; `*` if it is too long to search."""
        content = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
        if len(content) > _MAX_TEXT or len(self._odd) > _MOST_ODD:
            return ("*",)
        found = {name for chain in _CHAIN.finditer(content) if (name := self._of_chain(chain[0]))}
        folded = content.casefold()
        return tuple(sorted(found | {name for part, name in self._odd.items() if part in folded}))

    def _of_chain(self, chain: str) -> str | None:
        parts = [quoted or plain for quoted, plain in _ONE.findall(chain)]
        for start in range(len(parts)):
            if fold((parts[start],))[0] not in self._heads:
                continue
            # A qualified name such as `t.ssn` ends in the column's; one in a function's place is no column.
            folded = fold(parts[start : start + self._deepest])
            if any(folded[:length] in self._names for length in range(len(folded), 0, -1)):
                return self.column(folded)
            if start + len(folded) == len(parts) and folded in self._above:
                return self._above[folded]
        return None


def directories(protected: Protected, path: str) -> Iterator[str]:
    """The protected columns whose values are in the names of a path's directories, as `ssn=123`."""
    for part in path.split("/")[:-1]:
        name, equals, _ = part.partition("=")
        if equals and (column := protected.column((unquote(name),))):
            yield column


def named(columns: Iterable[str], schemas: Schemas, where: str) -> Protected:
    """The columns that a caller names.

    Raises:
        BadOptionError: this is not a name, or there is none.
        UnknownColumnError: no schema of the table has such a column.
    """
    names: dict[Path, str] = {}
    for column in columns:
        try:
            path = split(column)
        except (ValueError, TypeError):
            raise BadOptionError(
                f"{where}: '{printable(str(column))}' is not the name of a column. Write it as address.city, with "
                "backticks around odd names."
            ) from None
        if schemas and not schemas.known(path):
            raise UnknownColumnError(
                f"{where}: no schema of the table has the column '{printable(column)}'. Its columns are "
                f"{schemas.shown()}."
            )
        names |= schemas.names(path)
    if not names:
        raise BadOptionError(f"{where}: columns is empty. Name a column, or leave it out.")
    return Protected(names)
