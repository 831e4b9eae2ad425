"""Parts of ``delta_job``: tables whose definition would show protected columns."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.delta.delta_tables import CANARY, SILENT, Job, collected, new_table, without_factory
from tests.support import needs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame

COLUMNS = "(id LONG, ssn STRING)"
SHOWN = "'delta.dataSkippingStatsColumns' = 'id,ssn'"
ONLY_KEYS = "('parquet.encryption.footer.key' = 'footer', 'parquet.encryption.column.keys' = 'pii: ssn'"
KEYS = f"TBLPROPERTIES {ONLY_KEYS}"
DEFAULTS = "'delta.feature.allowColumnDefaults' = 'supported'"


def partitions(job: Job) -> None:
    """Partition tables by protected columns."""
    made = partial(new_table, job)
    by_column = f"{COLUMNS} USING delta PARTITIONED BY (SSN) {KEYS}, {SILENT})"
    job.note("partition created", f"CREATE TABLE {made('created')} {by_column}")
    if needs.ALL:
        by_query = f"USING delta PARTITIONED BY (SSN) {KEYS}, {SILENT}) AS SELECT 1L AS id, 'x' AS ssn"
        job.note("partition selected", f"CREATE TABLE {made('selected')} {by_query}")
    table = made("partitioned")
    job.sql(f"CREATE TABLE {table} (id LONG, ssn STRING, day STRING) USING delta PARTITIONED BY (ssn)")
    job.note("partition altered", f"ALTER TABLE {table} SET TBLPROPERTIES {ONLY_KEYS}, {SILENT})")
    # The new definition names no keys, and files are written before its commit.
    by_value = f"PARTITIONED BY (ssn) AS SELECT 1L AS id, '{CANARY}' AS ssn"
    job.note("partition replaced", f"CREATE OR REPLACE TABLE {job.table('replaced')} USING delta {by_value}")
    job.note(
        "partition_other",
        f"CREATE TABLE {made('day')} (day STRING, id LONG, ssn STRING) USING delta PARTITIONED BY (day) "
        f"{KEYS}, 'delta.dataSkippingNumIndexedCols' = '1')",
        f"INSERT INTO {made('day')} VALUES ('x', 1, '{CANARY}')",
    )
    job.note("clustered", f"CREATE TABLE {made('clustered')} {COLUMNS} USING delta CLUSTER BY (ssn) {KEYS}, {SILENT})")


def statistics(job: Job) -> None:
    """Write to tables whose log would have statistics."""
    made = partial(new_table, job)
    place = job.work / "tables"
    for name, more in {"created": "", "named": f", {SHOWN}"}.items():
        job.sql(f"CREATE TABLE {made(name)} {COLUMNS} USING delta {KEYS}{more})")
        job.note(f"statistics {name}", f"INSERT INTO {made(name)} VALUES (1, '{CANARY}')")
    if needs.ALL:
        by_query = f"USING delta {KEYS}) AS SELECT 1L AS id, 'x' AS ssn"
        job.note("statistics select", f"CREATE TABLE {made('loud')} {by_query}")
    table = made("late_keys")
    job.sql(f"CREATE TABLE {table} (id LONG, ssn STRING) USING delta")
    job.sql(f"INSERT INTO {table} VALUES (1, 'x')")
    job.note("late_keys", f"ALTER TABLE {table} SET TBLPROPERTIES {ONLY_KEYS})")
    job.note("statistics insert", f"INSERT INTO {table} VALUES (1, '{CANARY}')")
    if needs.ALL:
        job.note("statistics optimize", f"OPTIMIZE {table} ZORDER BY (id)")
    rows = job.spark.sql(f"SELECT 1L AS id, '{CANARY}' AS ssn")
    job.attempt("statistics save", partial(saved, rows, place / "late_keys"))
    job.note("mended", f"ALTER TABLE {table} SET TBLPROPERTIES ({SILENT})")
    job.note("mended insert", f"INSERT INTO {table} VALUES (1, '{CANARY}')")
    job.note("mended optimize", f"OPTIMIZE {table} ZORDER BY (id)")
    job.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('delta.dataSkippingStatsColumns')")
    job.note("statistics unset", f"INSERT INTO {table} VALUES (1, '{CANARY}')")
    if not needs.ALL:
        return
    at_once = made("at_once")
    job.sql(f"CREATE TABLE {at_once} {COLUMNS} USING delta")
    job.note(
        "at_once",
        f"ALTER TABLE {at_once} SET TBLPROPERTIES {ONLY_KEYS}, {SILENT})",
        f"OPTIMIZE {at_once} ZORDER BY (id)",
    )


def frames(job: Job) -> None:
    """Save frames to tables that do not exist yet, with keys of the session or of the frame."""
    place = job.work / "tables"
    own = job.spark.newSession()
    own.conf.set("pme-parquet.columnKeys", "pii: ssn")
    rows = own.sql(f"SELECT 1L AS id, '{CANARY}' AS ssn")
    job.attempt("statistics session", partial(saved, rows, place / "loud"))
    job.attempt("partition save", lambda: saved(rows, place / "loud", by=["ssn"], indexed="0"))
    job.attempt("saved silently", lambda: saved(rows, place / "saved", indexed="1"))
    framed = "CREATE TABLE {} USING delta OPTIONS ('parquet.encryption.footer.key' = 'footer') AS SELECT 1L AS id"
    # Options of a frame, which Delta does not pass on.
    rows = job.spark.sql(f"SELECT 1L AS id, '{CANARY}' AS ssn")
    options = {"parquet.encryption.footer.key": "footer", "parquet.encryption.column.keys": "pii: ssn"}
    write = rows.write.format("delta").options(**options)
    job.attempt("frame options", lambda: write.save(str(place / "loud")))
    job.attempt("frame options of a table", lambda: write.saveAsTable("framed"))
    job.attempt("frame options in SQL", partial(job.sql, framed.format(new_table(job, "loud"))))
    if not needs.ALL:
        return
    read = own.readStream.format("rate-micro-batch").option("rowsPerBatch", "2").load()
    stream = read.selectExpr("value AS id", "'x' AS ssn").writeStream.format("delta")
    stream = stream.option("checkpointLocation", str(job.work / "loud-stream")).trigger(once=True)
    job.attempt("statistics stream", lambda: stream.start(str(place / "loud")).awaitTermination())
    append = job.spark.sql("SELECT 1L AS id, 'a' AS ssn, true AS sick, 'x' AS name").writeTo(job.table("appended"))
    job.attempt("frame options appended", append.options(**options).append)


def definitions(job: Job) -> None:
    """Write texts that name protected columns into definitions."""
    made = partial(new_table, job)
    part = "part STRING GENERATED ALWAYS AS (substring(ssn, 1, 3))"
    job.note(
        "generated create",
        f"CREATE TABLE {made('generated')} (id LONG, ssn STRING, {part}) USING delta {KEYS}, {SILENT})",
    )
    # SQL cannot create generated columns in a table at a path.
    jvm: Any = job.spark._jvm
    delta, session = jvm.io.delta.tables.DeltaTable, job.spark._jsparkSession
    column = delta.columnBuilder(session, "part").dataType("STRING").generatedAlwaysAs("substring(ssn, 1, 3)").build()

    def builder(name: str) -> Any:
        columns = delta.create(session).location(str(job.work / "tables" / name)).addColumn("ssn", "STRING")
        return columns.addColumn(column)

    plain = builder("generated_plain")
    job.attempt("builder", plain.execute)
    silent = builder("generated").property("delta.dataSkippingNumIndexedCols", "0")
    job.attempt("generated built", silent.property("parquet.encryption.footer.key", "footer").execute)
    table = made("generated_plain")
    job.note(
        "generated altered",
        f"ALTER TABLE {table} SET TBLPROPERTIES {ONLY_KEYS}, 'delta.dataSkippingNumIndexedCols' = '0')",
    )
    columns = f"(id LONG, ssn STRING DEFAULT '{CANARY}')"
    job.note(
        "new_default create", f"CREATE TABLE {made('default')} {columns} USING delta {KEYS}, {SILENT}, {DEFAULTS})"
    )
    if needs.ALL:
        later = KEYS.replace("pii: ssn", "pii: ssn, note") + f", 'delta.dataSkippingNumIndexedCols' = '0', {DEFAULTS})"
        job.sql(f"CREATE TABLE {made('added')} {COLUMNS} USING delta {later}")
        job.note("new_default added", f"ALTER TABLE {made('added')} ADD COLUMN note STRING DEFAULT '{CANARY}'")
    uniform = made("uniform")
    job.sql(
        f"CREATE TABLE {uniform} (id LONG) USING delta TBLPROPERTIES ('parquet.encryption.uniform.key' = 'pii', "
        f"'delta.dataSkippingNumIndexedCols' = '0', {DEFAULTS})"
    )
    job.note("new_default uniform", f"ALTER TABLE {uniform} ADD COLUMN other STRING DEFAULT '{CANARY}'")
    job.note("added_without_default", f"ALTER TABLE {uniform} ADD COLUMN more STRING")


def clones(job: Job) -> None:
    """Clone and convert tables."""
    made = partial(new_table, job)
    place = job.work / "tables"
    kept, source = job.table("cloned"), made("source")
    job.sql(f"CREATE TABLE {source} {COLUMNS} USING delta")
    job.sql(f"INSERT INTO {source} VALUES (1, 'x')")
    clone = f"CREATE TABLE {made('clone')} SHALLOW CLONE"
    job.note("clone keys", f"{clone} {source} {KEYS}, {SILENT})")
    shown = made("clone-shown")
    job.sql(f"CREATE TABLE {shown} SHALLOW CLONE {kept} TBLPROPERTIES ({SHOWN})")
    job.note("statistics clone", f"INSERT INTO {shown} VALUES (5, '{CANARY}-5', true, 'x')")
    job.note("clone replaced", f"CREATE OR REPLACE TABLE {kept} SHALLOW CLONE {source}")
    job.note("clone version", f"{clone} {made('late_keys')} VERSION AS OF 1")
    job.note("clone_same", f"{clone} {kept}", f"INSERT INTO {made('clone')} VALUES (5, '{CANARY}-5', true, 'x')")
    job.spark.sql(f"SELECT 1L AS id, '{CANARY}' AS ssn").write.parquet(str(place / "converted"))
    convert = f"CONVERT TO DELTA parquet.`{place / 'converted'}`"
    job.note("convert", convert)
    job.note("convert_silent", f"{convert} NO STATISTICS")


def connectors(job: Job) -> None:
    """Write to a table with keys through Delta's other connector, which Delta 4 has."""
    own = job.own({"spark.databricks.delta.v2.enableMode": "STRICT"})
    table = job.table("of_kernel")
    own.note("kernel insert", f"INSERT INTO {table} VALUES (9, '{CANARY}', true, 'x')")
    own.note("kernel delete", f"DELETE FROM {table} WHERE id = 1")


