"""Which columns are protected, if the caller does not say: those that files encrypt, or that the table says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pme_parquet._delta.data import path_of
from pme_parquet._delta.metadata import ENCRYPTION
from pme_parquet._delta.protected import Protected

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pme_parquet._delta.columns import Path, Schemas
    from pme_parquet._delta.data import DataFile

_COLUMN_KEYS = f"{ENCRYPTION}column.keys"
_UNIFORM_KEY = f"{ENCRYPTION}uniform.key"
_COMPLETE = f"{ENCRYPTION}complete.columns"
# The names of Delta's draft for encryption (delta-io/delta, pull request 7470) mean the same.
_DRAFT = {"delta.encryption.column_keys": _COLUMN_KEYS}


def chosen(
    files: Iterable[DataFile], properties: Mapping[str, str], schemas: Schemas, partitions: Iterable[str] = ()
) -> tuple[Protected, str]:
    """The protected columns, and how they were found, in words.

    Args:
        files: the live ones; all, if which are live is not known.
        properties: of the table, in any letter case: our crypto factory does not distinguish it.
        schemas: of the table.
        partitions: the columns whose values are in no file, which `complete.columns` does not encrypt.
    """
    sealed = {name for file in files for name in file.sealed}
    names: dict[Path, str] = {}
    for name in sealed:
        names |= schemas.names(path_of(name))
    named = [(_DRAFT.get(name, name.lower()), text) for name, text in properties.items()]
    given = dict(named)
    stated = [path for name, text in named if name == _COLUMN_KEYS for path in _stated(text)]
    for path in stated:
        names |= schemas.names(path)
    complete = bool(stated) and given.get(_COMPLETE, "").strip().lower() == "true"
    if complete:
        outside = {path for name in partitions for path in schemas.names((name,))}
        names |= {path: name for path, name in schemas.every().items() if path not in outside}
    uniform = _UNIFORM_KEY in given
    whole = any(file.footer == "encrypted" and not file.opened for file in files)
    if uniform or (whole and not stated):
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
