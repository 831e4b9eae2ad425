"""A job that encrypts tables of a real Delta, which a session without our factory has written in plaintext.

Run as ``python -m tests.delta.encrypt_job DIRECTORY PART…``. The parts are functions. It prints what came of each
step as JSON, and leaves the tables in the directory.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import write_deltalake

import pme_parquet as pme
import pme_parquet.delta
from pme_parquet._delta_tables.logged import LoggedTable
from tests.delta import encrypt_killed_job
from tests.delta.delta_tables import CANARY, FACTORY, Job, attempt, session
from tests.support import java
from tests.support.canary import files_under, find_canaries
from tests.support.metastore import said
from tests.support.processes import PATIENCE_TO_HALT, environment
from tests.support.session import ROOT
from tests.support.storage import file_systems
from tests.support.storage.file_systems import NEVER, STOPPING, changes_left, stopping

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

NAMES = ("footer", "pii", "pay", "pii-2")
OPEN = pme.Encryption(footer_key="footer", column_keys={"pii": ["ssn"]}, unlisted_columns="plaintext")
NESTED = pme.Encryption(
    footer_key="footer",
    column_keys={"pii": ["ssn", "home.street"], "pay": ["jobs", "notes"]},
    unlisted_columns="plaintext",
)
COLUMNS = (
    "id LONG, ssn STRING, day STRING, home STRUCT<street: STRING, zip: INT>, jobs ARRAY<STRUCT<pay: STRING>>, "
    "notes MAP<STRING, STRING>"
)
DAYS = 30 * 24 * 3600
STRIDE = 5
FACTORY_NAME = "parquet.crypto.factory.class"


def row(count: str) -> str:
    """Return a query for rows whose every column that is to be encrypted has the canary."""
    text = f"concat('{CANARY}-', id)"
    return (
        f"SELECT id, {text} AS ssn, concat('day-', id % 2) AS day, named_struct('street', {text}, 'zip', 8) AS home, "
        f"array(named_struct('pay', {text})) AS jobs, map('k', {text}) AS notes FROM range({count})"
    )


class Encrypting(Job):
    """Tables in plaintext, and their encryption."""

    def __init__(self, spark: SparkSession, work: Path, done: dict[str, Any]) -> None:
        super().__init__(spark, work, done)
        # A search of bytes does not see into compressed pages.
        spark.conf.set("spark.sql.parquet.compression.codec", "uncompressed")

    def openly(self, text: str) -> None:
        """Run a statement without a factory. An empty name is not none: parquet-java looks for that class."""
        context: Any = self.spark.sparkContext
        conf = context._jsc.hadoopConfiguration()
        conf.unset(FACTORY_NAME)
        try:
            own = self.spark.newSession()
            own.conf.set("spark.sql.parquet.compression.codec", "uncompressed")
            own.sql(text).collect()
        finally:
            conf.set(FACTORY_NAME, FACTORY)

    def place(self, name: str) -> str:
        return str(self.work / "tables" / name)

    def written(self, name: str, more: str = "", columns: str = COLUMNS) -> str:
        """Write a table in plaintext, in two commits, and return its directory."""
        made = f"delta.`{self.place(name)}`"
        self.openly(f"CREATE TABLE {made} ({columns}) USING delta {more}")
        if columns == COLUMNS:
            self.append(name, "0, 6, 1, 2")
            self.append(name, "6, 8, 1, 1")
        return self.place(name)

    def generated(self, name: str) -> str:
        """Make a table with a generated column, which SQL cannot make at a path, and return its directory."""
        session: Any = self.spark
        jvm, java_session = session._jvm, session._jsparkSession
        delta = jvm.io.delta.tables.DeltaTable
        area = delta.columnBuilder(java_session, "area").dataType("STRING").generatedAlwaysAs("substring(ssn, 1, 3)")
        made = delta.create(java_session).location(self.place(name)).addColumn("id", "LONG")
        made.addColumn("ssn", "STRING").addColumn(area.build()).execute()
        return self.place(name)

    def outsider(self, name: str) -> None:
        """Append a row in plaintext by another implementation, which knows neither our rules nor our factory."""
        text = f"{CANARY}-100"
        fields = {
            "id": pa.int64(),
            "ssn": pa.string(),
            "day": pa.string(),
            "home": pa.struct({"street": pa.string(), "zip": pa.int32()}),
            "jobs": pa.list_(pa.struct({"pay": pa.string()})),
            "notes": pa.map_(pa.string(), pa.string()),
        }
        one = {"id": 100, "ssn": text, "day": "day-0", "home": {"street": text, "zip": 8}}
        one |= {"jobs": [{"pay": text}], "notes": [("k", text)]}
        write_deltalake(self.place(name), pa.Table.from_pylist([one], pa.schema(fields)), mode="append")

    def append(self, name: str, count: str) -> None:
        self.openly(f"INSERT INTO delta.`{self.place(name)}` {row(count)}")

    def encrypt(self, step: str, table: str, enc: pme.Encryption, spark: SparkSession | None = None) -> None:
        """Encrypt a table, and keep the result."""
        self.keep(step, lambda: pme.delta.encrypt_table(spark or self.spark, table, enc))

    def keep(self, step: str, what: Callable[[], pme.delta.EncryptedTable]) -> None:
        try:
            found = what()
            self.done[step] = found.to_dict() | {"text": str(found)}
        except Exception as error:  # noqa: BLE001 - any outcome is compared
            self.done[step] = said(error)

    def read(self, step: str, name: str, more: str = "") -> None:
        """Read a table as the session does, which refuses plaintext files."""
        self.note(step, f"SELECT count(*), count(DISTINCT ssn), sum(id) FROM delta.`{self.place(name)}` {more}")


def simple(job: Encrypting) -> None:
    """Encrypt a table twice, and write to it."""
    table = job.written("simple")
    job.read("simple refused", "simple")
    job.encrypt("simple", table, OPEN)
    job.encrypt("simple again", table, OPEN)
    job.read("simple rows", "simple")
    job.sql(f"INSERT INTO delta.`{table}` {row('8, 10, 1, 1')}")
    job.encrypt("simple appended", table, OPEN)


def mapped(job: Encrypting) -> None:
    """Encrypt nested columns under column mapping, where files have other names."""
    for mode in ("name", "id"):
        table = job.written(mode, f"TBLPROPERTIES ('delta.columnMapping.mode' = '{mode}')")
        job.openly(f"ALTER TABLE delta.`{table}` RENAME COLUMN ssn TO number")
        job.openly(f"ALTER TABLE delta.`{table}` RENAME COLUMN number TO ssn")
        job.encrypt(mode, table, NESTED)
        job.encrypt(f"{mode} again", table, NESTED)
        job.read(f"{mode} rows", mode)


def whole(job: Encrypting) -> None:
    """Encrypt every column of a table with partitions, deletion vectors and change data."""
    more = "'delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true'"
    table = job.written("whole", f"PARTITIONED BY (day) TBLPROPERTIES ({more})")
    job.openly(f"DELETE FROM delta.`{table}` WHERE id = 4")
    every = {"footer": ["id", "ssn", "home", "jobs", "notes"]}
    enc = pme.Encryption(footer_key="footer", column_keys=every)
    job.encrypt("whole: no columns", table, pme.Encryption(uniform_key="footer"))
    job.encrypt("whole", table, enc)
    job.read("whole rows", "whole")
    version = job.done["whole"]["version"] if isinstance(job.done["whole"], dict) else 0
    job.note("whole changes", f"SELECT count(*) FROM table_changes_by_path('{table}', {version})")
    job.encrypt("whole again", table, enc)


def cleaned(job: Encrypting) -> None:
    """Follow the advice of the result, a month later."""
    own = "'delta.enableChangeDataFeed' = 'true', 'delta.checkpointInterval' = '7'"
    table = job.written("cleaned", f"TBLPROPERTIES ({own})")
    job.openly(f"DELETE FROM delta.`{table}` WHERE ssn = '{CANARY}-3'")
    job.openly(f"UPDATE delta.`{table}` SET day = 'other' WHERE ssn = '{CANARY}-4'")
    job.encrypt("cleaned", table, encrypt_killed_job.ENC)
    job.done["cleaned before"] = [str(one) for one in find_canaries(table, [CANARY])]
    follow(job, "cleaned", table)
    job.done["cleaned after"] = [str(one) for one in find_canaries(table, [CANARY])]
    job.read("cleaned rows", "cleaned")
    job.note("cleaned properties", f"SHOW TBLPROPERTIES delta.`{table}`")


def follow(job: Encrypting, step: str, table: str) -> None:
    """Follow the advice of a step's result, a month later."""
    found = job.done[step]
    month_ago = time.time() - DAYS
    for file in files_under(table):
        os.utime(file, (month_ago, month_ago))
    for number, statement in enumerate(found["statements"] if isinstance(found, dict) else ()):
        if not statement.startswith("--"):
            job.note(f"{step}: {number} {statement.split()[0]}", statement)


