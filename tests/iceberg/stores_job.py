"""A job on tables of a real Iceberg in a store that is no local disk; the Hive metastore itself is local.

Run as ``python -m tests.iceberg.stores_job DIRECTORY STORE VERSION``. ``STORE`` is the text of a ``Lake``.
"""

from __future__ import annotations

import base64
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pme_parquet as pme
import pme_parquet.iceberg
from tests.iceberg.iceberg_job import ENCRYPTED, KEY, OURS, OWN, session
from tests.iceberg.iceberg_tables import Job, Looked
from tests.support.metastore import Outcome  # noqa: TC001 JSON is read by a result's annotations
from tests.support.processes import picked, print_result
from tests.support.storage import Lake, copy_from


@dataclass(frozen=True)
class Checked:
    """The key that `pme.iceberg.check` found, and the kinds of its findings."""

    key: str | None
    kinds: list[str]


@dataclass(frozen=True)
class Result:
    """What came of each step, and what is below the tables."""

    done: dict[str, Outcome]
    looked: dict[str, Looked]
    checked: dict[str, Checked]


@dataclass
class InStore(Job):
    """Tables in a store."""

    checked: dict[str, Checked] = field(default_factory=dict)
    lake: Lake = field(kw_only=True)

    def searched(self, step: str, table: str) -> None:
        """Keep what is readable of a table in the store, in a copy, and what the check finds there."""
        url, copy = f"{self.lake.url}/{table}", self.work / "copies" / step
        copy_from(self.spark, url, copy)
        self.look_below(step, copy)
        found = pme.iceberg.check(url, spark=self.spark)
        self.checked[step] = Checked(found.key, sorted({one.kind for one in found.findings if one.severity != "note"}))


def catalogs(work: Path, lake: Lake) -> dict[str, dict[str, str]]:
    """Return catalogs of the same metastore whose tables are in the store, and one that encrypts nothing."""
    keys = {"owner": OWN, "stranger": bytes(16)}
    for name, key in keys.items():
        (work / name).write_text(f"{KEY}={base64.b64encode(key).decode()}")
    ours = {"encryption.kms-impl": OURS, "pme-parquet.kms": "static", "warehouse": lake.url}
    own = ours | {"pme-parquet.kms.static.keys": f"file:{work / 'owner'}"}
    return {
        "lake": own,
        # It remembers nothing of what the other one wrote.
        "reader": own,
        "stranger": ours | {"pme-parquet.kms.static.keys": f"file:{work / 'stranger'}"},
        "hadoop": own | {"type": "hadoop"},
    }


def life(job: InStore) -> None:
    """Create an encrypted table, change and compact it, and read new and old rows with a client of its own."""
    table = "lake.db.people"
    job.table(table, ENCRYPTED)
    [first] = job.spark.sql(f"SELECT snapshot_id FROM {table}.snapshots").collect()
    job.sql(f"INSERT INTO {table} VALUES (99, 'ssn-99', 1D), (100, 'ssn-100', 2D)")
    job.sql(f"UPDATE {table} SET salary = 0 WHERE ssn = 'ssn-8'")
    job.sql(f"DELETE FROM {table} WHERE ssn = 'ssn-7'")
    job.sql(
        f"MERGE INTO {table} t USING (SELECT 1L AS id UNION SELECT 200L) s ON t.id = s.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, ssn, salary) VALUES (s.id, 'ssn-200', 3D)"
    )
    job.note("rows", "SELECT * FROM reader.db.people")
    compact = "rewrite_data_files(table => 'db.people', options => map('rewrite-all', 'true'))"
    job.note("files", f"CALL lake.system.{compact}", f"SELECT count(*) FROM {table}.files")
    job.note("compacted", f"SELECT * FROM {table}")
    job.note("first", f"SELECT * FROM reader.db.people VERSION AS OF {first[0]}")
    job.note("stranger", "SELECT count(*) FROM stranger.db.people")
    job.searched("people", "db.db/people")


def ignored(job: InStore) -> None:
    """Name a key where nothing encrypts."""
    job.table("hadoop.db.people", ENCRYPTED)
    job.searched("ignored", "db/people")


def main() -> None:
    work, lake, version = Path(sys.argv[1]), Lake.of(sys.argv[2]), sys.argv[3]
    job = InStore(session(work, version, catalogs(work, lake), lake.settings(), lake.jars), work, lake=lake)
    job.sql("CREATE DATABASE lake.db")
    life(job)
    ignored(job)
    job.spark.stop()
    print_result(picked(Result, job))


if __name__ == "__main__":
    main()
