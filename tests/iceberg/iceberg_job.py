"""A job on tables of a real Iceberg in a real Hive metastore, with our KMS client.

Run as ``python -m tests.iceberg.iceberg_job DIRECTORY VERSION``, with a version of Iceberg in ``target/jars/iceberg``.
It leaves the tables in the directory.
"""

from __future__ import annotations

import base64
import hashlib
import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import pme_parquet as pme
from tests.iceberg import iceberg_more
from tests.iceberg.iceberg_tables import Job, Looked
from tests.support import metastore, needs
from tests.support.kms.counting import KMS, Log, jar
from tests.support.processes import print_result
from tests.support.session import (
    EXTENSION,
    INTERPRETED,
    ROOT,
    SPARK_VERSION,
    VERSION,
    builder,
    session_settings,
    without_processes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import SparkSession

# By Spark: the versions of Iceberg that have a jar for it, the first one for `make test`.
VERSIONS: dict[tuple[int, ...], list[str]] = {
    (3, 5): ["1.11.0", "1.10.1"],
    (4, 0): ["1.11.0"],
    (4, 1): ["1.12.0"],
}
KEY, FILES = "table-key", ROOT / "target" / "jars" / "iceberg"
# As the KMS that counts has it.
OWN = hashlib.sha256(f"pme-testkit:{KEY}".encode()).digest()[:16]
ID = "pme.python.kms"
# So that a search finds what is readable.
OPEN = {"write.parquet.compression-codec": "uncompressed", "write.avro.compression-codec": "uncompressed"}
ENCRYPTED = {"format-version": "3", "encryption.key-id": KEY} | OPEN
BY_VECTORS = {f"write.{what}.mode": "merge-on-read" for what in ("delete", "update", "merge")}
# Who writes without the key; all of them read.
WRITERS = ("stranger", "denied", *(("lacking", "down", "unset", "misspelt", "without") if needs.ALL else ()))
OURS = "io.pmeparquet.iceberg.PmeKeyManagementClient"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def runtime(version: str) -> Path:
    """Return the jar of an Iceberg."""
    line = ".".join(map(str, SPARK_VERSION))
    [found] = FILES.glob(f"iceberg-spark-runtime-{line}_*-{version}.jar")
    return found


def catalogs(work: Path) -> dict[str, dict[str, str]]:
    """Return catalogs of the same metastore: their users have different KMSs."""
    own = base64.b64encode(OWN).decode()
    files = {
        "owner": f"{KEY}={own}",
        "stranger": f"{KEY}={base64.b64encode(bytes(16)).decode()}",
        "lacking": f"x={own}",
    }
    for name, keys in files.items():
        (work / name).write_text(keys)
    (work / "down").touch()
    counting = {"encryption.kms-impl": OURS, "pme-parquet.kms": KMS}
    static = {"encryption.kms-impl": OURS, "pme-parquet.kms": "static"}
    log = "hadoop.counting.kms.log"
    return {
        "lake": counting | {log: str(work / "lake.log")},
        "denied": counting | {log: str(work / "denied.log"), "hadoop.counting.kms.deny": KEY},
        "down": counting | {log: str(work / "down.log"), "hadoop.counting.kms.down": str(work / "down")},
        **{name: static | {"pme-parquet.kms.static.keys": f"file:{work / name}"} for name in files},
        "unset": static | {"pme-parquet.kms.static.keys": "env:PME_TEST_NOT_SET"},
        "misspelt": static | {"pme-parquet.kms.static.kees": "env:X"},
        "without": {},
        "hadoop": static | {"pme-parquet.kms.static.keys": f"file:{work / 'owner'}", "type": "hadoop"},
    }


def settings(name: str, work: Path, properties: dict[str, str]) -> dict[str, str]:
    """Return the settings of a catalog in the metastore."""
    given = {"type": "hive", "warehouse": str(work / "warehouse"), "cache-enabled": "false"} | properties
    prefix = f"spark.sql.catalog.{name}"
    return {prefix: "org.apache.iceberg.spark.SparkCatalog"} | {f"{prefix}.{key}": given[key] for key in given}


def session(
    work: Path,
    version: str,
    named: dict[str, dict[str, str]],
    further: Mapping[str, str] | None = None,
    beside: Iterable[str] = (),
) -> SparkSession:
    """Return a session with catalogs, further settings, and jars beside Iceberg's."""
    common = metastore.settings(work, session_settings(work))
    jars = [jar(work), FILES / f"pme-parquet-iceberg-{VERSION}.jar", runtime(version), *beside]
    more = {
        "spark.sql.extensions": f"{EXTENSION},{EXTENSIONS}",
        # Tables reach executors by Kryo, and what tasks do by Java's serialization.
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.jars": ",".join([common["spark.jars"], *map(str, jars)]),
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
        **INTERPRETED,
    }
    for name, properties in named.items():
        more |= settings(name, work, properties)
    spark = builder(common | more | dict(further or {})).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    without_processes(spark)
    return spark


@dataclass(frozen=True)
class Calls:
    """How often a KMS was called for each master key."""

    wrap: dict[str, int]
    unwrap: dict[str, int]


@dataclass(frozen=True)
class Turned:
    """For which versions of a master key a KMS was called: for a rotated table, and then to create one."""

    wrapped: list[int]
    unwrapped: list[int]
    created: list[int]


@dataclass(frozen=True)
class Result:
    """What came of each step, and what is below the tables."""

    done: dict[str, metastore.Outcome]
    looked: dict[str, Looked]
    calls: Calls
    turned: Turned


def people(job: Job) -> Calls:
    """Change a table in every way, and read old and new versions of it."""
    table = "lake.db.people"
    job.table(table, ENCRYPTED, "PARTITIONED BY (bucket(2, id))")
    [first] = job.spark.sql(f"SELECT snapshot_id FROM {table}.snapshots").collect()
    job.sql(f"INSERT INTO {table} VALUES (99, 'ssn-99', 1D), (100, 'ssn-100', 2D)")
    job.sql(f"UPDATE {table} SET salary = 0 WHERE ssn = 'ssn-8'")
    job.sql(f"DELETE FROM {table} WHERE ssn = 'ssn-7'")
    job.sql(
        f"MERGE INTO {table} t USING (SELECT 1L AS id UNION SELECT 200L) s ON t.id = s.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, ssn, salary) VALUES (s.id, 'ssn-200', 3D)"
    )
    job.sql(f"ALTER TABLE {table} ADD COLUMN note STRING")
    job.note("people", f"SELECT * FROM {table}")
    job.note("first", f"SELECT * FROM {table} VERSION AS OF {first[0]}")
    job.note("filtered", f"SELECT id FROM {table} WHERE ssn = 'ssn-99'")
    log = Log(job.work / "lake.log")
    calls = Calls(log.count("wrap"), log.count("unwrap"))
    compact = "rewrite_data_files(table => 'db.people', options => map('rewrite-all', 'true'))"
    job.note("compacted", f"CALL owner.system.{compact}", f"SELECT count(*) FROM {table}")
    # Tasks read lists of manifests, and call the KMS.
    job.note("all manifests", "SELECT count(*) > 3 FROM owner.db.people.all_manifests")
    by_python(job)
    job.look("people", "db.db/people")
    return calls


def by_python(job: Job) -> None:
    """Read with a client that is written in Python."""
    kms = pme.PythonKms(Client()).options()
    properties = {"encryption.kms-impl": OURS, "pme-parquet.kms": kms["kms"], f"hadoop.{ID}": kms[ID]}
    for name, value in settings("python", job.work, properties).items():
        job.spark.conf.set(name, value)
    job.note(
        "python",
        "SELECT count(*) FROM python.db.people",
        "INSERT INTO python.db.people VALUES (300, 'ssn-300', 1D, 'x')",
    )
    job.note("python rows", "SELECT ssn FROM lake.db.people WHERE id = 300")


class Client:
    """The owner's master key, in Python."""

    def wrap_key(self, key: bytes, master_key_id: str) -> str:
        nonce = os.urandom(12)
        return base64.b64encode(nonce + AESGCM(OWN).encrypt(nonce, key, master_key_id.encode())).decode()

    def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
        raw = base64.b64decode(wrapped)
        return AESGCM(OWN).decrypt(raw[:12], raw[12:], master_key_id.encode())


class Versions:
    """A master key with versions, as a KMS that rotates it has. It keeps which version each call was for."""

    def __init__(self) -> None:
        self.keys = {1: os.urandom(16)}
        self.wrapped: list[int] = []
        self.unwrapped: list[int] = []

    def wrap_key(self, key: bytes, master_key_id: str) -> str:
        newest, nonce = max(self.keys), os.urandom(12)
        self.wrapped.append(newest)
        sealed = AESGCM(self.keys[newest]).encrypt(nonce, key, master_key_id.encode())
        return f"{newest}:{base64.b64encode(nonce + sealed).decode()}"

    def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
        version, text = wrapped.split(":")
        self.unwrapped.append(int(version))
        raw = base64.b64decode(text)
        return AESGCM(self.keys[int(version)]).decrypt(raw[:12], raw[12:], master_key_id.encode())


def rotated(job: Job) -> Turned:
    """Make a new version of a master key, read old and new snapshots, and delete the old version."""
    client = Versions()
    kms = pme.PythonKms(client).options()
    properties = {"encryption.kms-impl": OURS, "pme-parquet.kms": kms["kms"], f"hadoop.{ID}": kms[ID]}
    # Each catalog has a client that remembers nothing yet.
    for catalog in ("before", "after", "last"):
        for name, value in settings(catalog, job.work, properties).items():
            job.spark.conf.set(name, value)
    job.table("before.db.turned", ENCRYPTED)
    [first] = job.spark.sql("SELECT snapshot_id FROM before.db.turned.snapshots").collect()
    client.keys[2] = os.urandom(16)
    job.sql("INSERT INTO after.db.turned VALUES (99, 'ssn-99', 1D)")
    job.note("rotated", "SELECT count(*) FROM after.db.turned")
    job.note("rotated first", f"SELECT count(*) FROM after.db.turned VERSION AS OF {first[0]}")
    wrapped, unwrapped = client.wrapped[:], client.unwrapped[:]
    job.table("after.db.fresh", ENCRYPTED)
    turned = Turned(wrapped, unwrapped, client.wrapped[len(wrapped) :])
    del client.keys[1]
    job.note("rotated lost", "SELECT count(*) FROM last.db.turned")
    job.note("rotated kept", "SELECT count(*) FROM last.db.fresh")
    job.look("rotated", "db.db/turned")
    return turned


def refused(job: Job) -> None:
    """Use the table without its key, and change what names the key."""
    table, keyed = "lake.db.people", f"'encryption.key-id' = '{KEY}'"
    for name in ("stranger", "lacking", "denied", "down", "unset", "misspelt", "without"):
        job.note(f"{name} reads", f"SELECT count(*) FROM {name}.db.people")
        if name in WRITERS:
            job.note(f"{name} writes", f"INSERT INTO {name}.db.people VALUES (1, 'x', 1D, 'x')")
    new = f"(id BIGINT) USING iceberg TBLPROPERTIES ({keyed}, 'format-version' ="
    job.note("lacking creates", f"CREATE TABLE lacking.db.none {new} '3')", "INSERT INTO lacking.db.none VALUES (1)")
    job.note("key removed", f"ALTER TABLE {table} UNSET TBLPROPERTIES ('encryption.key-id')")
    job.note("key changed", f"ALTER TABLE {table} SET TBLPROPERTIES ('encryption.key-id' = 'other')")
    job.note("v2", f"CREATE TABLE lake.db.v2 {new} '2')")
    job.note("no version", f"CREATE TABLE lake.db.v0 (id BIGINT) USING iceberg TBLPROPERTIES ({keyed})")
    ctas = f"USING iceberg TBLPROPERTIES ({keyed}, 'format-version' = '3') AS SELECT * FROM {table}"
    job.note("ctas", f"CREATE TABLE lake.db.ctas {ctas}", "SELECT count(*) FROM lake.db.ctas")
    job.look("ctas", "db.db/ctas")


def maintained(job: Job) -> None:
    """Run procedures that write files of a table beside its data, or read lists of manifests in tasks."""
    job.table("owner.db.kept", ENCRYPTED, "PARTITIONED BY (bucket(2, id))")
    job.sql("INSERT INTO owner.db.kept VALUES (99, 'ssn-99', 1D)")
    job.look("kept", "db.db/kept")
    for name in ("expire_snapshots", "rewrite_manifests", "compute_table_stats", "compute_partition_stats"):
        job.note(name, f"CALL owner.system.{name}(table => 'db.kept')", "SELECT count(*) FROM owner.db.kept")
        job.look(name, "db.db/kept")


def formats(job: Job) -> None:
    """Write files of other kinds than Parquet, and delete rows by vectors."""
    for name in ("avro", "orc") if needs.ALL else ("avro",):
        table = f"lake.db.{name}"
        job.attempt(f"{name} written", partial(job.table, table, ENCRYPTED | {"write.format.default": name}))
        job.note(name, f"SELECT count(*) FROM {table}")
        job.look(name, f"db.db/{name}")
    if not needs.ALL:
        return
    job.table("lake.db.vectors", ENCRYPTED | BY_VECTORS)
    job.note("vectors", "DELETE FROM lake.db.vectors WHERE id = 3", "SELECT count(*) FROM lake.db.vectors WHERE id < 9")
    job.look("vectors", "db.db/vectors")


def ignored(job: Job) -> None:
    """Where a table names a key and nothing encrypts."""
    job.table("hadoop.db.people", ENCRYPTED)
    job.look("hadoop", "db/people")
    job.table("lake.db.late", OPEN | {"format-version": "3"})
    job.note("late", f"ALTER TABLE lake.db.late SET TBLPROPERTIES ('encryption.key-id' = '{KEY}')")


def main() -> None:
    work = Path(sys.argv[1])
    job = Job(session(work, sys.argv[2], catalogs(work)), work)
    job.sql("CREATE DATABASE lake.db")
    calls, turned = people(job), rotated(job)
    for step in (refused, formats, ignored):
        step(job)
    # This takes a while.
    if needs.ALL:
        maintained(job)
        iceberg_more.operated(job, ENCRYPTED, BY_VECTORS)
    job.spark.stop()
    print_result(Result(job.done, job.looked, calls, turned))


if __name__ == "__main__":
    main()
