"""A job on tables of a real Delta in a store that is no local disk.

Run as ``python -m tests.delta.stores_job DIRECTORY STORE PART…``. ``STORE`` is the JSON of a ``Store``; the parts are
functions. It prints what came of each step as JSON. The tables stay in the store; copies of them, as they were at some
steps, are left in the directory.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pme_parquet as pme
import pme_parquet.delta
from tests.delta import watched as watching
from tests.delta.delta_tables import CANARY, attempt, clear_logs, session
from tests.delta.encrypt_tables import NAMES, OPEN, Encrypting
from tests.delta.watched import COMPARE, FAIL, GO_ON, watched
from tests.support import java
from tests.support.session import write_keys
from tests.support.storage import Lake, copy_from

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROTATED = pme.Encryption(footer_key="footer", column_keys={"pii-2": ["ssn"]}, unlisted_columns="plaintext")


class InStore(Encrypting):
    """Tables in a store."""

    def __init__(self, spark: SparkSession, work: Path, done: dict[str, Any], lake: Lake) -> None:
        super().__init__(spark, work, done)
        self.lake = lake

    def place(self, name: str) -> str:
        return f"{self.lake.url}/{name}"

    def copied(self, step: str, name: str) -> None:
        """Copy all files of a table, as they are, and keep which of them are live."""
        live = self.spark.read.format("delta").load(self.place(name)).inputFiles()
        self.done[f"{step} live"] = [file.rpartition(f"/{name}/")[2] for file in live]
        copy_from(self.spark, self.place(name), self.work / "copies" / step)

    def checked(self, step: str, name: str) -> None:
        """Let the check look at a table with the settings of the session."""
        found = pme.delta.check(self.place(name), columns=["ssn"], spark=self.spark)
        self.done[step] = [f"{one.severity} {one.kind}" for one in found.findings]


def life(job: InStore) -> None:
    """Create an encrypted table, change it in every way, and read it as a new driver would."""
    table = job.table("life", ", 'delta.checkpointInterval' = '4', 'delta.enableDeletionVectors' = 'true'")
    job.note("append", f"INSERT INTO {table} SELECT id, concat('{CANARY}-', id), false, 'y' FROM range(4, 8, 1, 1)")
    job.note("update", f"UPDATE {table} SET name = 'z' WHERE id = 1")
    job.note("delete", f"DELETE FROM {table} WHERE id = 2")
    job.note("delete by value", f"DELETE FROM {table} WHERE ssn = '{CANARY}-5'")
    new = f"SELECT id, concat('{CANARY}-', id) AS ssn FROM VALUES (3L), (9L) AS v(id)"
    job.note(
        "merge",
        f"MERGE INTO {table} t USING ({new}) s ON t.id = s.id WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT (id, ssn, sick, name) VALUES (s.id, s.ssn, true, 'm')",
    )
    job.note("optimize", f"OPTIMIZE {table}")
    # What a driver knows of a table, it would not read again.
    clear_logs(job.spark)
    job.note("rows", f"SELECT id, ssn, name FROM {table}")
    job.note("old", f"SELECT id FROM {table} VERSION AS OF 1")
    job.copied("life", "life")
    job.checked("life checked", "life")


def encrypted(job: InStore) -> None:
    """Encrypt a table that was plaintext, in a run that breaks off and one that goes on, and rotate its keys."""
    table = job.written("plain")
    job.read("plain refused", "plain")
    job.copied("plain", "plain")
    with watched(job.spark, lambda step: FAIL if step == COMPARE else GO_ON):
        job.encrypt("broken", table, OPEN)
    job.copied("broken", "plain")
    job.encrypt("encrypted", table, OPEN)
    job.encrypt("again", table, OPEN)
    job.read("encrypted rows", "plain")
    job.copied("encrypted", "plain")
    job.keep("rotated", lambda: pme.delta.rotate(job.spark, table, ROTATED))
    clear_logs(job.spark)
    job.read("rotated rows", "plain")
    job.read("rotated: rows before", "plain", f"VERSION AS OF {version(job, 'encrypted')}")
    job.copied("rotated", "plain")
    kms = {"kms": "static", "kms.static.keys": f"file:{job.work / 'keys'}"}
    live = pme.key_usage(job.spark, table, kms=kms).where("part = 'live' AND array_contains(columns, 'ssn')")
    job.done["rotated keys"] = [one["master_key"] for one in live.collect()]
    found = pme.verify(job.spark, table, options=kms)
    job.done["verified"] = [found.opened.files, [str(one) for one in found.collect()]]


def version(job: InStore, step: str) -> int:
    """Return the version that a step has left; a step that failed has none."""
    found = job.done[step]
    return int(found["version"]) if isinstance(found, dict) else 0


PARTS = {part.__name__: part for part in (life, encrypted)}


def main() -> None:
    work, lake = Path(sys.argv[1]), Lake.of(sys.argv[2])
    spark = session(work, lake.settings(), lake.jars)
    write_keys(work, NAMES)
    java.compile_to(work / "classes", watching.SOURCE)
    java.add_to_class_path(spark, work / "classes")
    job = InStore(spark, work, {}, lake)
    for name in sys.argv[3:]:
        attempt(job, f"step {name}", partial(PARTS[name], job))
    spark.stop()
    sys.stdout.write(json.dumps(job.done) + "\n")


if __name__ == "__main__":
    main()
