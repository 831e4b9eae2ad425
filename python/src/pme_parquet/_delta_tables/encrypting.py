"""Encrypts a Delta table, and rotates its keys: properties first, then all live files in one commit of Delta's own.

`settings` judges the session, `keyed` says which column gets which key, `logged` is the table, `rewriting` rewrites it,
`live` looks at its files, and `encrypted` is the result, with `advice`. Each step can be repeated: a run that was
killed is finished by the next one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pme_parquet._audience import COLUMN_KEYS, UNLISTED, Words
from pme_parquet._delta import check
from pme_parquet._delta_tables.advice import left, statements
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
from pme_parquet._delta_tables.live import Look, look
from pme_parquet._delta_tables.logged import LoggedTable, Version
from pme_parquet._delta_tables.rewriting import Rewriting, Rewritten
from pme_parquet._delta_tables.settings import effective, prove
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
    method_of(found.spark, "TableKeys", "beginAnew", where)()
    run = _Run(found, options, where)
    run.require_keys()
    done = run.done(every=True)
    # Readers of the newest version open the last checkpoint, too.
    found.checkpoint()
    return done


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
        self._rewriting = Rewriting(table, where)
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
                f"({', '.join(sorted(map(printable, now)))}). Use {Words('pme.delta.rotate')} to change its keys."
            )

    def require_keys(self) -> None:
        """Raises an error if the table has no keys."""
        if not self._keys_now(self._before):
            raise BadOptionError(
                f"{self._where}: the table's properties name no keys. Use {Words('pme.delta.encrypt_table')} to "
                "encrypt it."
            )

    def done(self, *, every: bool) -> EncryptedTable:
        """Sets the properties, rewrites files until all are as they are to be, and says what is left.

        Args:
            every: whether to rewrite the files also if all have these keys.

        Raises:
            PmeError: a step failed; the next run continues.
        """
        rows = self._rewriting.finish()
        self._set_properties()
        rewritten: list[Rewritten] = []
        old = self._table.live(self._table.version()) if every else frozenset()
        for _ in range(_ATTEMPTS):
            now = self._table.version()
            # Before the look: no rewrite gives a column keys that the plan does not know.
            self._require_unchanged(now)
            found = self._look(now)
            if found.clean and not (old and old & self._table.live(now)):
                return self._result(now, found, rewritten, rows)
            done = self._rewriting.rewrite(self._order)
            if done is not None:
                rewritten.append(done)
                rows = done.rows if done.rows is not None else rows
        now = self._table.version()
        self._require_unchanged(now)
        raise unfinished(self._look(now), len(rewritten), self._where)

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

    def _look(self, version: Version) -> Look:
        return look(self._table, version, self._keyed, self._where)

    def _require_unchanged(self, now: Version) -> None:
        if (
            now.schema != self._before.schema
            or self._keys_now(now) != self._keyed.properties
            or now.partitions != self._before.partitions
        ):
            raise UnsupportedError(
                f"{self._where}: another session changed the table's schema or properties meanwhile. Run it again."
            )

    def _result(self, now: Version, found: Look, rewritten: list[Rewritten], rows: int | None) -> EncryptedTable:
        checked, why = self._checked()
        kept = {*KEYS, STATISTICS, INDEXED}
        return EncryptedTable(
            path=self._table.path,
            version_before=self._before.number,
            version=now.number,
            files_rewritten=sum(one.removed for one in rewritten),
            files_written=sum(one.added for one in rewritten),
            files=found.files,
            rows=rows,
            columns=self._keyed.columns,
            properties={name: value for name, value in now.properties.items() if name in kept},
            readable=tuple(self._readable(now)),
            left=left(now),
            statements=statements(self._table.name, now.properties),
            check=checked,
            not_checked=why,
        )

    def _readable(self, now: Version) -> Iterator[str]:
        if now.partitions:
            yield f"values of partition columns ({', '.join(now.partitions)}), in names of directories and in the log"
        if self._keyed.statistics:
            yield f"minimum and maximum of {', '.join(self._keyed.statistics)}, in the log"
        if COLUMNS in self._keyed.properties:
            yield f"conditions of DELETE, UPDATE and MERGE on columns that {COLUMN_KEYS} does not name, in the log"
        if COMPLETE in self._keyed.properties:
            yield (
                "nothing else of these columns; all statistics are off, as unlisted columns are under the footer key. "
                f"{UNLISTED} leaves them readable, with statistics"
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


def unfinished(found: Look, rewrites: int, where: str) -> PmeError:
    """The error after the last attempt.

    Args:
        found: the files after it.
        rewrites: number of attempts that no conflict stopped.
        where: the operation.
    """
    if found.unknown:
        return PmeError(
            f"{where}: {number(found.unknown, 'live file')} could not be opened with the session's KMS, so "
            f"nobody knows what is encrypted in them. {Words('pme.key_usage')} shows what is missing."
        )
    if not rewrites:
        return PmeError(
            f"{where}: nothing was rewritten, because a commit of another session came first in each of {_ATTEMPTS} "
            "attempts. The table's properties name the new keys already, so new files have them. "
            f"{found.other} of {number(found.files, 'live file')} do not have these keys, and older files keep their "
            "data keys. No row was changed. Run it again when no DELETE, UPDATE, MERGE, OPTIMIZE or ALTER runs."
        )
    if found.clean:
        return PmeError(
            f"{where}: after {number(rewrites, 'rewrite')}, files from before are still live, so they have old data "
            "keys. Delta did not rewrite them. Please report this."
        )
    verb = "is" if found.other == 1 else "are"
    return PlaintextFileError(
        f"{where}: after {number(rewrites, 'rewrite')}, {number(found.other, 'live file')} {verb} plaintext, under "
        "other keys, or with unknown columns, and the log has statistics of protected columns for "
        f"{number(found.shown, 'file')}: another session writes meanwhile. Stop sessions that write without these "
        "keys, and run it again."
    )
