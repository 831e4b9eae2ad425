"""A job that writes encrypted tables of a real Delta, which other implementations then read.

Run as ``python -m tests.delta.exchange_job DIRECTORY``. It leaves the tables in the directory.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from tests.delta.delta_tables import CANARY, Job, clear_logs, session
from tests.support.metastore import Outcome  # noqa: TC001 JSON is read by a result's annotations
from tests.support.processes import print_result

# The name of the last column of each.
TABLES = {**dict.fromkeys(("people", "vectors", "seen", "gone"), "name"), "mapped": "called"}
COPIES = ("gone", "seen", "appended", "pointed", "changed")
# The other implementation cannot read an encrypted checkpoint.
LATE = ", 'delta.checkpointInterval' = '100'"


@dataclass(frozen=True)
class Person:
    """A row, with the names of columns that files have."""

    id: int
    ssn: str
    sick: bool
    name: str


@dataclass(frozen=True)
class Result:
    """What came of reads of what the other implementation wrote, and the rows of Spark's tables."""

    done: dict[str, Outcome]
    rows: dict[str, list[Person]]


def people(job: Job) -> None:
    """Write a table whose log has no checkpoint: several files, one of them no longer live."""
    table = job.table("people", LATE)
    job.sql(f"INSERT INTO {table} SELECT id, concat('{CANARY}-', id), false, 'y' FROM range(4, 20, 1, 2)")
    job.sql(f"DELETE FROM {table} WHERE id = 3")
    for name in COPIES:
        shutil.copytree(job.work / "tables" / "people", job.work / "tables" / name)


def mapped(job: Job) -> None:
    """Write a table with column mapping, where files have other names, and one with deletion vectors."""
    table = job.table("mapped", LATE)
    job.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    job.sql(f"ALTER TABLE {table} RENAME COLUMN name TO called")
    table = job.table("vectors", f"{LATE}, 'delta.enableDeletionVectors' = 'true'")
    job.sql(f"DELETE FROM {table} WHERE id = 3")


def checkpoints(job: Job) -> None:
    """Write an encrypted checkpoint, and delete the commits before it in one of two tables."""
    for name in ("seen", "gone"):
        place = job.work / "tables" / name
        log = job.spark._jvm.org.apache.spark.sql.delta.DeltaLog  # type: ignore[union-attr]
        log.forTable(job.spark._jsparkSession, str(place)).checkpoint()
    for commit in (job.work / "tables" / "gone" / "_delta_log").glob("*0[01].json"):
        commit.unlink()
        commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)
    clear_logs(job.spark)


def written(job: Job) -> None:
    """Let the other implementation append to an encrypted table, and write a checkpoint of another one."""
    rows = {"id": [100], "ssn": [f"{CANARY}-100"], "sick": [True], "name": ["z"]}
    write_deltalake(str(job.work / "tables" / "appended"), pa.table(rows), mode="append")
    DeltaTable(str(job.work / "tables" / "pointed")).create_checkpoint()
    clear_logs(job.spark)
    for name in ("appended", "pointed"):
        job.note(f"{name} read", f"SELECT max(ssn) FROM delta.`{job.work / 'tables' / name}`")


def main() -> None:
    work = Path(sys.argv[1])
    job = Job(session(work), work)
    for step in (people, mapped, checkpoints, written):
        step(job)
    found = {}
    for name, last in TABLES.items():
        rows = job.spark.sql(f"SELECT id, ssn, sick, {last} FROM delta.`{job.place(name)}` ORDER BY id").collect()
        found[name] = [Person(*row) for row in rows]
    job.spark.stop()
    print_result(Result(job.done, found))


if __name__ == "__main__":
    main()
