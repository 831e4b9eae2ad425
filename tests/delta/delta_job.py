"""A job on tables of a real Delta, in a session with our factory and our extension.

Run as ``python -m tests.delta.delta_job DIRECTORY PART…``. The parts are functions. It leaves the tables in the
directory.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.delta import delta_evolutions
from tests.delta.delta_definitions import clones, connectors, definitions, frames, partitions, statistics, tags
from tests.delta.delta_evolutions import changes, evolutions, mapped_operations, stream
from tests.delta.delta_redactions import PREDICATES, redactions
from tests.delta.delta_tables import CANARY, KEYS, SILENT, Job, Result, collected, new_table, session, without_factory
from tests.delta.delta_versions import constraints, spellings, versions
from tests.support import needs
from tests.support.processes import picked, print_result

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


VALUE = f"'{CANARY}-1'"
# Conditions of DELETE. A commit's text is redacted whatever its form, so `make test` tries the one that finds a row.
FORMS = {"equal": f"ssn = {VALUE}"} | (
    {
        "nested": f"id = 77 AND (name = 'y' OR coalesce(ssn, '') = {VALUE})",
        "boolean": "NOT sick",
        "in": f"ssn IN ({VALUE}, 'b')",
        "like any": f"ssn LIKE ANY ('{CANARY}-9%', 'b%')",
        "rlike": f"ssn RLIKE '{CANARY}-9'",
        "function": f"startswith(ssn, '{CANARY}-9')",
        "case": f"CASE WHEN ssn = {VALUE} THEN true ELSE false END",
        "between": f"ssn BETWEEN 'a' AND '{CANARY}'",
        "array": f"array_contains(array({VALUE}), ssn)",
    }
    if needs.ALL
    else {}
)
# The properties of the first one are tried in each way to change a table, those of the others in two.
PLANTED = {
    "kms": "'pme-parquet.kms.vault.url' = 'http://127.0.0.1:1'",
    "class": "'parquet.encryption.kms.client.class' = 'x.Y'",
    "factory": "'parquet.crypto.factory.class' = 'x.Y'",
    "codecs": "'io.compression.codecs' = 'x.Y'",
    "credentials": "'hadoop.security.credential.provider.path' = 'x'",
}
WAYS_TO_CHANGE = {
    name: ("create", "insert", "delete", "optimize", "save")[: 5 if needs.ALL or name == "kms" else 2]
    for name in PLANTED
}


def conditions(job: Job) -> None:
    """Write conditions with values of protected columns, in every way that we know."""
    table = job.table("conditions")
    job.spark.sql(f"CREATE TEMP VIEW shown AS SELECT * FROM {table}")
    job.spark.sql("CREATE TEMP VIEW wanted AS SELECT 1L AS id, 'canary-4711-1' AS ssn, 'delete' AS what")
    value, other = VALUE, f"'{CANARY}-2'"
    for name, where in FORMS.items():
        job.note(f"delete {name}", f"DELETE FROM {table} WHERE {where}")
    job.note("update", f"UPDATE {table} SET name = 'z' WHERE ssn = {other}")
    merge = f"MERGE INTO {table} t USING wanted s ON"
    update = "THEN UPDATE SET name = 'm'"
    job.note("merge clause", f"{merge} t.id = s.id + 1 WHEN MATCHED AND t.ssn = {other} {update}")
    if needs.ALL:
        itself = f"MERGE INTO {table} t USING (SELECT id, upper(ssn) AS other FROM {table}) s ON t.id = s.id"
        job.note("merge itself", f"{itself} AND s.other <> {value} WHEN MATCHED {update}")
        job.note("update view", f"UPDATE shown SET name = 'z' WHERE ssn = {other}")
        job.note("merge", f"{merge} t.ssn = s.ssn AND t.ssn = {value} WHEN MATCHED THEN DELETE")
        keys = f"WITH c AS (SELECT id, ssn AS k FROM {table}) SELECT * FROM c"
        cte = f"MERGE INTO {table} t USING ({keys}) s ON t.id = s.id"
        job.note("merge cte", f"{cte} WHEN MATCHED AND s.k = {other} {update}")
        rows = job.spark.sql(f"SELECT 9L AS id, '{CANARY}-9' AS ssn, true AS sick, 'x' AS name")
        write = rows.write.format("delta").mode("overwrite").option("replaceWhere", f"ssn = '{CANARY}-9'")
        job.attempt("replaceWhere", lambda: write.save(job.place("conditions")))
    replaced = f"SELECT 9L, '{CANARY}-9', true, 'y'"
    job.note("replace", f"INSERT INTO {table} REPLACE WHERE ssn = '{CANARY}-9' {replaced}")
    job.note("left by value", f"SELECT id, name FROM {table}")
    # Texts of the table's definition.
    job.note("constraint", f"ALTER TABLE {table} ADD CONSTRAINT c CHECK (ssn <> {value})")
    if needs.ALL:
        check = f"CHECK (length(concat(ssn, {value})) > 0)"
        job.note("constraint function", f"ALTER TABLE {table} ADD CONSTRAINT d {check}")
    job.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')")
    job.note("default", f"ALTER TABLE {table} ALTER COLUMN ssn SET DEFAULT {value}")
    job.note("default_of_another", f"ALTER TABLE {table} ALTER COLUMN name SET DEFAULT 'y'")
    # A commit that no statement and no code of ours names, with a text that a user may give to any.
    job.spark.conf.set(USER_METADATA, f"because of {CANARY}-2")
    job.attempt("invented", partial(invented, job, "conditions", "INVENTED STATEMENT"))
    job.spark.conf.unset(USER_METADATA)
    history = job.spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").select("operation", "userMetadata")
    job.attempt("history", lambda: [repr(tuple(row)) for row in history.collect()])
    allowed = job.table("allowed")
    job.spark.conf.set(PREDICATES, "allow")
    job.note("allowed", f"DELETE FROM {allowed} WHERE ssn = {value}")
    upper = "spark.datasource.pme-parquet.DELTAPREDICATES"
    job.spark.conf.set(upper, "redact")
    job.note("stricter", f"DELETE FROM {table} WHERE ssn = {other}")
    job.spark.conf.unset(upper)
    job.spark.conf.set(PREDICATES, "perhaps")
    job.note("perhaps", f"DELETE FROM {table} WHERE ssn = {value}")
    job.spark.conf.unset(PREDICATES)


def invented(job: Job, name: str, operation: str) -> None:
    """Commit by Delta's classes alone, as a command that is written later would."""
    jvm: Any = job.spark._jvm
    delta = jvm.org.apache.spark.sql.delta
    log = delta.DeltaLog.forTable(job.spark._jsparkSession, job.place(name))
    transaction = log.startTransaction()
    none = getattr(getattr(jvm.scala.collection.immutable, "Nil$"), "MODULE$")
    transaction.commit(none, delta.DeltaOperations.TestOperation(operation, jvm.scala.Option.apply(None)))


