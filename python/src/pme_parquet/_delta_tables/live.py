"""The live files of a Delta table, compared with what they are to be: each footer's key, each column's, statistics."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._delta.columns import Path, fold
from pme_parquet._delta.opened import reading
from pme_parquet._delta_tables.keyed import COLUMNS, COMPLETE, FOOTER
from pme_parquet._spark.driver import method_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pme_parquet._delta_tables.keyed import Keyed
    from pme_parquet._delta_tables.logged import LoggedTable, Version

_BOUNDS = ("minValues", "maxValues", "nullCount")
# Delta writes these columns into files although the schema does not have them.
_ROW_TRACKING = (
    "delta.rowTracking.materializedRowIdColumnName",
    "delta.rowTracking.materializedRowCommitVersionColumnName",
)


@dataclass(frozen=True)
class Look:
    """What the live files of a version are.

    Attributes:
        files: their number.
        other: number of files with a footer or a column that has another key than it is to have, or none; or with a
            column that the table does not have.
        shown: number of files that the log has statistics of protected columns for.
        unknown: number of files that could not be opened.
    """

    files: int
    other: int
    shown: int
    unknown: int

    @property
    def clean(self) -> bool:
        """Whether all files are as they are to be."""
        return not (self.other or self.shown or self.unknown)


def look(table: LoggedTable, version: Version, keyed: Keyed, where: str) -> Look:
    """Opens the footers of a version's live files, on executors."""
    alike = method_of(table.spark, "LoggedFiles", "alike", where)
    rows = table.frame(alike(table.path, version.files, reading(table.configuration()))).collect()
    stats = table.frame(version.files).select("stats").toLocalIterator()
    shown = sum(1 for row in stats if row[0] and _shows(row[0], keyed.silent))
    return compared([row.asDict() for row in rows], expected(keyed, version), keyed.properties[FOOTER], shown)


def expected(keyed: Keyed, version: Version) -> dict[str, str | None]:
    """The key of each column that files may have; names are in lower case, as Delta compares them."""
    # A partition column in a file, and those of row tracking, are columns that no pattern names.
    unlisted = None if COLUMNS in keyed.properties and COMPLETE not in keyed.properties else keyed.properties[FOOTER]
    others = [*keyed.partitions, *(version.properties[name] for name in _ROW_TRACKING if name in version.properties)]
    return {name.lower(): unlisted for name in others} | {name.lower(): key for name, key in keyed.expected.items()}


def compared(rows: Iterable[Mapping[str, Any]], keys: Mapping[str, str | None], footer: str, shown: int) -> Look:
    """The result for rows of the connector's `LoggedFiles`."""
    files, other, unknown = {}, set(), set()
    for row in rows:
        files[row["group"]] = row["files"]
        if row["state"] == "unknown":
            unknown.add(row["group"])
        elif row["state"] != "encrypted" or not _is_as_expected(row, keys, footer):
            other.add(row["group"])
    return Look(sum(files.values()), sum(files[one] for one in other), shown, sum(files[one] for one in unknown))


def _is_as_expected(row: Mapping[str, Any], keys: Mapping[str, str | None], footer: str) -> bool:
    if row["column"] is None:
        return bool(row["kind"] == "footer" and row["master_key"] == footer)
    name = row["column"].lower()
    if name not in keys:
        return False
    if keys[name] is None:
        # In a session with a footer key, Delta's writer encrypts also columns that may be readable.
        return bool(row["kind"] == "plaintext" or row["master_key"] == footer)
    return bool(row["kind"] != "plaintext" and row["master_key"] == keys[name])


def _shows(text: str, silent: frozenset[Path]) -> bool:
    found: Any = json.loads(text)
    return any(path in silent for bound in _BOUNDS for path in _paths(found.get(bound) or {}))


def _paths(bounds: dict[str, Any], above: Path = ()) -> Iterator[Path]:
    for name, value in bounds.items():
        path = (*above, *fold((name,)))
        if isinstance(value, dict):
            yield from _paths(value, path)
        else:
            yield path
