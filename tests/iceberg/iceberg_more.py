"""A step of ``iceberg_job`` that `make test-all` runs: whether other operations leave something readable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.iceberg.iceberg_tables import COLUMNS

if TYPE_CHECKING:
    from tests.iceberg.iceberg_tables import Job


def operated(job: Job, properties: dict[str, str], vectors: dict[str, str]) -> None:
    """Operate on a table, and look at all of its files after each operation."""
    table, of = "owner.db.operated", "table => 'db.operated'"
    job.table(table, properties)
    [first] = job.spark.sql(f"SELECT snapshot_id FROM {table}.snapshots").collect()
    insert = "VALUES ({0}, 'ssn-{0}', 1D)"
    steps = {
        "branch": (f"ALTER TABLE {table} CREATE BRANCH tried", f"INSERT INTO {table}.branch_tried {insert.format(99)}"),
        "branch rows": (f"SELECT count(*) FROM {table} VERSION AS OF 'tried'",),
        "tag": (f"ALTER TABLE {table} CREATE TAG kept", f"SELECT count(*) FROM {table} VERSION AS OF 'kept'"),
        "fast forward": (f"CALL owner.system.fast_forward({of}, branch => 'main', to => 'tried')",),
        "append": (f"INSERT INTO {table} {insert.format(98)}", f"DELETE FROM {table} WHERE ssn = 'ssn-98'"),
        "rollback": (f"CALL owner.system.rollback_to_snapshot({of}, snapshot_id => {first[0]})",),
        "rolled back rows": (f"SELECT count(*) FROM {table}",),
        "rewrite_data_files": (f"CALL owner.system.rewrite_data_files({of}, options => map('rewrite-all', 'true'))",),
        "remove_orphan_files": (f"CALL owner.system.remove_orphan_files({of}, dry_run => true)",),
        "expire_snapshots": (f"CALL owner.system.expire_snapshots({of}, retain_last => 1)",),
        "operated rows": (f"SELECT count(*), count(DISTINCT ssn) FROM {table}",),
    }
    for step, statements in steps.items():
        job.note(f"operated: {step}", *statements)
        job.look(f"operated: {step}", "db.db/operated")
    streamed(job, table)
    job.look("operated: streamed", "db.db/operated")
    merged(job, properties | vectors)


def streamed(job: Job, table: str) -> None:
    """Append by a stream."""
    source = str(job.work / "source")
    job.spark.sql("SELECT 99L AS id, 'ssn-99' AS ssn, 1D AS salary").write.parquet(source)
    rows = job.spark.readStream.schema(COLUMNS).parquet(source)
    write = rows.writeStream.format("iceberg").option("checkpointLocation", str(job.work / "stream"))

    def append() -> list[str]:
        write.trigger(availableNow=True).toTable(table).awaitTermination()
        return job.sql(f"SELECT count(*) FROM {table}")

    job.attempt("operated: streamed", append)


def merged(job: Job, properties: dict[str, Any]) -> None:
    """Merge by deletion vectors, and rewrite the files that have them."""
    table = "owner.db.merged"
    job.table(table, properties)
    source = "(SELECT 1L AS id UNION SELECT 99L) s ON t.id = s.id"
    job.note(
        "merged",
        f"MERGE INTO {table} t USING {source} WHEN MATCHED THEN UPDATE SET t.salary = 0 "
        "WHEN NOT MATCHED THEN INSERT (id, ssn, salary) VALUES (s.id, 'ssn-99', 3D)",
    )
    job.look("merged", "db.db/merged")
    rewrite = (
        "CALL owner.system.rewrite_position_delete_files(table => 'db.merged', options => map('rewrite-all', 'true'))"
    )
    job.note("merged: rewritten", rewrite)
    job.look("merged: rewritten", "db.db/merged")
    job.note("merged: rows", f"SELECT count(*), count(DISTINCT ssn) FROM {table}")
