"""A job on tables of a real Delta in a store that is no local disk.

Run as ``python -m tests.delta.stores_job DIRECTORY STORE PART…``. ``STORE`` is the JSON of a ``Store``; the parts are
functions. The tables stay in the store; copies of them, as they were at some steps, are left in the directory.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import pme_parquet as pme
import pme_parquet.delta
from tests.delta import watched as watching
from tests.delta.delta_tables import CANARY, clear_logs, session
from tests.delta.encrypt_tables import NAMES, OPEN, Encrypting, EncryptResult
from tests.delta.watched import COMPARE, FAIL, GO_ON, watched
from tests.support import java
from tests.support.processes import picked, print_result
from tests.support.session import write_keys
from tests.support.storage import Lake, copy_from

ROTATED = pme.Encryption(footer_key="footer", column_keys={"pii-2": ["ssn"]}, unlisted_columns="plaintext")


@dataclass
class InStore(Encrypting):
    """Tables in a store."""

    lake: Lake = field(kw_only=True)

    def place(self, name: str) -> str:
        return f"{self.lake.url}/{name}"

    def copied(self, step: str, name: str) -> None:
        """Copy all files of a table, as they are, and keep which of them are live."""
        self.keep_live(step, name)
        copy_from(self.spark, self.place(name), self.work / "copies" / step)


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
    job.check("life", "life", ["ssn"])


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
    job.read("rotated: rows before", "plain", f"VERSION AS OF {job.result('encrypted').version}")
    job.copied("rotated", "plain")
    live = pme.key_usage(job.spark, table, kms=job.kms).where("part = 'live' AND array_contains(columns, 'ssn')")
    job.attempt("rotated keys", lambda: [one["master_key"] for one in live.collect()])
    found = pme.verify(job.spark, table, options=job.kms)
    job.attempt("verified", lambda: [f"{found.opened.files} files", *map(str, found.collect())])


PARTS = {part.__name__: part for part in (life, encrypted)}


def main() -> None:
    work, lake = Path(sys.argv[1]), Lake.of(sys.argv[2])
    spark = session(work, lake.settings(), lake.jars)
    write_keys(work, NAMES)
    java.compile_to(work / "classes", watching.SOURCE)
    java.add_to_class_path(spark, work / "classes")
    job = InStore(spark, work, lake=lake)
    for name in sys.argv[3:]:
        PARTS[name](job)
    spark.stop()
    print_result(picked(EncryptResult, job))


if __name__ == "__main__":
    main()
