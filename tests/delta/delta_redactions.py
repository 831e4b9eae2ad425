"""A part of ``delta_job``: conditions whose text does not get into the log."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.delta.delta_tables import CANARY, Job
from tests.support import needs

PREDICATES = "spark.datasource.pme-parquet.deltaPredicates"
TABLES = {"redacted_marked": ", 'delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true'"}
if needs.ALL:
    TABLES["redacted"] = ", 'delta.enableDeletionVectors' = 'false'"


def redactions(job: Job) -> None:
    """Change rows by values of protected columns."""
    own = job.own()
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
        own.attempt(f"{name}: Java deleted", partial(java.delete, f"ssn = {value(9)}"))
        own.note(f"{name}: Java left", shown)
        own.note(
            f"{name}: replace", f"INSERT INTO {table} REPLACE WHERE ssn = {value(1)} SELECT 8L, {value(1)}, true, 'x'"
        )
        rows = own.spark.sql(f"SELECT 9L AS id, {value(1)} AS ssn, true AS sick, 'x' AS name")
        write = rows.write.format("delta").mode("overwrite").option("replaceWhere", f"ssn = {value(1)}")
        own.attempt(f"{name}: replaceWhere", partial(write.save, own.place(name)))
        own.note(f"{name}: constraint", f"ALTER TABLE {table} ADD CONSTRAINT c CHECK (ssn <> {value(1)})")