def refused(job: Encrypting) -> None:
    """Ask for what would not be encrypted."""
    table = job.written("refused")
    other = pme.Encryption(footer_key="footer", column_keys={"pii": ["ssn"]}, aad_prefix="people")
    job.encrypt("refused: prefix", table, other)
    job.encrypt("refused: footer", table, pme.Encryption(footer_key="pay"))
    job.encrypt("refused: no such key", table, pme.Encryption(footer_key="footer", column_keys={"nobody": ["ssn"]}))
    job.encrypt("refused: no such column", table, pme.Encryption(footer_key="footer", column_keys={"pii": ["snn"]}))
    job.encrypt("refused: kms", table, pme.Encryption(kms="vault", footer_key="footer"))
    without = job.spark.newSession()
    without.conf.set(FACTORY_NAME, "")
    job.encrypt("refused: no factory", table, OPEN, without)
    job.encrypt("refused: no table", job.place("nothing"), OPEN)
    job.encrypt("refused: no name", "nothing", OPEN)
    job.keep("refused: no keys", lambda: pme.delta.rotate(job.spark, table, OPEN))
    job.done["refused versions"] = job.spark.sql(f"DESCRIBE HISTORY delta.`{table}`").count()
    columns = "id LONG, ssn STRING"
    shows = {
        "partition": (columns, "PARTITIONED BY (ssn)"),
        "cluster": (columns, "CLUSTER BY (ssn)"),
        "default": (f"id LONG, ssn STRING DEFAULT '{CANARY}'", "'delta.feature.allowColumnDefaults' = 'supported'"),
        "constraint": (columns, f"'delta.constraints.c' = 'ssn <> \\'{CANARY}\\''"),
        "planted": (columns, "'pme-parquet.kms.vault.url' = 'http://127.0.0.1:1'"),
        "order": ("ssn MAP<STRING, STRING>", ""),
    }
    for name, (listed, more) in shows.items():
        made = f"TBLPROPERTIES ({more})" if more.startswith("'") else more
        job.encrypt(f"refused: {name}", job.written(f"refused-{name}", made, listed), OPEN)
    keys = "'parquet.encryption.footer.key' = 'footer', 'parquet.encryption.column.keys' = 'pay: ssn'"
    silent = "'delta.dataSkippingNumIndexedCols' = '0'"
    keyed = job.place("refused-keys")
    job.sql(f"CREATE TABLE delta.`{keyed}` ({columns}) USING delta TBLPROPERTIES ({keys}, {silent})")
    job.encrypt("refused: keys", keyed, OPEN)
    job.encrypt("refused: generated", job.generated("refused-generated"), OPEN)


