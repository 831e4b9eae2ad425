"""Which table format a table has, by what is next to its data. Its log or its metadata is not read here.

Of the files below a Delta or a Hudi table, only its log says which are live. Iceberg keeps metadata where data could
be, so their place and their names say which files are no data.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from pme_parquet._snapshots.listing import below
from pme_parquet._storage import shown, storage
from pme_parquet.errors import BadOptionError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pme_parquet._storage import Found

    # The names of directories from the inspected path to a table.
    Names = tuple[str, ...]

DELTA, HUDI, ICEBERG = "Delta", "Hudi", "Iceberg"
_LOGS = {DELTA: "_delta_log", HUDI: ".hoodie"}
_METADATA = "metadata"
_NEWEST = ".metadata.json"
# A Parquet file in this directory is data that somebody put there.
_OF_METADATA = re.compile(r".+\.(?:avro|json|puffin|stats)|version-hint\.text")


def names_of(file: Found) -> Names:
    """The names of a path below the inspected one."""
    return tuple(file.shown.replace(os.sep, "/").split("/"))


def iceberg_tables(found: Iterable[Found]) -> frozenset[Names]:
    """The Iceberg tables among files, by their metadata."""
    named = (names_of(file) for file in found if file.name.endswith(_NEWEST) and not file.alone)
    return frozenset(names[:-2] for names in named if names[-2:-1] == (_METADATA,))


def metadata_of(file: Found, tables: Collection[Names]) -> Names | None:
    """The Iceberg table whose metadata a file is part of; None for other files."""
    *above, name = names_of(file)
    table = tuple(above[:-1])
    is_metadata = above[-1:] == [_METADATA] and _OF_METADATA.fullmatch(name) is not None
    return table if is_metadata and table in tables else None


def table_of(names: Names, tables: Collection[Names]) -> Names | None:
    """The innermost of these tables that a directory belongs to."""
    above: Sequence[Names] = [names[:length] for length in range(len(names), -1, -1)]
    return next((one for one in above if one in tables), None)


def log_format(table: str, options: Mapping[str, Any] | None) -> str:
    """Delta or Hudi if the table has a log of that name; otherwise empty.

    Raises:
        PmeError: the storage cannot say, or the table has both logs.
    """
    found = [name for name, log in _LOGS.items() if _has_files(below(table, log), options)]
    if len(found) > 1:
        raise UnsupportedError(
            f"{shown(table)}: the directory has the logs of several tables ({', '.join(_LOGS.values())}), so it is not "
            "known which of its files are live. Remove the log that is not the table's."
        )
    return "".join(found)


def _has_files(directory: str, options: Mapping[str, Any] | None) -> bool:
    try:
        return next(iter(storage(directory, options).everything()), None) is not None
    except BadOptionError:  # nothing is there
        return False
