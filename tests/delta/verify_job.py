"""A job that makes Delta tables with keys, and looks at them with `pme.verify`, `pme.key_usage` and others.

Run as ``python -m tests.delta.verify_job DIRECTORY``.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pyarrow as pa
import pyarrow.parquet as pq

import pme_parquet as pme
from pme_parquet._operations.verify import DeltaFiles  # noqa: TC001 JSON is read by a result's annotations
from tests.delta.delta_tables import CANARY, COMPILING, SILENT, session
from tests.support.metastore import Outcome, Statements
from tests.support.processes import picked, print_result

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = "'parquet.encryption.footer.key' = 'footer', 'parquet.encryption.column.keys' = 'pii: ssn'"
CHANGES = "'delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true'"
INTERVAL = "'delta.checkpointInterval' = '3'"
# Names that Spark writes with escapes, and Delta's log with escapes of these.
DAYS = ("d 0", "e:%1")
LAST = 7


@dataclass(frozen=True)
class Finding:
    """A row of `pme.verify`."""

    condition: str
    message: str


@dataclass(frozen=True)
class Verified:
    """What `pme.verify` returned.

    Attributes:
        text: the line about what it opened.
    """

    findings: list[Finding]
    files: int
    tables: list[DeltaFiles]
    text: str


@dataclass(frozen=True)
class Usage:
    """A row of `pme.key_usage`."""

    part: str
    master_key: str | None
    files: int
    columns: list[str]
    problems: list[str]


@dataclass(frozen=True)
class Inspected:
    """What `pme.inspect` says of which files are live."""

    version: int | None
    live: int | None
    live_by: str


@dataclass(frozen=True)
class Result:
    """What came of each step.

    Attributes:
        live: how many files are live, by Delta's own answer.
        cleaned: of a table whose first commits are gone.
    """

    done: dict[str, Outcome]
    verified: dict[str, Verified]
    used: dict[str, list[Usage]]
    diagnosed: dict[str, pme.Diagnosis]
    live: int
    cleaned: Inspected


class Checks(Statements):
    """Tables of a session, and what came of each step."""

    def __init__(self, spark: SparkSession, work: Path) -> None:
        super().__init__(spark, work)
        self.kms = pme.Static(keys=pme.file(str(work / "keys")))
        self.verified: dict[str, Verified] = {}
        self.used: dict[str, list[Usage]] = {}
        self.diagnosed: dict[str, pme.Diagnosis] = {}

    def place(self, name: str) -> Path:
        return self.work / "tables" / name

    def make(self, name: str) -> None:
        """Make a table with files that are live and not live, change data, deletion vectors and two checkpoints."""
        table = f"delta.`{self.place(name)}`"
        self.spark.sql(
            f"CREATE TABLE {table} (id LONG, ssn STRING, day STRING) USING delta PARTITIONED BY (day) TBLPROPERTIES "
            f"({KEYS}, {SILENT}, {CHANGES}, {INTERVAL})"
        )
        day = f"if(id % 2 = 0, '{DAYS[0]}', '{DAYS[1]}')"
        for start in (0, 10):
            rows = f"SELECT id, concat('{CANARY}-', id), {day} FROM range({start}, {start + 4}, 1, 1)"
            self.spark.sql(f"INSERT INTO {table} {rows}")
        self.spark.sql(f"OPTIMIZE {table}")
        self.spark.sql(f"DELETE FROM {table} WHERE id = 2")
        self.spark.sql(f"UPDATE {table} SET ssn = concat(ssn, '-new') WHERE id = 11")
        for id_ in (20, 21):
            self.spark.sql(f"INSERT INTO {table} VALUES ({id_}, '{CANARY}-{id_}', '{DAYS[0]}')")

    def copy(self, name: str) -> Path:
        """Return a copy of the table, without Hadoop's checksums, so that its files can be altered."""
        made = shutil.copytree(self.place("people"), self.place(name))
        for sums in made.rglob(".*.crc"):
            sums.unlink()
        return made

    def live(self, table: Path) -> list[Path]:
        """Return the live files, by Delta's own answer."""
        files = self.spark.read.format("delta").load(str(table)).selectExpr("_metadata.file_path").distinct().collect()
        return sorted(Path(url2pathname(urlsplit(row[0]).path)) for row in files)

    def verify(self, step: str, path: object, **more: Any) -> None:
        def run() -> None:
            found = pme.verify(self.spark, str(path), kms=self.kms, **more)
            findings = [Finding(row.condition, row.message) for row in found.collect()]
            tables = [replace(table, table=Path(table.table).name) for table in found.opened.tables]
            self.verified[step] = Verified(findings, found.opened.files, tables, str(found.opened))

        self.attempt(step, run)

    def usage(self, step: str, path: object) -> None:
        def run() -> None:
            rows = pme.key_usage(self.spark, str(path), kms=self.kms).collect()
            self.used[step] = [picked(Usage, row) for row in rows]

        self.attempt(step, run)

    def doctor(self, step: str, **settings: str) -> None:
        own = self.spark.newSession()
        for name, value in settings.items():
            own.conf.set(name, value)
        self.diagnosed[step] = pme.doctor(own)


