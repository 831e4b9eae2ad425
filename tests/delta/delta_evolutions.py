"""Parts of ``delta_job``: tables of each mode of column mapping that change in every way, and schemas that evolve.

Their files are not compressed, so that a search sees into pages that are not encrypted.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.delta.delta_redactions import PREDICATES
from tests.delta.delta_tables import CANARY, FOOTER_KEY_NAME, SILENT, Emptied, Job, without_setting
from tests.support.canary import files_under, find_canaries
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

MODES = ("name", "id")
COMPLETE = "'parquet.encryption.complete.columns' = 'true'"
NO_STATISTICS = "'delta.dataSkippingNumIndexedCols' = '0'"
# A value of a column that no key names, in a condition.
SHOWN = "told-4711"
# In the bytes of an INT, and of a BIGINT.
# One of a column that is plaintext.
OPEN = "open-4711"
WIDE = 1_234_567_891
# Delta 3 reads the clause of SQL in a setting, and widens to INT at most.
NEWER = SPARK_VERSION >= (4, 0)
# Files without compression, and VACUUM of young ones.
_SETTINGS = {
    "spark.sql.parquet.compression.codec": "uncompressed",
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
}
SMALL = "CAST(1 AS SMALLINT) AS code"
# Under column mapping, Delta 4 writes change data into directories with random names.
KINDS = {"deletion vectors": "**/deletion_vector_*.bin", "change data": "**/cdc-*.parquet"}


def create(job: Job, name: str, columns: str, protected: str, more: str, mode: str = "") -> str:
    """Create a table with keys for some columns, by their physical names, and return its name in SQL."""
    made = f"delta.`{job.place(name)}`"
    mapped = f", 'delta.columnMapping.mode' = '{mode}'" if mode else ""
    job.sql(
        f"CREATE TABLE {made} ({columns}) USING delta TBLPROPERTIES ('delta.checkpointInterval' = '3', {more}{mapped})"
    )
    names = physical_names(job, name)
    keyed = ", ".join(names.get(column, column) for column in protected.split(", "))
    keys = f"'parquet.encryption.footer.key' = 'footer', 'parquet.encryption.column.keys' = 'pii: {keyed}'"
    job.sql(f"ALTER TABLE {made} SET TBLPROPERTIES ({keys})")
    return made


def physical_names(job: Job, name: str) -> dict[str, str]:
    """Return the names in files of a new table's columns."""
    first = (job.work / "tables" / name / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    [schema] = [json.loads(line)["metaData"]["schemaString"] for line in first if "metaData" in line]
    physical = "delta.columnMapping.physicalName"
    return {field["name"]: field["metadata"].get(physical, field["name"]) for field in json.loads(schema)["fields"]}


def changes(table: str, place: str, version: int) -> dict[str, str]:
    """Return statements that change a table of four rows in every way.

    Args:
        table: its name in SQL.
        place: its path.
        version: the one with the first rows.
    """
    return {
        "append": f"INSERT INTO {table} SELECT id, concat('{CANARY}-', id), true, 'x' FROM range(4, 20, 1, 2)",
        "updated": f"UPDATE {table} SET ssn = concat(ssn, '-new') WHERE id = 2",
        "deleted": f"DELETE FROM {table} WHERE id = 3",
        "purged": f"REORG TABLE {table} APPLY (PURGE)",
        "merged": f"MERGE INTO {table} t USING (SELECT 4L AS id UNION SELECT 99L) s ON t.id = s.id WHEN MATCHED THEN "
        f"DELETE WHEN NOT MATCHED THEN INSERT (id, ssn, sick, name) VALUES (s.id, '{CANARY}-99', false, 'y')",
        "optimized": f"OPTIMIZE {table}",
        "z-ordered": f"OPTIMIZE {table} ZORDER BY (id)",
        "evolved": f"ALTER TABLE {table} ADD COLUMNS (note STRING)",
        "inserted": f"INSERT INTO {table} VALUES (100, '{CANARY}-100', false, 'y', 'n')",
        "vacuumed": f"VACUUM {table} RETAIN 1000 HOURS",
        "old": f"SELECT count(*) FROM {table} VERSION AS OF {version}",
        "changes": f"SELECT count(*) > 5 FROM table_changes_by_path('{place}', {version})",
        "cloned": f"CREATE TABLE delta.`{place}-clone` SHALLOW CLONE {table}",
        "cloned insert": f"INSERT INTO delta.`{place}-clone` VALUES (101, '{CANARY}-101', false, 'y', 'n')",
        "restored": f"RESTORE TABLE {table} TO VERSION AS OF {version + 1}",
        "rows": f"SELECT count(*), count(DISTINCT ssn) FROM {table} WHERE ssn LIKE '{CANARY}%'",
    }


def stream(job: Job, source: str, target: str, *columns: str) -> None:
    """Append the rows of one table to another."""
    rows = job.spark.readStream.format("delta").load(job.place(source)).select(*columns or "*")
    write = rows.writeStream.format("delta").option("checkpointLocation", str(job.work / f"stream-{target}"))
    write.trigger(once=True).start(job.place(target)).awaitTermination()


def emptied(job: Job, name: str) -> None:
    """Keep what is there and readable, then delete the files that are no longer live, and keep what was deleted."""
    directory = job.work / "tables" / name
    kinds = [kind for kind, files in KINDS.items() if list(directory.glob(files))]
    readable = [one.file for one in find_canaries(directory, [CANARY])]
    before = set(files_under(directory))
    job.note(f"{name}: vacuumed at once", f"VACUUM delta.`{directory}` RETAIN 0 HOURS")
    gone = Counter(file.suffix for file in before - set(files_under(directory)) if file.suffix != ".crc")
    job.emptied[name] = Emptied(kinds, readable, dict(gone))


def mapped_operations(job: Job) -> None:
    """Change a table of each mode of column mapping in every way, and rename and drop columns."""
    job = job.own(_SETTINGS)
    more = f"{SILENT}, 'delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true'"
    four = "id LONG, ssn STRING, sick BOOLEAN, name STRING"
    for mode in MODES:
        name = f"mapped-{mode}"
        table = create(job, name, four, "ssn, sick", more, mode)
        job.sql(f"INSERT INTO {table} SELECT id, concat('{CANARY}-', id), true, 'x' FROM range(0, 4, 1, 1)")
        for step, statement in changes(table, job.place(name), 2).items():
            job.note(f"{name}: {step}", statement)
        streamed = create(job, f"{name}-streamed", four, "ssn, sick", more, mode)
        step = f"{name}: streamed"
        job.attempt(step, partial(stream, job, f"{name}-clone", f"{name}-streamed", *four.split()[::2]))
        job.note(f"{step} rows", f"SELECT count(*), count(DISTINCT ssn) FROM {streamed} WHERE ssn LIKE '{CANARY}%'")
        for kind in ("", "-clone", "-streamed"):
            job.check(f"{name}{kind}: check", f"{name}{kind}")
        job.note(f"{name}: renamed", f"ALTER TABLE {table} RENAME COLUMN ssn TO other")
        job.note(f"{name}: dropped", f"ALTER TABLE {table} DROP COLUMN name")
        job.note(f"{name}: inserted again", f"INSERT INTO {table} VALUES (102, '{CANARY}-102', false)")
        emptied(job, name)
        job.check(f"{name}: check at last", name)
        job.note(f"{name}: rows at last", f"SELECT count(*), count(DISTINCT other) FROM {table} WHERE other > 'canary'")


def evolutions(job: Job) -> None:
    """Let schemas evolve, where columns without a key of their own have the footer's, and where they are readable."""
    job = job.own(_SETTINGS)
    for mode in ("", "name"):
        evolve(job, f"evolving{mode}", mode)
    with without_setting(job.spark, FOOTER_KEY_NAME) as of_java:
        # Only with parquet-java's names of all keys, other columns are plaintext by default.
        java = job.own(_SETTINGS | {"parquet.encryption.footer.key": "footer"}, of_java)
        for name, more in {"incomplete": NO_STATISTICS, "completed": f"{NO_STATISTICS}, {COMPLETE}"}.items():
            table = create(java, name, "id LONG, ssn STRING", "ssn", more)
            append(java, f"{name}: appended", name, f"1L AS id, '{CANARY}-1' AS ssn, '{OPEN}' AS extra")
            java.note(f"{name}: rows", f"SELECT ssn, extra FROM {table}")
        java.check("incomplete: check", "incomplete")
        java.check("incomplete: check of it", "incomplete", ["extra"])


def evolve(job: Job, name: str, mode: str) -> None:
    """Add, widen, overwrite and drop columns of one table."""
    more = f"{NO_STATISTICS}, {COMPLETE}, 'delta.enableTypeWidening' = 'true'"
    table = create(job, name, "id LONG, ssn STRING, code SMALLINT", "ssn, code", more, mode)
    note = partial(note_of, job, name)
    note("created", f"INSERT INTO {table} VALUES (1, '{CANARY}-1', 1)")
    one = f"2L AS id, '{CANARY}-2' AS ssn, {SMALL}, '{CANARY}-extra' AS extra"
    append(job, f"{name}: appended", name, f"{one}, named_struct('inner', '{CANARY}-in') AS person")
    nested = f"named_struct('inner', '{CANARY}-in', 'added', '{CANARY}-added') AS person"
    append(job, f"{name}: deeper", name, f"3L AS id, '{CANARY}-3' AS ssn, {SMALL}, {nested}")
    source = f"SELECT 4L AS id, '{CANARY}-4' AS ssn, {SMALL}, '{CANARY}-merged' AS merged"
    merge = "MERGE WITH SCHEMA EVOLUTION" if NEWER else "MERGE"
    job.spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", str(not NEWER))
    clauses = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    note("merged", f"{merge} INTO {table} t USING ({source}) s ON t.id = s.id {clauses}")
    job.spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    wider = "BIGINT" if NEWER else "INT"
    wide = f"CAST(1 AS {wider}) AS code"
    note("widened", f"ALTER TABLE {table} ALTER COLUMN code TYPE {wider}")
    append(job, f"{name}: wide", name, f"5L AS id, '{CANARY}-5' AS ssn, CAST({WIDE} AS {wider}) AS code")
    note("added", f"ALTER TABLE {table} ADD COLUMNS (later STRING)")
    append(job, f"{name}: later", name, f"6L AS id, '{CANARY}-6' AS ssn, {wide}, '{CANARY}-later' AS later")
    append(job, f"{name}: narrow", name, f"6L AS id, '{CANARY}-6' AS ssn, '{CANARY}-later' AS later")
    note("updated", f"UPDATE {table} SET later = concat('{CANARY}-', id)")
    note("optimized", f"OPTIMIZE {table}")
    if mode:
        note("dropped", f"ALTER TABLE {table} DROP COLUMN merged")
        note("added again", f"ALTER TABLE {table} ADD COLUMNS (merged STRING)")
        append(job, f"{name}: again", name, f"7L AS id, '{CANARY}-7' AS ssn, {wide}, '{CANARY}-again' AS merged")
    note("rows", f"SELECT count(*), count(DISTINCT ssn), max(code) FROM {table} WHERE ssn LIKE '{CANARY}%'")
    new = f"1L AS id, '{CANARY}-1' AS ssn, {wide}, '{CANARY}-fresh' AS fresh"
    replace(job, f"{name}: by partition", name, new, {"partitionBy": "ssn"})
    replace(job, f"{name}: without keys", name, f"1L AS id, '{CANARY}-fresh' AS fresh")
    replace(job, f"{name}: overwritten", name, new)
    note("overwritten rows", f"SELECT id, ssn, code, fresh FROM {table}")
    job.check(f"{name}: check", name)
    emptied(job, name)
    note("rows at last", f"SELECT id, ssn, code, fresh FROM {table}")
    append(job, f"{name}: before told", name, f"2L AS id, '{CANARY}-2' AS ssn, {wide}, '{SHOWN}' AS fresh")
    job.spark.conf.set(PREDICATES, "allow")
    note("told", f"DELETE FROM {table} WHERE fresh = '{SHOWN}'")
    job.spark.conf.unset(PREDICATES)
    job.check(f"{name}: check of a condition", name)
    if mode:
        note("dropped key", f"ALTER TABLE {table} DROP COLUMN ssn")
        note("no key", f"INSERT INTO {table} (id, code, fresh) VALUES (8, 1, '{CANARY}-8')")
        note("same name", f"ALTER TABLE {table} ADD COLUMNS (ssn STRING)")
        note("same name insert", f"INSERT INTO {table} (id, code, ssn) VALUES (9, 1, '{CANARY}-9')")


def note_of(job: Job, name: str, step: str, statement: str) -> None:
    """Keep what came of a statement on a table."""
    job.note(f"{name}: {step}", statement)


def append(job: Job, step: str, name: str, columns: str) -> None:
    """Append a row, with columns that the table may not have."""
    rows: Any = job.spark.sql(f"SELECT {columns}")
    write = rows.write.format("delta").mode("append").option("mergeSchema", "true")
    job.attempt(step, lambda: write.save(job.place(name)))


def replace(job: Job, step: str, name: str, columns: str, more: Mapping[str, str] | None = None) -> None:
    """Overwrite a table and its schema."""
    rows: Any = job.spark.sql(f"SELECT {columns}")
    write = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    for method, value in (more or {}).items():
        write = getattr(write, method)(value)
    job.attempt(step, lambda: write.save(job.place(name)))