def clustered(job: Encrypting) -> None:
    """Encrypt a table with liquid clustering."""
    table = job.written("clustered", "CLUSTER BY (id)")
    job.encrypt("clustered", table, OPEN)
    job.read("clustered rows", "clustered")


def concurrent(job: Encrypting) -> None:
    """Let another session append plaintext after each rewrite."""
    original = LoggedTable.rewrite
    for name, times in {"once": 1, "always": 100}.items():
        # The other implementation cannot read an encrypted checkpoint.
        table = job.written(name, "TBLPROPERTIES ('delta.checkpointInterval' = '100')")
        left = iter(range(times))

        def rewrite(
            of: LoggedTable, order: str | None, text: str, left: Any = left, name: str = name
        ) -> tuple[int, int]:
            done = original(of, order, text)
            if next(left, None) is not None:
                job.outsider(name)
            return done

        LoggedTable.rewrite = rewrite  # type: ignore[assignment,method-assign]
        try:
            job.encrypt(name, table, OPEN)
        finally:
            LoggedTable.rewrite = original  # type: ignore[method-assign]
    job.read("once rows", "once")
    job.encrypt("always again", job.place("always"), OPEN)
    job.read("always rows", "always")


def restored(job: Encrypting) -> None:
    """Go back to plaintext."""
    table = job.written("restored")
    job.encrypt("restored", table, OPEN)
    job.note("restored: refused", f"RESTORE TABLE delta.`{table}` TO VERSION AS OF 1")