def properties(job: Job) -> None:
    """Plant properties in a table, and remove those that encrypt."""
    for name, planted in PLANTED.items():
        made = f"delta.`{job.work / 'tables' / name}`"
        create = f"CREATE TABLE {made} (id LONG, ssn STRING) USING delta TBLPROPERTIES ({planted})"
        job.note(f"{name} create", create)
        with without_factory(job.spark) as openly:
            collected(openly, create)
        frame = job.spark.sql("SELECT 1L AS id, 'a' AS ssn").write.format("delta").mode("append")
        ways = {
            "insert": partial(collected, job.spark, f"INSERT INTO {made} VALUES (1, 'a')"),
            "delete": partial(collected, job.spark, f"DELETE FROM {made} WHERE id = 1"),
            "optimize": partial(collected, job.spark, f"OPTIMIZE {made}"),
            "save": partial(frame.save, str(job.work / "tables" / name)),
        }
        for way in WAYS_TO_CHANGE[name][1:]:
            job.attempt(f"{name} {way}", ways[way])
    table = job.table("kept")
    job.note("unset", f"ALTER TABLE {table} UNSET TBLPROPERTIES ('parquet.encryption.column.keys')")
    job.note("set", f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 'ssn')")
    job.note("loud insert", f"INSERT INTO {table} VALUES (8, '{CANARY}-8', true, 'x')")
    job.note("same", f"ALTER TABLE {table} SET TBLPROPERTIES ({SILENT})")
    job.note("tag", f"ALTER TABLE {table} SET TBLPROPERTIES ('team' = 'me')")
    late = f"delta.`{job.work / 'tables' / 'late'}`"
    job.sql(f"CREATE TABLE {late} (id LONG, ssn STRING) USING delta")
    job.sql(f"ALTER TABLE {late} SET TBLPROPERTIES ('parquet.encryption.footer.key' = 'footer')")
    job.note("restore", f"RESTORE TABLE {late} TO VERSION AS OF 0")
    job.note("replaced", f"CREATE OR REPLACE TABLE {table} (id LONG, ssn STRING) USING delta")
    job.note("replaced as", f"CREATE OR REPLACE TABLE {table} USING delta AS SELECT 1L AS id")
    named = "named"
    job.sql(f"CREATE TABLE {named} (id LONG, ssn STRING, sick BOOLEAN) USING delta {KEYS}, {SILENT})")
    job.note("named replaced", f"CREATE OR REPLACE TABLE {named} USING delta AS SELECT 1L AS id")
    rows = job.spark.sql("SELECT 1L AS id")
    job.attempt("named overwritten", lambda: rows.write.format("delta").mode("overwrite").saveAsTable(named))
    by_query = f"AS SELECT 1L AS id, '{CANARY}-1' AS ssn, true AS sick"
    job.note("by_query", f"CREATE TABLE delta.`{job.place('by_query')}` USING delta {KEYS}, {SILENT}) {by_query}")
    plain = job.spark.newSession()
    plain.conf.set("parquet.crypto.factory.class", "")
    values = "VALUES (1, 'a', true, 'b')"
    job.attempt("no factory insert", partial(collected, plain, f"INSERT INTO {table} {values}"))
    job.attempt("no factory alter", partial(collected, plain, f"ALTER TABLE {table} ADD COLUMNS (more LONG)"))
    job.attempt("no factory vacuum", partial(collected, plain, f"VACUUM {table}"))
    row = "SELECT 1L AS id, 'a' AS ssn, true AS sick"
    new = f"delta.`{job.work / 'tables' / 'new'}` USING delta {KEYS}, {SILENT}) AS {row}"
    job.attempt("no factory create", lambda: plain.sql(f"CREATE TABLE {new}").collect())
    rows = plain.range(1).selectExpr("id")
    place = str(job.work / "tables" / "kept")
    job.attempt("no factory save", lambda: rows.write.format("delta").mode("append").save(place))
    stream = plain.readStream.format("rate").load().selectExpr("value AS id").writeStream.format("delta")
    started = stream.option("checkpointLocation", str(job.work / "stream")).trigger(once=True)
    job.attempt("no factory stream", lambda: started.start(place).awaitTermination())
    if not needs.ALL:
        return
    job.note("same_version", f"RESTORE TABLE {late} TO VERSION AS OF 1")
    job.attempt("no factory select", partial(collected, plain, f"INSERT INTO {table} SELECT * FROM {table}"))
    replace = f"CREATE OR REPLACE TABLE {table} USING delta AS {row}"
    job.attempt("no factory replace", partial(collected, plain, replace))