def bend(file: Path) -> None:
    """Change a byte in the middle."""
    content = bytearray(file.read_bytes())
    content[60] ^= 1
    file.write_bytes(content)


def checkpoint(table: Path, version: int) -> Path:
    [file] = (table / "_delta_log").glob(f"{version:020}.checkpoint*.parquet")
    return file


def look(job: Checks) -> None:
    """Look at a table as it is."""
    place = job.place("people")
    job.verify("whole", place)
    job.verify("all files", place, all_files=True)
    job.verify("bound", place, options={"columnKeys": "pii: ssn", "footerKey": "footer"})
    job.verify("other key", place, options={"columnKeys": "footer: ssn", "footerKey": "footer"})
    job.usage("usage", place)
    for name in [path.name for path in place.iterdir() if path.name.startswith("day=")]:
        job.verify(f"partition {name}", place / name)
    job.verify("file", job.live(place)[0])
    job.verify("above", job.work / "tables")
    job.spark.sql(f"CREATE TABLE delta.`{job.place('clone')}` SHALLOW CLONE delta.`{place}`")
    job.verify("clone", job.place("clone"))
    query = "SELECT * FROM pme_verify('{}', options => map('kms', 'static', 'kms.static.keys', 'file:{}'))"
    job.note("sql", query.format(place, job.work / "keys"))


def alter(job: Checks) -> None:
    """Alter copies of the table."""
    missing = job.copy("missing")
    job.live(missing)[0].unlink()
    job.verify("missing", missing)
    job.usage("missing usage", missing)
    plain = job.copy("plain")
    rows = pa.table({"id": [1], "ssn": [f"{CANARY}-1"]})
    pq.write_table(rows, job.live(plain)[0])
    job.verify("plain", plain)
    job.verify("plain allowed", plain, options={"plaintextFiles": "allow"})
    bent = job.copy("bent")
    bend(job.live(bent)[0])
    job.verify("bent", bent)
    old = job.copy("old checkpoint")
    bend(checkpoint(old, 3))
    job.verify("old checkpoint", old)
    new = job.copy("new checkpoint")
    bend(checkpoint(new, 6))
    job.verify("new checkpoint", new)
    job.usage("new checkpoint usage", new)
    cleaned = job.copy("cleaned")
    for version in range(6):
        (cleaned / "_delta_log" / f"{version:020}.json").unlink()
    job.verify("cleaned", cleaned)
    job.verify("like a version", job.copy("people@v1"))
    empty = job.copy("without commits")
    for file in (empty / "_delta_log").glob("*.*"):
        file.unlink()
    job.verify("without commits", empty)


def diagnose(job: Checks) -> None:
    """Diagnose sessions with other settings."""
    factory, footer = "parquet.crypto.factory.class", "pme-parquet.footerKey"
    job.doctor("doctor")
    job.doctor("doctor without factory", **{factory: ""})
    job.doctor("doctor other factory", **{factory: "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"})
    job.doctor("doctor other key", **{footer: "nobody"})
    job.doctor("doctor without KMS", **{"pme-parquet.kms.static.keys": "file:/nowhere"})
    job.doctor("doctor allows", **{"spark.datasource.pme-parquet.deltaPredicates": "allow"})
    job.spark.sparkContext._jsc.hadoopConfiguration().unset(footer)
    job.doctor("doctor without footer key")


def main() -> None:
    work = Path(sys.argv[1])
    job = Checks(session(work, COMPILING), work)
    job.make("people")
    look(job)
    alter(job)
    live = len(job.live(job.place("people")))
    [cleaned] = pme.inspect(job.place("cleaned"), spark=job.spark).tables
    diagnose(job)
    job.spark.stop()
    print_result(picked(Result, job, live=live, cleaned=picked(Inspected, cleaned)))


if __name__ == "__main__":
    main()