def rotated(job: Encrypting) -> None:
    """Change a master key, and take the same keys anew."""
    table = job.written("rotated")
    job.encrypt("rotated: encrypted", table, OPEN)
    before = job.done["rotated: encrypted"]["version"]
    new = pme.Encryption(footer_key="footer", column_keys={"pii-2": ["ssn"]}, unlisted_columns="plaintext")
    job.encrypt("rotated: refused", table, new)
    job.keep("rotated", lambda: pme.delta.rotate(job.spark, table, new))
    job.keep("rotated: again", lambda: pme.delta.rotate(job.spark, table, new))
    job.read("rotated rows", "rotated")
    job.read("rotated: rows before", "rotated", f"VERSION AS OF {before}")
    live = job.spark.read.format("delta").load(table).inputFiles()
    job.done["rotated: live"] = [file.rpartition("/")[2] for file in live]
    kms = {"kms": "static", "kms.static.keys": f"file:{job.work / 'keys'}"}
    usage = pme.key_usage(job.spark, live[0], kms=kms).select("master_key", "kind", "columns").collect()
    job.done["rotated: keys"] = sorted(repr(tuple(one)) for one in usage if one[0])
    for name, change in {
        "rotate": lambda: pme.rotate(job.spark, table, kms=kms, master_keys={"pii-2": "pii"}),
        "in place": lambda: pme.encrypt(job.spark, table, enc=replace(OPEN, kms=kms), in_place=True),
    }.items():
        attempt(job, f"rotated: bare {name}", change)


def stopped(job: Encrypting) -> None:
    """Let the disk stop after any number of changes, and run again."""
    table = Path(job.written("stopped"))
    counted = shutil.copytree(table, job.work / "tables" / "counted")
    for name, value in STOPPING.items():
        job.spark.conf.set(name, value)
    with stopping(job.spark, NEVER):
        pme.delta.encrypt_table(job.spark, counted, OPEN)
        changes = NEVER - changes_left(job.spark)
    job.done["stopped changes"] = changes
    for after in range(0, changes, STRIDE):
        copy = shutil.copytree(table, job.work / "tables" / f"stopped-{after}")
        failed = False
        with stopping(job.spark, after):
            try:
                pme.delta.encrypt_table(job.spark, copy, OPEN)
            except Exception:  # noqa: BLE001 - how it fails is Delta's
                failed = True
        clear_logs(job)
        with stopping(job.spark, NEVER):
            job.encrypt(f"stopped {after}", str(copy), OPEN)
            job.done[f"stopped {after} failed"] = failed
            job.read(f"stopped {after} rows", copy.name)


def killed(job: Encrypting) -> None:
    """Kill the process at points of a run, and run again."""
    table = Path(job.written("killed"))
    for point in encrypt_killed_job.POINTS:
        name = f"killed {point}"
        copy = shutil.copytree(table, job.work / "tables" / name)
        scratch = job.work / "scratch" / point
        scratch.mkdir(parents=True)
        arguments = [str(scratch), str(copy), point, str(job.work / "classes")]
        ended = subprocess.run(
            [sys.executable, "-m", encrypt_killed_job.__name__, *arguments],
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE_TO_HALT,
            check=False,
        )
        job.done[f"{name}: ended"] = ended.returncode
        job.done[f"{name}: said"] = ended.stderr[-2000:]
        job.done[f"{name}: version"] = job.spark.sql(f"DESCRIBE HISTORY delta.`{copy}`").count() - 1
        # Hadoop keeps a checksum beside each file of a local disk.
        marks = [file for file in files_under(copy / "_pme_encrypting") if not file.name.startswith(".")]
        job.done[f"{name}: marks"] = len(marks)
        job.encrypt(name, str(copy), encrypt_killed_job.ENC)
        job.encrypt(f"{name} again", str(copy), encrypt_killed_job.ENC)
        job.done[f"{name}: left"] = sorted(one.name for one in copy.iterdir() if one.name.startswith("_pme"))
        follow(job, name, str(copy))
        job.done[f"{name} after"] = [str(one) for one in find_canaries(copy, [CANARY])]
        job.read(f"{name} rows", name)


USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def told(job: Encrypting) -> None:
    """Let a step go wrong, and follow what the error says; commits have the user's own text."""
    table = job.written("told")
    original = LoggedTable.content
    LoggedTable.content = lambda of, version: (version, "")  # type: ignore[assignment,method-assign] # noqa: ARG005
    try:
        job.encrypt("told: rows", table, OPEN)
    finally:
        LoggedTable.content = original  # type: ignore[method-assign]
    [_, text] = job.done["told: rows"]
    name = f"delta.`file:{table}`"
    again = f"INSERT OVERWRITE {name} SELECT * FROM {name} VERSION AS OF 3"
    job.done["told: advised"] = again in text
    job.spark.conf.set("pme-parquet.plaintextFiles", "allow")
    job.note("told: advice", again)
    job.spark.conf.unset("pme-parquet.plaintextFiles")
    job.read("told rows", "told")
    job.spark.conf.set(USER_METADATA, "ticket 7")
    job.keep("told: rotated", lambda: pme.delta.rotate(job.spark, table, OPEN))
    job.done["told: user metadata"] = [
        [row["userMetadata"] for row in job.spark.sql(f"DESCRIBE HISTORY delta.`{table}` LIMIT 1").collect()],
        job.spark.conf.get(USER_METADATA),
    ]
    job.spark.conf.unset(USER_METADATA)
    job.sql(f"DELETE FROM delta.`{table}`")
    job.keep("told: empty", lambda: pme.delta.rotate(job.spark, table, OPEN))


def conflicts(job: Encrypting) -> None:
    """Let another session come first each time."""
    table = job.written("conflicts")
    job.encrypt("conflicts", table, OPEN)
    original = LoggedTable.rewrite

    class ConcurrentTestError(Exception):
        """By its name, a conflict."""

    def first(*_: object) -> Any:
        raise ConcurrentTestError

    LoggedTable.rewrite = first  # type: ignore[assignment,method-assign]
    try:
        job.keep("conflicts: rotated", lambda: pme.delta.rotate(job.spark, table, OPEN))
    finally:
        LoggedTable.rewrite = original  # type: ignore[method-assign]
    job.done["conflicts: marks"] = (Path(table) / "_pme_encrypting").exists()


def footers(job: Encrypting) -> None:
    """Encrypt files that a session with another footer key wrote, and a table with row tracking."""
    table = job.written("footers")
    job.encrypt("footers", table, OPEN)
    other = job.spark.newSession()
    other.conf.set("pme-parquet.footerKey", "pay")
    other.sql(f"INSERT INTO delta.`{table}` {row('8, 10, 1, 1')}")
    job.encrypt("footers: other", table, OPEN)
    job.encrypt("footers: again", table, OPEN)
    kms = {"kms": "static", "kms.static.keys": f"file:{job.work / 'keys'}"}
    live = job.spark.read.format("delta").load(table).inputFiles()
    usage = [row for file in live for row in pme.key_usage(job.spark, file, kms=kms).collect()]
    job.done["footers: keys"] = sorted({one["master_key"] for one in usage if one["kind"] == "footer"})
    tracked = job.written("tracked", "TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    job.encrypt("tracked", tracked, OPEN)
    job.encrypt("tracked again", tracked, OPEN)


def clear_logs(job: Encrypting) -> None:
    session: Any = job.spark
    session._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


PARTS = {
    part.__name__: part
    for part in (
        simple,
        mapped,
        whole,
        cleaned,
        refused,
        clustered,
        concurrent,
        restored,
        rotated,
        told,
        conflicts,
        footers,
        killed,
        stopped,
    )
}


def main() -> None:
    work = Path(sys.argv[1])
    spark = session(work)
    lines = [f"{name}={base64.b64encode(name.ljust(16).encode()).decode()}" for name in NAMES]
    (work / "keys").write_text("\n".join(lines))
    if {"stopped", "killed"} & set(sys.argv):
        classes = work / "classes"
        java.compile_to(classes, *sorted(Path(file_systems.__file__).parent.glob("*.java")))
        java.add_to_class_path(spark, classes)
    job = Encrypting(spark, work, {})
    for name in sys.argv[2:]:
        started = time.monotonic()
        attempt(job, f"step {name}", partial(PARTS[name], job))
        sys.stderr.write(f"{name}: {time.monotonic() - started:.0f} s\n")
    spark.stop()
    sys.stdout.write(json.dumps(job.done) + "\n")


if __name__ == "__main__":
    main()