def catalog(job: Job) -> None:
    """Change a table of the catalog that has a property which only its metastore knows, as Hive's tables have."""
    job.sql(f"CREATE TABLE purged (id LONG, ssn STRING, sick BOOLEAN) USING delta {KEYS}, {SILENT})")
    job.sql(f"INSERT INTO purged VALUES (1, '{CANARY}-1', true), (2, '{CANARY}-2', true), (3, '{CANARY}-3', true)")
    state: Any = job.spark._jsparkSession.sessionState()
    stored = state.catalog().externalCatalog()
    table = stored.getTable("default", "purged")
    count = sum(name.startswith("copy$default$") for name in dir(table))
    fields = [getattr(table, f"copy$default${at}")() for at in range(1, count + 1)]
    changed = table.properties().updated("external.table.purge", "TRUE")
    stored.alterTable(table.copy(*(changed if field == table.properties() else field for field in fields)))
    assert stored.getTable("default", "purged").properties().contains("external.table.purge")
    job.note("purged delete", f"DELETE FROM purged WHERE ssn = '{CANARY}-1'")
    if needs.ALL:
        job.note("purged update", "UPDATE purged SET sick = false WHERE id = 2")
        merge = "MERGE INTO purged t USING (SELECT 3L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE"
        job.note("purged merge", merge, "SELECT id, sick FROM purged")


def operations(job: Job) -> None:
    """Change a table in every way, and keep where its secrets are readable."""
    more = ", 'delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true'"
    table = job.table("changed", f"{more}, 'delta.checkpointInterval' = '2'")
    place = str(job.work / "tables" / "changed")
    for step, statement in changes(table, place, 1).items():
        job.note(step, statement)
    made = new_table(job, "v2")
    policy = f"{SILENT}, 'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2'"
    job.sql(f"CREATE TABLE {made} (id LONG, ssn STRING, sick BOOLEAN) USING delta {KEYS}, {policy})")
    for at in range(3):
        job.sql(f"INSERT INTO {made} VALUES ({at}, '{CANARY}-{at}', true)")
    fresh = job.own()
    fresh.note("v2 reads", f"SELECT count(*) FROM {made} WHERE ssn LIKE '{CANARY}%'")
    job.table("streamed-source")
    job.attempt("streamed", partial(stream, job, "streamed-source", "changed"))
    job.note("streamed rows", f"SELECT count(*), count(DISTINCT ssn) FROM {table} WHERE ssn LIKE '{CANARY}%'")
    for name in ("changed", "changed-clone", "v2"):
        job.check(f"{name}: check", name)


