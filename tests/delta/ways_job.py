"""A job that sets keys in every way that Delta users try, on tables of a real Delta.

Run as ``python -m tests.delta.ways_job DIRECTORY``. It leaves the tables in the directory.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from tests.delta.delta_tables import (
    CANARY,
    FACTORY_NAME,
    FOOTER_KEY_NAME,
    SILENT,
    Job,
    Result,
    new_table,
    session,
    without_factory,
    without_setting,
)
from tests.support.processes import picked, print_result
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

COLUMNS = "(id LONG, ssn STRING)"
# A checkpoint for each commit but the first.
OFTEN = "'delta.checkpointInterval' = '1'"
NAMED = "'parquet.encryption.footer.key' = 'footer', 'parquet.encryption.column.keys' = 'pii: ssn'"
KEYS_BY_NAME = {"parquet.encryption.footer.key": "footer", "parquet.encryption.column.keys": "pii: ssn"}
SILENT_NAME = "delta.dataSkippingStatsColumns"
SHOWN_NEVER = "'delta.dataSkippingNumIndexedCols' = '0'"
OF_FRAMES = {
    "columns": pme.Encryption(footer_key="footer", column_keys={"pii": ["ssn"]}),
    "uniform": pme.Encryption(uniform_key="pii"),
}
UNIFORM = {"ours": "pme-parquet.uniformKey", "java": "parquet.encryption.uniform.key"}
JAVAS_FACTORY = "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"
OF_COLUMNS = {"ours": "pme-parquet.columnKeys", "java": "parquet.encryption.column.keys"}


def streamed(spark: SparkSession, checkpoints: Path) -> DataStreamWriter:
    """Return a stream of a few rows to Delta."""
    rows = spark.readStream.format("rate").load().selectExpr("value AS id", f"'{CANARY}' AS ssn")
    return rows.writeStream.format("delta").trigger(once=True).option("checkpointLocation", str(checkpoints))


def finish(start: Callable[[str], StreamingQuery], to: str) -> None:
    start(to).awaitTermination()


def frames(job: Job, spark: SparkSession, name: str) -> None:
    """Give the options of an Encryption to a frame and to a stream, for tables that exist and tables that do not."""
    place = job.work / "tables"
    made = f"frames_{name}"
    spark.sql(f"CREATE TABLE {made} {COLUMNS} USING delta")
    for keys, encryption in OF_FRAMES.items():
        options = encryption.options()
        frame = spark.sql(f"SELECT 1L AS id, '{CANARY}' AS ssn")
        write = frame.write.format("delta").mode("append").options(**options)
        to_place, to_table = (
            streamed(spark, job.work / "streams" / f"{name}-{keys}-{to}").options(**options)
            for to in ("place", "table")
        )
        created = frame.writeTo(f"created_{name}").using("delta").options(**options)
        steps: dict[str, Callable[[], object]] = {
            "save": partial(write.save, str(place / f"saved_{name}")),
            "saveAsTable": partial(write.saveAsTable, f"saved_as_{name}"),
            "saveAsTable of a table": partial(write.saveAsTable, made),
            "writeTo create": created.create,
            "writeTo append": frame.writeTo(made).options(**options).append,
            "stream": partial(finish, to_place.start, str(place / f"streamed_{name}")),
            "toTable": partial(finish, to_table.toTable, f"streamed_to_{name}"),
        }
        for step, run in steps.items():
            job.attempt(f"frame {name} {keys} {step}", run)
    job.note(f"rows_{name}", f"SELECT count(*) FROM {made}")


def filled(job: Job, step: str, name: str, properties: str) -> None:
    """Create a table, and write to it, with a checkpoint."""
    table = new_table(job, name)
    job.note(f"{step} create", f"CREATE TABLE {table} {COLUMNS} USING delta TBLPROPERTIES ({properties})")
    job.note(f"{step} insert", f"INSERT INTO {table} VALUES (1, '{CANARY}-1')")


def properties(job: Job) -> None:
    """Name keys in properties of the table."""
    filled(job, "properties", "properties", f"{NAMED}, {SILENT}, {OFTEN}")
    one = "'parquet.encryption.uniform.key' = 'pii'"
    filled(job, "properties uniform", "properties_uniform", f"{one}, {SHOWN_NEVER}, {OFTEN}")


def sessions(job: Job) -> None:
    """Name keys of columns in a session with a footer key."""
    for name, setting in OF_COLUMNS.items():
        named = job.own({setting: "pii: ssn"})
        filled(named, f"columns {name}", f"columns_{name}", f"{SILENT}, {OFTEN}")
        loud = new_table(job, f"columns_{name}_loud")
        job.sql(f"CREATE TABLE {loud} {COLUMNS} USING delta")
        named.note(f"loud columns {name}", f"INSERT INTO {loud} VALUES (1, '{CANARY}')")


def uniform(job: Job) -> None:
    """Name one key for everything in a session without a footer key, which would contradict it."""
    for name, setting in UNIFORM.items():
        named = job.own({setting: "pii"})
        filled(named, f"uniform {name}", f"uniform_{name}", f"{SHOWN_NEVER}, {OFTEN}")
        loud = new_table(job, f"uniform_{name}_loud")
        job.own().sql(f"CREATE TABLE {loud} {COLUMNS} USING delta")
        named.note(f"loud uniform {name}", f"INSERT INTO {loud} VALUES (1, '{CANARY}')")


def without_rows(table: str) -> dict[str, str]:
    """Return statements that commit no rows. Any commit can be the one that gets a checkpoint."""
    return {
        "set": f"ALTER TABLE {table} SET TBLPROPERTIES ('team' = 'you')",
        "unset": f"ALTER TABLE {table} UNSET TBLPROPERTIES ('team')",
        "add": f"ALTER TABLE {table} ADD COLUMNS (more LONG)",
        "alter": f"ALTER TABLE {table} ALTER COLUMN id COMMENT 'a number'",
        "comment": f"COMMENT ON TABLE {table} IS 'people'",
        "constrain": f"ALTER TABLE {table} ADD CONSTRAINT positive CHECK (id > 0)",
        "release": f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS positive",
        "vacuum": f"VACUUM {table}",
        **({"truncate": f"TRUNCATE TABLE {table}"} if SPARK_VERSION >= (4, 0) else {}),
        "replace": f"REPLACE TABLE {table} {COLUMNS} USING delta TBLPROPERTIES ({NAMED}, {SILENT}, {OFTEN})",
    }


def complete(job: Job) -> None:
    """Run the same with the factory and a footer key, and create and replace tables by a query."""
    table = new_table(job, "complete")
    job.sql(f"CREATE TABLE {table} {COLUMNS} USING delta TBLPROPERTIES ({NAMED}, {SILENT}, {OFTEN})")
    for step, statement in without_rows(table).items():
        job.note(f"complete {step}", statement)
    place = job.work / "tables" / "complete"
    rows = f"AS SELECT 1L AS id, '{CANARY}-1' AS ssn"
    job.note("by its place", f"CREATE OR REPLACE TABLE another USING delta LOCATION '{place}' {rows}")
    keys = f"USING delta TBLPROPERTIES ({NAMED}, {SILENT}, {OFTEN})"
    selected = new_table(job, "selected")
    job.note("selected", f"CREATE TABLE {selected} {keys} {rows}", f"INSERT INTO {selected} {rows[3:]}")
    # Delta 3.3 cannot replace a table by a query on this Spark.
    if SPARK_VERSION >= (4, 0):
        job.note("selected", f"CREATE OR REPLACE TABLE {selected} {keys} {rows}")
        job.note("replaced with keys", f"CREATE OR REPLACE TABLE another {keys} LOCATION '{place}' {rows}")
    frame = job.spark.sql(rows[3:]).writeTo("created").using("delta").tableProperty(SILENT_NAME, "id")
    for name, value in KEYS_BY_NAME.items():
        frame = frame.tableProperty(name, value)
    job.attempt("created", frame.create)
    job.note("created rows", "SELECT count(*) FROM created")
    planted = f"USING delta TBLPROPERTIES ({NAMED}, {SILENT}, 'pme-parquet.kms' = 'other')"
    job.note("planted", f"CREATE TABLE {new_table(job, 'planted')} {planted} {rows}")
    job.note("nothing named", f"CREATE TABLE {new_table(job, 'nothing')} USING delta AS SELECT 1L AS id")


def without_footer_key(job: Job) -> None:
    """Write to tables with keys in sessions without a footer key, in which Delta can write no checkpoint."""
    table, place = new_table(job, "keyless"), str(job.work / "tables" / "keyless")
    # The third commit gets the first checkpoint.
    third = "'delta.checkpointInterval' = '2'"
    job.sql(f"CREATE TABLE {table} {COLUMNS} USING delta TBLPROPERTIES ({NAMED}, {SILENT}, {third})")
    # For RESTORE to an older version.
    job.own({FOOTER_KEY_NAME: "footer"}).sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('team')")
    made = new_table(job, "keyless_made")
    other = new_table(job, "keyless_plain")
    job.sql(f"CREATE TABLE {other} {COLUMNS} USING delta TBLPROPERTIES ({SILENT})")
    nothing: dict[str, str] = {}
    settings = {"properties": nothing} | {name: {setting: "pii: ssn"} for name, setting in OF_COLUMNS.items()}
    for name, those in settings.items():
        session = job.own(those)
        frame = session.spark.sql(f"SELECT 1L AS id, '{CANARY}' AS ssn")
        stream = streamed(session.spark, job.work / "streams" / name)
        for step, statement in {
            "insert": f"INSERT INTO {table} VALUES (1, '{CANARY}')",
            "plain": f"INSERT INTO {other} VALUES (1, '{CANARY}')",
            "overwrite": f"INSERT OVERWRITE {table} VALUES (1, '{CANARY}')",
            "delete": f"DELETE FROM {table} WHERE id = 1",
            "update": f"UPDATE {table} SET id = 2 WHERE id = 1",
            "merge": f"MERGE INTO {table} t USING (SELECT 1L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
            "optimize": f"OPTIMIZE {table}",
            "restore": f"RESTORE TABLE {table} TO VERSION AS OF 0",
            "clone": f"CREATE TABLE {made} SHALLOW CLONE {table}",
            "select": f"CREATE TABLE {made} USING delta TBLPROPERTIES ({NAMED}, {SILENT}) AS SELECT 1L id, 'x' ssn",
            **without_rows(table),
            "plain set": f"ALTER TABLE {other} SET TBLPROPERTIES ('team' = 'you')",
        }.items():
            session.note(f"keyless {name} {step}", statement)
        job.attempt(f"keyless {name} save", partial(frame.write.format("delta").mode("append").save, place))
        job.attempt(f"keyless {name} append", frame.writeTo(table).append)
        job.attempt(f"keyless {name} stream", partial(finish, stream.start, place))


def with_first_keys(new: str, plain: str) -> dict[str, str]:
    """Return statements that give a new table, and one that is there, its first keys."""
    return {
        "create": f"CREATE TABLE {new} {COLUMNS} USING delta TBLPROPERTIES ({NAMED}, {SILENT})",
        "first keys": f"ALTER TABLE {plain} SET TBLPROPERTIES ({NAMED})",
    }


def no_factory(job: Job) -> None:
    """Change tables, and no rows of them, in a session without a factory, which would write a plaintext checkpoint."""
    table, plain, made = (new_table(job, name) for name in ("openly", "openly_plain", "openly_made"))
    job.sql(f"CREATE TABLE {table} {COLUMNS} USING delta TBLPROPERTIES ({NAMED}, {SILENT}, {OFTEN})")
    job.sql(f"CREATE TABLE {plain} {COLUMNS} USING delta TBLPROPERTIES ({SHOWN_NEVER}, {OFTEN})")
    with without_setting(job.spark, FACTORY_NAME) as spark:
        # With keys: the session asks for encryption, and nothing would encrypt.
        half = job.own(spark=spark)
        half.note("half insert", f"INSERT INTO {plain} VALUES (1, '{CANARY}')")
        half.note("half create", f"CREATE TABLE {made} USING delta AS SELECT '{CANARY}' AS ssn")
    with without_factory(job.spark) as spark:
        named = job.own(spark=spark)
        for step, statement in (without_rows(table) | with_first_keys(made, plain)).items():
            named.note(f"openly {step}", statement)
        jvm: Any = spark._jvm
        of = jvm.io.delta.tables.DeltaTable.forPath(spark._jsparkSession, str(job.work / "tables" / "openly"))
        job.attempt("openly upgraded", partial(of.upgradeTableProtocol, 3, 7))
        job.attempt("openly with a feature", partial(of.addFeatureSupport, "deletionVectors"))
        # Delta 3.3 has no method with these arguments.
        if SPARK_VERSION >= (4, 0):
            job.attempt("openly without a feature", partial(of.dropFeatureSupport, "checkConstraints"))
        named.note("nothing changed", f"VACUUM {table} DRY RUN", f"DESCRIBE HISTORY {table}")


def other_factory(job: Job) -> None:
    """Write with parquet-java's own factory, which gets the keys of a table for data, and not for checkpoints."""
    factory = {FACTORY_NAME: JAVAS_FACTORY}
    table, plain = new_table(job, "others"), new_table(job, "others_plain")
    job.sql(f"CREATE TABLE {table} {COLUMNS} USING delta TBLPROPERTIES ({NAMED}, {SILENT}, {OFTEN})")
    job.sql(f"INSERT INTO {table} VALUES (1, '{CANARY}-1')")
    job.sql(f"CREATE TABLE {plain} {COLUMNS} USING delta TBLPROPERTIES ({SHOWN_NEVER}, {OFTEN})")
    made, parquet = new_table(job, "others_made"), str(job.work / "parquet")
    job.spark.range(1).write.parquet(parquet)

    def java(settings: Mapping[str, str]) -> Job:
        """Return a session without names that only our factory reads."""
        made = job.own(settings)
        for name, _ in job.spark.sparkContext.getConf().getAll():
            if name.startswith("spark.hadoop.pme-parquet.") or name.endswith(FACTORY_NAME):
                made.spark.conf.unset(name)
        return made

    with without_factory(job.spark):
        named = java(factory)
        frame = named.spark.sql(f"SELECT 3L AS id, '{CANARY}-3' AS ssn")
        stream = streamed(named.spark, job.work / "streams" / "others")
        place = str(job.work / "tables" / "others")
        job.attempt("other properties save", partial(frame.write.format("delta").mode("append").save, place))
        job.attempt("other properties stream", partial(finish, stream.start, place))
        for step, statement in {
            "insert": f"INSERT INTO {table} VALUES (2, '{CANARY}-2')",
            "merge": f"MERGE INTO {table} t USING (SELECT 1L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
            "delete": f"DELETE FROM {table} WHERE id = 1",
            "optimize": f"OPTIMIZE {table}",
            "restore": f"RESTORE TABLE {table} TO VERSION AS OF 0",
            "clone": f"CREATE TABLE {made} SHALLOW CLONE {table}",
            "select": f"CREATE TABLE {made} USING delta TBLPROPERTIES ({NAMED}, {SILENT}) AS SELECT 1L id, 'x' ssn",
            **without_rows(table),
            **with_first_keys(made, plain),
        }.items():
            named.note(f"other properties {step}", statement)
        for keys in (OF_COLUMNS["java"], UNIFORM["java"]):
            session = java(factory | {keys: "pii: ssn" if keys == OF_COLUMNS["java"] else "pii"})
            session.note(f"other session {keys}", f"INSERT INTO {plain} VALUES (1, '{CANARY}')")
            session.note(f"other convert {keys}", f"CONVERT TO DELTA parquet.`{parquet}`")
        # Without keys, there is nothing to protect.
        named.note("no keys", f"INSERT INTO {plain} VALUES (1, 'x')")
        named.note("no keys rows", f"SELECT * FROM {plain}")


def main() -> None:
    work = Path(sys.argv[1])
    job = Job(session(work), work)
    frames(job, job.spark, "with")
    properties(job)
    complete(job)
    sessions(job)
    with without_setting(job.spark, FOOTER_KEY_NAME):
        uniform(job)
        without_footer_key(job)
    other_factory(job)
    no_factory(job)
    with without_factory(job.spark) as spark:
        frames(job, spark, "without")
    job.spark.stop()
    print_result(picked(Result, job))


if __name__ == "__main__":
    main()
