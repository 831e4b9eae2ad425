"""A part of ``delta_job``: conditions whose text Delta does not get."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from tests.delta.delta_tables import CANARY, Job, attempt

PREDICATES = "spark.datasource.pme-parquet.deltaPredicates"
ALL = bool(os.environ.get("PME_TEST_ALL"))
NOBODYS = {
    "assigned": "USING pairs s ON t.id = s.id WHEN MATCHED AND s.k = {0} THEN UPDATE SET ssn = s.k",
    "inserted": "USING pairs s ON t.id = s.id WHEN NOT MATCHED AND s.k = {0} THEN INSERT (id, ssn) VALUES (s.id, s.k)",
    "star": (
        "USING (SELECT id, k AS ssn, true AS sick, 'x' AS name FROM pairs) s ON t.id = s.id"
        " WHEN MATCHED AND s.ssn = {0} THEN UPDATE SET *"
    ),
    "twice": (
        "USING (WITH c AS (SELECT id, ssn AS k FROM {1}) SELECT a.id, b.k FROM c a JOIN c b ON a.id = b.id) s"
        " ON t.id = s.id WHEN MATCHED AND s.k = {0} THEN UPDATE SET name = 'y'"
    ),
    "checkpoint": "USING pinned s ON t.id = s.id WHEN MATCHED AND s.k = {0} THEN UPDATE SET name = 'y'",
    "union": (
        "USING (SELECT id + 10 AS id, k FROM pairs UNION ALL SELECT id, ssn FROM {1}) s"
        " ON t.id = s.id WHEN MATCHED AND s.k = {0} THEN UPDATE SET name = 'y'"
    ),
    "inside": (
        "USING (SELECT o.id, p.k FROM pairs p JOIN {1} o ON p.k = o.ssn) s"
        " ON t.id = s.id WHEN MATCHED AND s.k = {0} THEN UPDATE SET name = 'y'"
    ),
    "lateral": (
        "USING (SELECT p.id, p.k FROM pairs p, LATERAL (SELECT o.id FROM {1} o WHERE o.ssn = p.k) l) s"
        " ON t.id = s.id WHEN MATCHED AND s.k = {0} THEN UPDATE SET name = 'y'"
    ),
    "correlated": (
        "USING (SELECT id, k FROM pairs p WHERE EXISTS (SELECT 1 FROM {1} o WHERE o.ssn = p.k)) s"
        " ON t.id = s.id WHEN MATCHED AND s.k = {0} THEN UPDATE SET name = 'y'"
    ),
    "renamed": "USING (SELECT id, k, k AS a FROM pairs) s ON t.ssn = s.a AND s.k = {0} WHEN MATCHED THEN DELETE",
}
# All of them are refused by default; a MERGE that runs takes seconds.
HIDDEN = list(NOBODYS) if ALL else ["assigned", "union", "renamed"]
TABLES = {"redacted_marked": ", 'delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true'"}
if ALL:
    TABLES["redacted"] = ", 'delta.enableDeletionVectors' = 'false'"


def origins(job: Job) -> None:
    """Compare columns of sources that have values of protected columns, as few see at once."""
    table = job.table("origins")
    value = f"'{CANARY}-2'"
    own = Job(job.spark.newSession(), job.work, job.done)
    for each in (job, own):
        each.spark.sql(f"CREATE TEMP VIEW pairs AS SELECT * FROM VALUES (2L, '{CANARY}-2'), (9L, 'z') AS v(id, k)")
        each.spark.sql(f"SELECT id, ssn AS k FROM {table}").localCheckpoint().createTempView("pinned")
    for name, text in NOBODYS.items():
        job.note(f"origin {name}", f"MERGE INTO {table} t {text.format(value, table)}")
    harmless = "USING pairs s ON t.ssn = s.k WHEN MATCHED AND s.id = 77 THEN DELETE"
    job.note("other_origin", f"MERGE INTO {table} t {harmless}")
    own.spark.conf.set(PREDICATES, "redact")
    for name in HIDDEN:
        own.note(f"hidden_origin {name}", f"MERGE INTO {table} t {NOBODYS[name].format(value, table)}")
    own.note("origins_left", f"SELECT id, name FROM {table} ORDER BY id")
    own.note(
        "hidden_boolean", f"UPDATE {table} SET sick = false WHERE sick", f"SELECT count(*) FROM {table} WHERE sick"
    )
    own.note("hidden_booleans", f"DELETE FROM {table} WHERE NOT sick AND nvl(sick, true) = false AND id = 3")
    session: Any = own.spark
    java = session._jvm.io.delta.tables.DeltaTable.forPath(session._jsparkSession, own.place("origins"))
    merge = java.alias("t").merge(own.spark.table("pairs").alias("s")._jdf, f"t.ssn = s.k AND s.k = {value}")
    attempt(own, "origin_of_java", merge.whenMatched().delete().execute)


def redactions(job: Job) -> None:
    """Change rows by values of protected columns, in a session that keeps the text from Delta."""
    own = Job(job.spark.newSession(), job.work, job.done)
    own.spark.conf.set(PREDICATES, "redact")
    value = f"'{CANARY}-{{}}'".format
    wanted = "SELECT explode(array(2L, 9L)) AS id"
    own.spark.sql(f"CREATE TEMP VIEW redacting AS SELECT id, concat('{CANARY}-', id) AS ssn FROM ({wanted})")
    for name, properties in TABLES.items():
        table = own.table(name, properties)
        shown = f"SELECT id, name FROM {table} ORDER BY id"
        harmless = f"id = 77 AND ssn LIKE ANY ('{CANARY}%', 'b%')"
        own.note(f"{name}: deleted", f"DELETE FROM {table} WHERE ssn = {value(0)} OR ({harmless})", shown)
        own.note(f"{name}: updated", f"UPDATE {table} SET name = 'z' WHERE ssn IN ({value(1)}, 'b')", shown)
        merge = f"MERGE INTO {table} t USING redacting s ON t.id = s.id AND s.ssn <> {value(7)}"
        clauses = (
            f"WHEN MATCHED AND t.ssn = {value(2)} AND t.id > 1 THEN UPDATE SET name = concat(s.ssn, '!')"
            f" WHEN NOT MATCHED AND length(s.ssn) = {len(CANARY) + 2} THEN INSERT (id, ssn) VALUES (s.id, s.ssn)"
            f" WHEN NOT MATCHED BY SOURCE AND t.ssn = {value(3)} THEN DELETE"
        )
        own.note(f"{name}: merged", f"{merge} {clauses}", shown)
        session: Any = own.spark
        java = session._jvm.io.delta.tables.DeltaTable.forPath(session._jsparkSession, own.place(name))
        attempt(own, f"{name}: Java deleted", partial(java.delete, f"ssn = {value(9)}"))
        own.note(f"{name}: Java left", shown)
        own.note(f"{name}: replace", f"INSERT INTO {table} REPLACE WHERE ssn = {value(1)} SELECT 9L, 'x', true, 'x'")
        rows = own.spark.sql(f"SELECT 9L AS id, {value(1)} AS ssn, true AS sick, 'x' AS name")
        write = rows.write.format("delta").mode("overwrite").option("replaceWhere", f"ssn = {value(1)}")
        attempt(own, f"{name}: replaceWhere", partial(write.save, own.place(name)))
        own.note(f"{name}: constraint", f"ALTER TABLE {table} ADD CONSTRAINT c CHECK (ssn <> {value(1)})")