def checkpoints(job: Job) -> None:
    """Set the keys of columns in the session, which its checkpoints have to do without."""
    own = job.own({"pme-parquet.columnKeys": "pii: ssn"})
    made = f"delta.`{job.work / 'tables' / 'session'}`"
    interval = "'delta.checkpointInterval' = '2'"
    own.sql(f"CREATE TABLE {made} (id LONG, ssn STRING) USING delta TBLPROPERTIES ({SILENT}, {interval})")
    for at in range(3):
        own.sql(f"INSERT INTO {made} VALUES ({at}, '{CANARY}-{at}')")
    own.note("session deletes", f"DELETE FROM {made} WHERE ssn = '{CANARY}-1'")
    fresh = own.own()
    fresh.note("session reads", f"SELECT count(*) FROM {made}")


def mapping(job: Job) -> None:
    """Name columns by their physical names."""
    for mode in MODES:
        made = f"delta.`{job.work / 'tables' / mode}`"
        job.sql(
            f"CREATE TABLE {made} (id LONG, ssn STRING) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = "
            f"'{mode}', 'delta.dataSkippingNumIndexedCols' = '0')"
        )
        first = (job.work / "tables" / mode / "_delta_log" / f"{0:020}.json").read_text().splitlines()
        [schema] = [json.loads(line)["metaData"]["schemaString"] for line in first if "metaData" in line]
        physical = json.loads(schema)["fields"][1]["metadata"]["delta.columnMapping.physicalName"]
        keys = f"'parquet.encryption.footer.key' = 'footer', 'parquet.encryption.column.keys' = 'pii: {physical}'"
        job.sql(f"ALTER TABLE {made} SET TBLPROPERTIES ({keys})")
        job.sql(f"INSERT INTO {made} VALUES (1, '{CANARY}-1')")
        job.note(f"{mode} deleted", f"DELETE FROM {made} WHERE ssn = '{CANARY}-1'")
        job.note(f"{mode} renamed", f"ALTER TABLE {made} RENAME COLUMN ssn TO other")
        job.note(f"{mode} deleted again", f"DELETE FROM {made} WHERE other = '{CANARY}-1'")
        job.note(f"{mode} other", f"DELETE FROM {made} WHERE id = 7")


def concurrent(job: Job) -> None:
    """Let writers change a table at once, each by its own protected value, again where Delta finds a conflict."""
    table = job.table("concurrent", ", 'delta.checkpointInterval' = '3'")
    with ThreadPoolExecutor(WRITERS) as pool:
        pool.map(partial(_write, job, table), range(WRITERS))
    job.note("written at once", f"SELECT id, ssn, name FROM {table} WHERE id >= {FIRST_WRITER} ORDER BY id")


def _write(job: Job, table: str, writer: int) -> None:
    spark = job.spark.newSession()
    value = f"{CANARY}-writer-{writer}"
    matched = f"(SELECT '{value}' AS ssn) s ON t.ssn = s.ssn AND t.ssn = '{value}' WHEN MATCHED"
    for number, statement in enumerate(
        (
            f"INSERT INTO {table} VALUES ({FIRST_WRITER + writer}, '{value}', true, 'x')",
            f"UPDATE {table} SET name = 'z' WHERE ssn = '{value}'",
            f"MERGE INTO {table} t USING {matched} THEN UPDATE SET name = concat(name, 'm')",
        )
    ):
        job.attempt(f"writer {writer} {number}", partial(_until_done, spark, statement))


def _until_done(spark: SparkSession, statement: str, tries: int = 20) -> None:
    try:
        collected(spark, statement)
    except Exception as error:
        if tries == 1 or "concurrent" not in str(error).lower():
            raise
        _until_done(spark, statement, tries - 1)


WRITERS, FIRST_WRITER = 4, 100
# Of column mapping. tests/delta/test_searched.py changes tables of each in more ways.
MODES = delta_evolutions.MODES[: None if needs.ALL else 1]
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
CREATED = (partitions, statistics, frames, definitions, constraints, clones, tags, connectors, spellings, versions)
OTHERS = (operations, checkpoints, mapping, mapped_operations, evolutions, redactions)
BY_VALUE = [
    *(f"delete {name}" for name in FORMS),
    *("update", "merge clause"),
    *(("merge itself", "update view", "merge", "merge cte") if needs.ALL else ()),
]
# Those that find rows, and so make a commit, with the invented one.
COMMITTED = [
    "delete equal",
    "update",
    "merge clause",
    *(("merge itself", "update view", "merge cte", "replaceWhere") if needs.ALL else ()),
    *("replace", "invented", "stricter"),
]
PARTS = {part.__name__: part for part in (conditions, properties, catalog, concurrent, *CREATED, *OTHERS)}


def main() -> None:
    work = Path(sys.argv[1])
    job = Job(session(work), work)
    for name in sys.argv[2:]:
        PARTS[name](job)
    job.spark.stop()
    print_result(picked(Result, job))


if __name__ == "__main__":
    main()
