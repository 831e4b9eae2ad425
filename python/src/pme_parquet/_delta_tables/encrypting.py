"""Encrypts a Delta table, and rotates its keys: properties first, then all live files in one commit of Delta's own.

`settings` judges the session, `keyed` says which column gets which key, `logged` is the table, and `encrypted` the
result. Each step can be repeated: a run that was killed is finished by the next one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pme_parquet._delta import check
from pme_parquet._delta.columns import Path, fold
from pme_parquet._delta_tables.encrypted import EncryptedTable
from pme_parquet._delta_tables.keyed import (
    COLUMNS,
    COMPLETE,
    INDEXED,
    KEYS,
    STATISTICS,
    UNIFORM,
    keyed,
    order_of,
    physical_schema,
)
from pme_parquet._delta_tables.logged import LoggedTable, Rewritten, Version
from pme_parquet._delta_tables.settings import effective, prove, reading
from pme_parquet._display.words import number, printable
from pme_parquet._spark.driver import method_of
from pme_parquet.errors import BadOptionError, PlaintextFileError, PmeError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import PathLike
    from pme_parquet._delta.checked import DeltaCheck
    from pme_parquet._encryption import Encryption

_ATTEMPTS = 4
_EXPIRING = "'delta.logRetentionDuration' = 'interval 0 days', 'delta.checkpointInterval' = '1'"
_BOUNDS = ("minValues", "maxValues", "nullCount")


def encrypted(spark: SparkSession, table: PathLike, enc: Encryption, where: str) -> EncryptedTable:
    """Encrypts a table; `pme.delta.encrypt_table` describes it."""
    found = LoggedTable(spark, table, where)
    options = effective(found, enc, where)
    run = _Run(found, options, where)
    run.require_no_other_keys()
    return run.done(every=False)


def rotated(spark: SparkSession, table: PathLike, enc: Encryption, where: str) -> EncryptedTable:
    """Rewrites all live files of an encrypted table; `pme.delta.rotate` describes it."""
    found = LoggedTable(spark, table, where)
    options = effective(found, enc, where)
    # The keys that writes of this application share were wrapped by what was the newest version of a master key then.
    method_of(found.spark, "NewKeys", "begin", where)()
    run = _Run(found, options, where)
    run.require_keys()
    done = run.done(every=True)
    # Readers of the newest version open the last checkpoint, too.
    found.checkpoint()
    return done


@dataclass(frozen=True)
class _Look:
    """What the live files of a version are.

    Attributes:
        files: their number.
        other: number of files with a column that has another key than it is to have, or none.
        shown: number of files that the log has statistics of protected columns for.
        unknown: number of files that could not be opened.
    """

    files: int
    other: int
    shown: int
    unknown: int

    @property
    def clean(self) -> bool:
        return not (self.other or self.shown or self.unknown)


class _Run:
    """One run on one table. Making it changes nothing, and finds what would stop it."""

    def __init__(self, table: LoggedTable, options: dict[str, str], where: str) -> None:
        self._table = table
        self._options = options
        self._where = where
        self._before = table.version()
        self._refuse_planted()
        self._keyed = keyed(table, self._before, options, where)
        self._order = None if table.clustering() else order_of(self._before, self._keyed)
        if self._order is None and not table.clustering():
            raise UnsupportedError(
                f"{where}: Delta orders the rows that it rewrites by a column, and the table has none of an atomic "
                "type. Add one to it."
            )
        prove(table, _file_schema(self._before), self._keyed.properties, where)

    def _refuse_planted(self) -> None:
        names = sorted(
            name
            for name in self._before.properties
            if "." in name and not name.lower().startswith("delta.") and name.lower() not in {*KEYS, UNIFORM}
        )
        if names:
            listed = ", ".join(map(printable, names))
            raise UnsupportedError(
                f"{self._where}: Delta adds the table's properties to the Hadoop configuration of a write, and the "
                f"properties {listed} could choose where keys and credentials go, or which code runs. Remove them with "
                "ALTER TABLE … UNSET TBLPROPERTIES, and set them in the session."
            )

    def _keys_now(self, version: Version) -> dict[str, str]:
        return {name: value for name, value in version.properties.items() if name.lower() in {*KEYS, UNIFORM}}

    def require_no_other_keys(self) -> None:
        """Raises an error if the table has keys, and they are not these."""
        now = self._keys_now(self._before)
        if now and now != self._keyed.properties:
            raise BadOptionError(
                f"{self._where}: the table's properties name other keys already "
                f"({', '.join(sorted(map(printable, now)))}). Use pme.delta.rotate to change its keys."
            )

    def require_keys(self) -> None:
        """Raises an error if the table has no keys."""
        if not self._keys_now(self._before):
            raise BadOptionError(
                f"{self._where}: the table's properties name no keys. Use pme.delta.encrypt_table to encrypt it."
            )

    def done(self, *, every: bool) -> EncryptedTable:
        """Sets the properties, rewrites files until all are as they are to be, and says what is left.

        Args:
            every: whether to rewrite the files also if all have these keys.

        Raises:
            PmeError: a step failed; the next run continues.
        """
        self._set_properties()
        rewritten: list[Rewritten] = []
        rows: int | None = None
        old = self._table.live() if every else frozenset()
        for _ in range(_ATTEMPTS):
            now = self._table.version()
            look = self._look(now)
            if look.clean and not (old and old & self._table.live()):
                self._require_unchanged(now)
                return self._result(now, look, rewritten, rows)
            try:
                rewritten.append(self._table.rewrite(self._order))
            except Exception as failed:
                if not _is_conflict(failed):
                    raise
                continue
            rows = self._compared(rewritten[-1])
        raise self._unfinished(self._look(self._table.version()))

    def _set_properties(self) -> None:
        wanted = dict(self._keyed.properties)
        removed = [name for name in self._keys_now(self._before) if name not in wanted]
        if self._keyed.statistics:
            wanted[STATISTICS] = ",".join(self._keyed.statistics)
        else:
            wanted[INDEXED] = "0"
            removed += [STATISTICS] if STATISTICS in self._before.properties else []
        changed = {name: value for name, value in wanted.items() if self._before.properties.get(name) != value}
        if changed or removed:
            self._table.alter(changed, removed)

    def _look(self, version: Version) -> _Look:
        alike = method_of(self._table.spark, "LoggedFiles", "alike", self._where)
        kms = reading(self._table.configuration())
        rows = self._table.frame(alike(self._table.path, version.files, kms)).collect()
        files, other, unknown = {}, set(), set()
        for row in rows:
            files[row["group"]] = row["files"]
            if row["state"] == "unknown":
                unknown.add(row["group"])
            elif self._is_other(row["state"], row["column"], row["master_key"]):
                other.add(row["group"])
        stats = self._table.frame(version.files).select("stats").toLocalIterator()
        shown = sum(1 for row in stats if row[0] and self._shows(row[0]))
        return _Look(sum(files.values()), sum(files[one] for one in other), shown, sum(files[one] for one in unknown))

    def _is_other(self, state: str, column: str | None, key: str | None) -> bool:
        if state != "encrypted":
            return True
        if column is None:
            return False
        # A column that was dropped is still in the files from before, and counts as one that has a key.
        if column not in self._keyed.expected:
            return key is None
        expected = self._keyed.expected[column]
        return expected is not None and key != expected

    def _shows(self, text: str) -> bool:
        found: Any = json.loads(text)
        silent = self._keyed.silent
        return any(path in silent for bound in _BOUNDS for path in _paths(found.get(bound) or {}))

    def _compared(self, done: Rewritten) -> int:
        """The number of rows, which are the same in the version before and after a rewrite."""
        number_of = self._commit_of(done)
        before, after = self._table.content(number_of - 1), self._table.content(number_of)
        if before != after:
            raise PmeError(
                f"{self._where}: version {number_of} has other rows than the version before it, though it was only "
                f"rewritten. RESTORE TABLE {self._table.name} TO VERSION AS OF {number_of - 1} brings them back. "
                "Please report this."
            )
        return after[0]

    def _commit_of(self, done: Rewritten) -> int:
        history = self._table.spark.sql(f"DESCRIBE HISTORY {self._table.name} LIMIT 100")
        own = history.where("operation = 'OPTIMIZE'").selectExpr("max(version)").collect()
        return done.version if own[0][0] is None else int(own[0][0])

    def _require_unchanged(self, now: Version) -> None:
        if (
            now.schema != self._before.schema
            or self._keys_now(now) != self._keyed.properties
            or now.partitions != self._before.partitions
        ):
            raise UnsupportedError(
                f"{self._where}: another session changed the table's schema or properties meanwhile. Run it again."
            )

    def _unfinished(self, look: _Look) -> PmeError:
        if look.unknown:
            return PmeError(
                f"{self._where}: {number(look.unknown, 'live file')} could not be opened with the session's KMS, so "
                "nobody knows what is encrypted in them. pme.key_usage shows what is missing."
            )
        return PlaintextFileError(
            f"{self._where}: after {_ATTEMPTS} rewrites, {number(look.other, 'live file')} are plaintext or under "
            f"other keys, and {number(look.shown, 'file')} have statistics of protected columns in the log: another "
            "session writes meanwhile. Stop sessions that write without these keys, and run it again."
        )

    def _result(self, now: Version, look: _Look, rewritten: list[Rewritten], rows: int | None) -> EncryptedTable:
        checked, why = self._checked()
        kept = {*KEYS, STATISTICS, INDEXED}
        return EncryptedTable(
            path=self._table.path,
            version_before=self._before.number,
            version=now.number,
            files_rewritten=sum(one.removed for one in rewritten),
            files_written=sum(one.added for one in rewritten),
            files=look.files,
            rows=rows,
            columns=self._keyed.columns,
            properties={name: value for name, value in now.properties.items() if name in kept},
            readable=tuple(self._readable(now)),
            left=_left(now),
            statements=_statements(self._table.name),
            check=checked,
            not_checked=why,
        )

    def _readable(self, now: Version) -> Iterator[str]:
        if now.partitions:
            yield f"values of partition columns ({', '.join(now.partitions)}), in names of directories and in the log"
        if self._keyed.statistics:
            yield f"minimum and maximum of {', '.join(self._keyed.statistics)}, in the log"
        if COLUMNS in self._keyed.properties:
            yield "conditions of DELETE, UPDATE and MERGE on columns that column_keys does not name, in the log"
        if COMPLETE in self._keyed.properties:
            yield (
                "nothing else of these columns; all statistics are off, as unlisted columns are under the footer key. "
                'unlisted_columns="plaintext" leaves them readable, with statistics'
            )
        yield "names and types of columns, numbers of rows, sizes and times"

    def _checked(self) -> tuple[DeltaCheck | None, str]:
        try:
            columns = list(self._keyed.named)
            return check(self._table.path.removeprefix("file:"), columns, spark=self._table.spark), ""
        except (PmeError, ImportError) as failed:
            return None, str(failed).partition("\n")[0]


def _file_schema(version: Version) -> str:
    found = json.loads(physical_schema(version.schema))
    logical = json.loads(version.schema)["fields"]
    found["fields"] = [
        one for one, named in zip(found["fields"], logical, strict=True) if named["name"] not in version.partitions
    ]
    return json.dumps(found)


def _paths(bounds: dict[str, Any], above: Path = ()) -> Iterator[Path]:
    for name, value in bounds.items():
        path = (*above, *fold((name,)))
        if isinstance(value, dict):
            yield from _paths(value, path)
        else:
            yield path


def _is_conflict(failed: Exception) -> bool:
    """Whether another commit came first. Delta tries again by itself where it can."""
    cause: Any = getattr(failed, "java_exception", None) or getattr(failed, "_origin", None)
    names = [type(failed).__name__]
    while cause is not None:
        names.append(str(cause.getClass().getSimpleName()))
        cause = cause.getCause()
    return any(name.startswith("Concurrent") or name == "MetadataChangedException" for name in names)


def _left(now: Version) -> tuple[str, ...]:
    return (
        f"{number(now.removed, 'file')} that the log lists as removed, and files of failed writes, until VACUUM",
        "commits, .crc files and checkpoints from before: statistics, conditions, and properties",
        "change data and deletion vectors from before, until VACUUM deletes them",
    )


def _statements(name: str) -> tuple[str, ...]:
    return (
        "SET spark.databricks.delta.retentionDurationCheck.enabled=false",
        f"VACUUM {name} RETAIN 0 HOURS",
        "-- after the next midnight in UTC, as Delta deletes only commits from before a day began:",
        f"ALTER TABLE {name} SET TBLPROPERTIES ({_EXPIRING})",
        f"ALTER TABLE {name} UNSET TBLPROPERTIES ('delta.logRetentionDuration', 'delta.checkpointInterval')",
    )