def tags(job: Job) -> None:
    """Give a table properties that nothing reads."""
    made = partial(new_table, job)
    table, setting = made("tagged"), "spark.datasource.pme-parquet.deltaProperties"
    create = f"CREATE TABLE {table} {COLUMNS} USING delta TBLPROPERTIES ('team.owner' = 'me', 'fs.owner' = 'me')"
    job.note("tags create", create)
    with without_factory(job.spark) as openly:
        collected(openly, create)
    insert = f"INSERT INTO {table} VALUES (6, 'a')"
    job.note("tags unlisted", insert)
    job.note("tags_read", f"CREATE TEMP VIEW tagged AS SELECT * FROM {table}")
    prefix = {"prefix": "team.*"} if needs.ALL else {}
    for name, listed in (prefix | {"no_prefix": "fs.own, team.*", "listed": "team.*, fs.owner"}).items():
        job.spark.conf.set(setting, listed)
        job.note(f"tags {name}", insert)
    other_case = setting.replace("deltaProperties", "DELTAPROPERTIES")
    job.spark.conf.set(other_case, "team.*")
    job.note("tags strictest", insert)
    job.spark.conf.unset(other_case)
    job.spark.conf.set(setting, "parquet.*,pme-parquet.*")
    job.note("tags ours", f"INSERT INTO {made('factory')} VALUES (1, 'a')")
    for name, wrong in ({"all": "*"} | ({"start": "*.owner", "empty": "team.*,"} if needs.ALL else {})).items():
        job.spark.conf.set(setting, wrong)
        job.note(f"tags_wrong {name}", insert)
    job.spark.conf.unset(setting)


def saved(rows: DataFrame, place: Path, by: Sequence[str] = (), indexed: str = "") -> None:
    """Append rows to a table at a path, or create it."""
    write = rows.write.format("delta").mode("append").partitionBy(*by)
    if indexed:
        write = write.option("delta.dataSkippingNumIndexedCols", indexed)
    write.save(str(place))
