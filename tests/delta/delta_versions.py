"""Parts of ``delta_job``: keys in other letters, constraints in properties, and versions from before a rewrite."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.delta.delta_definitions import COLUMNS, KEYS, ONLY_KEYS
from tests.delta.delta_tables import CANARY, SILENT, Job, clear_logs, collected, new_table, without_factory
from tests.support import needs

CHECK = f"'delta.constraints.c' = 'ssn <> \\'{CANARY}\\''"
DEFAULTS = "spark.databricks.delta.properties.defaults."


def spellings(job: Job) -> None:
    """Name the session's keys, and a default, in other letters."""
    own = job.own({"pme-parquet.COLUMNkeys": "pii: ssn"})
    own.sql(f"CREATE TABLE {new_table(own, 'spelled-loud')} {COLUMNS} USING delta")
    own.note("spelled insert", f"INSERT INTO {new_table(own, 'spelled-loud')} VALUES (1, '{CANARY}')")
    table = new_table(own, "spelled")
    own.sql(f"CREATE TABLE {table} {COLUMNS} USING delta TBLPROPERTIES ({SILENT})")
    own.note("spelled_insert", f"INSERT INTO {table} VALUES (1, '{CANARY}')")
    own.note("spelled_delete", f"DELETE FROM {table} WHERE ssn = '{CANARY}'")
    if needs.ALL:
        java = job.own({"parquet.encryption.column.keys": "pii: ssn"})
        java.note("spelled_delete by Java's name", f"DELETE FROM {table} WHERE ssn = '{CANARY}'")
    # Delta does not see a default in other letters, and so would write statistics.
    loud = job.own({f"{DEFAULTS}dataskippingnumindexedcols": "0"})
    loud.note(
        "statistics default",
        f"CREATE TABLE {new_table(job, 'loud-default')} USING delta {KEYS}) AS SELECT 1L id, 'x' ssn",
    )
    # Nor does the factory see a prefix in other letters.
    table = new_table(job, "prefix")
    job.sql(f"CREATE TABLE {table} {COLUMNS} USING delta TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '0')")
    planted(job, "prefix", "PARQUET.encryption.column.keys", "pii: ssn")
    job.note("prefix insert", f"INSERT INTO {table} VALUES (1, '{CANARY}')")


def planted(job: Job, name: str, key: str, value: str) -> None:
    """Give a table a property, as somebody with the storage does."""
    log = job.work / "tables" / name / "_delta_log"
    first = log / f"{0:020}.json"
    first.write_text(first.read_text().replace('"configuration":{', f'"configuration":{{"{key}":"{value}",'))
    for checksum in (*log.glob("*.crc"), *log.glob(".*.crc")):
        checksum.unlink(missing_ok=True)
    clear_logs(job.spark)


def constraints(job: Job) -> None:
    """Put CHECK constraints, and statistics, into properties and options."""
    made = partial(new_table, job)
    place = job.work / "tables"
    listed = f"{COLUMNS} USING delta"
    job.note("check created", f"CREATE TABLE {made('checked')} {listed} {KEYS}, {SILENT}, {CHECK})")
    job.note("check options", f"CREATE TABLE {made('checked')} {listed} OPTIONS ({CHECK}) {KEYS}, {SILENT})")
    table = job.table("constrained")
    job.note("check altered", f"ALTER TABLE {table} SET TBLPROPERTIES ({CHECK.replace('constraints', 'CONSTRAINTS')})")
    job.note("check cloned", f"CREATE TABLE {made('checked')} SHALLOW CLONE {table} TBLPROPERTIES ({CHECK})")
    plain = made("checked_before")
    job.sql(f"CREATE TABLE {plain} {listed} TBLPROPERTIES ({CHECK})")
    job.note("check before keys", f"ALTER TABLE {plain} SET TBLPROPERTIES {ONLY_KEYS}, {SILENT})")
    own = job.own({"pme-parquet.columnKeys": "pii: ssn"})
    rows = own.spark.sql(f"SELECT 1L AS id, '{CANARY}' AS ssn").write.format("delta")
    options = {"delta.dataSkippingNumIndexedCols": "1", "delta.constraints.c": f"ssn <> '{CANARY}-1'"}
    job.attempt("check saved", lambda: rows.options(**options).save(str(place / "checked")))
    if needs.ALL:
        row = f"AS SELECT 1L AS id, '{CANARY}-1' AS ssn"
        by_query = f"USING delta {KEYS}, {SILENT}, {CHECK}) {row}"
        job.note("check selected", f"CREATE TABLE {made('checked-selected')} {by_query}")
        job.attempt("check saved as a table", lambda: rows.options(**options).saveAsTable("checked"))
        shown = {"delta.dataSkippingStatsColumns": "ssn"}
        again = own.spark.sql(f"SELECT 1L AS id, '{CANARY}' AS ssn").write.format("delta")
        job.attempt("statistics table", lambda: again.options(**shown).saveAsTable("shown"))
    own.spark.conf.set(f"{DEFAULTS}constraints.c", f"ssn <> '{CANARY}'")
    own.note("check default", f"CREATE TABLE {made('checked-default')} {listed} TBLPROPERTIES ({SILENT})")


def versions(job: Job) -> None:
    """Go back to versions that have the table's keys, and files from before they were encrypted."""
    made = partial(new_table, job)
    for name, more in {"old_values": "", "old_files": f" TBLPROPERTIES ({SILENT})"}.items():
        table = made(name)
        with without_factory(job.spark) as openly:
            collected(openly, f"CREATE TABLE {table} {COLUMNS} USING delta{more}")
            collected(openly, f"INSERT INTO {table} VALUES (1, '{CANARY}-1')")
        job.sql(f"ALTER TABLE {table} SET TBLPROPERTIES {ONLY_KEYS}, {SILENT})")
        own = job.own({"pme-parquet.plaintextFiles": "allow"})
        own.sql(f"INSERT OVERWRITE {table} SELECT * FROM {table}")
        own.sql(f"INSERT INTO {table} VALUES (2, '{CANARY}-2')")
        job.note(f"{name} restored", f"RESTORE TABLE {table} TO VERSION AS OF 2")
        job.note(f"{name} cloned", f"CREATE TABLE {made(f'{name}-clone')} SHALLOW CLONE {table} VERSION AS OF 2")
        jvm: Any = job.spark._jvm
        of = jvm.io.delta.tables.DeltaTable.forPath(job.spark._jsparkSession, str(job.work / "tables" / name))
        job.attempt(f"{name} restored by a method", partial(of.restoreToVersion, 2))
        job.note(f"{name}_unharmed", f"SELECT count(*) FROM {table}")
        job.note(f"{name}_encrypted", f"RESTORE TABLE {table} TO VERSION AS OF 3", f"SELECT count(*) FROM {table}")
        job.note(f"{name}_clone", f"CREATE TABLE {made(f'{name}-3')} SHALLOW CLONE {table} VERSION AS OF 3")
