"""What older versions of an encrypted Delta table leave readable, and the statements that remove it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._display.words import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pme_parquet._delta_tables.logged import Version

_EXPIRING = {"delta.logRetentionDuration": "interval 0 days", "delta.checkpointInterval": "1"}
_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
# Delta 4 demands that commits are kept at least as long as deleted files, and compares only what one statement sets.
_COMPATIBLE = "spark.databricks.delta.vacuum.enforceDeletedFileAndLogRetentionDurationCompatibility"


def left(now: Version) -> tuple[str, ...]:
    """What older versions leave readable."""
    return (
        f"{number(now.removed, 'file')} that the log lists as removed, and files of failed writes, until VACUUM",
        "commits, .crc files and checkpoints from before: statistics, conditions, and properties",
        "change data and deletion vectors from before, until VACUUM deletes them",
    )


def statements(name: str, properties: Mapping[str, str]) -> tuple[str, ...]:
    """The statements that remove it, and leave the table with the properties that it has now.

    Args:
        name: the table in SQL.
        properties: of the table.
    """
    return tuple(_statements(name, {one.lower(): value for one, value in properties.items()}))


def _statements(name: str, properties: Mapping[str, str]) -> Iterator[str]:
    yield f"SET {_CHECK}=false"
    yield (
        "-- stop all queries and writes of the table first, in every session: VACUUM deletes the files that they use, "
        "and time travel to older versions ends:"
    )
    yield f"VACUUM {name} RETAIN 0 HOURS"
    yield f"RESET {_CHECK}"
    yield "-- after the next midnight in UTC, as Delta deletes only commits from before a day began:"
    yield f"SET {_COMPATIBLE}=false"
    yield f"ALTER TABLE {name} SET TBLPROPERTIES ({_listed(_EXPIRING)})"
    own = {one: properties[one.lower()] for one in _EXPIRING if one.lower() in properties}
    if own:
        yield f"ALTER TABLE {name} SET TBLPROPERTIES ({_listed(own)})"
    absent = [one for one in _EXPIRING if one not in own]
    if absent:
        yield f"ALTER TABLE {name} UNSET TBLPROPERTIES ({', '.join(map(_quoted, absent))})"
    yield f"RESET {_COMPATIBLE}"


def _listed(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{_quoted(name)} = {_quoted(value)}" for name, value in properties.items())


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
