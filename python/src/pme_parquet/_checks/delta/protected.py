"""The protected columns: which they are, and which paths and which texts of a log name one.

They are those that the caller names, or else those that files encrypt, or that the table says.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pme_parquet._checks.delta.columns import MAX_FIELDS, Path, Schemas, fold, path_of, split
from pme_parquet._checks.files import partition_names
from pme_parquet._display.words import printable
from pme_parquet._inspect.names import joined
from pme_parquet.errors import BadOptionError, UnknownColumnError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

ENCRYPTION = "parquet.encryption."
_COLUMN_KEYS = f"{ENCRYPTION}column.keys"
_UNIFORM_KEY = f"{ENCRYPTION}uniform.key"
_COMPLETE = f"{ENCRYPTION}complete.columns"
# The names of Delta's draft for encryption (delta-io/delta, pull request 7470) mean the same.
_DRAFT = {"delta.encryption.column_keys": _COLUMN_KEYS}
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
        self._find = lru_cache(MAX_FIELDS)(self._found)
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
        return self._find(tuple(path))

    def _found(self, path: Path) -> str | None:
        folded = fold(path)
        for length in range(len(folded), 0, -1):
            if folded[:length] in self._names:
                return self._names[folded[:length]]
        return self._above.get(folded) or (joined(path) if self.every and path else None)

    def within(self, text: object) -> tuple[str, ...]:
        """The protected columns that a text names; `*` if it is too long to search."""
        content = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False, default=str)
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

    def directories(self, path: str) -> Iterator[str]:
        """Those whose values are in the names of a path's directories."""
        yield from filter(None, (self.column((name,)) for name in partition_names(path)))


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


def chosen(
    sealed: Collection[str],
    properties: Mapping[str, str],
    schemas: Schemas,
    partitions: Iterable[str] = (),
    *,
    hidden: bool,
) -> tuple[Protected, str]:
    """The protected columns, and how they were found, in words.

    Args:
        sealed: the columns that live files encrypt; those of all files, if which are live is not known.
        properties: of the table, in any letter case: our crypto factory does not distinguish it.
        schemas: of the table.
        partitions: the columns whose values are in no file, which `complete.columns` does not encrypt.
        hidden: whether such a file has an encrypted footer that was not opened.
    """
    names: dict[Path, str] = {}
    for name in sealed:
        names |= schemas.names(path_of(name))
    named = [(_DRAFT.get(name, name.lower()), text) for name, text in properties.items()]
    by_name = dict(named)
    stated = [path for name, text in named if name == _COLUMN_KEYS for path in _stated(text)]
    for path in stated:
        names |= schemas.names(path)
    complete = bool(stated) and by_name.get(_COMPLETE, "").strip().lower() == "true"
    if complete:
        outside = {path for name in partitions for path in schemas.names((name,))}
        names |= {path: name for path, name in schemas.every().items() if path not in outside}
    uniform = _UNIFORM_KEY in by_name
    if uniform or (hidden and not stated):
        every = names | schemas.every()
        why = _UNIFORM_KEY if uniform else "live files with an encrypted footer"
        return Protected(every, every=True), f"all, because of {why}"
    ways = (("columns that files encrypt", sealed), (_COLUMN_KEYS, stated), (_COMPLETE, complete))
    reasons = [word for word, found in ways if found]
    return Protected(names), " and ".join(reasons) or "no file encrypts any, and no table property names one"


def _stated(text: str) -> Iterator[Path]:
    """The columns of a property `key: column, column; key2: …`, or of the same as JSON."""
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        lists = [one if isinstance(one, list) else [one] for one in found.values()]
        names = [str(name) for one in lists for name in one]
    else:
        names = [name for entry in text.split(";") for name in entry.partition(":")[2].split(",")]
    for name in filter(None, map(str.strip, names)):
        yield path_of(name.removesuffix(".*"))
