"""A job on Parquet tables of a Hive metastore, which Hive's SerDe reads and writes with our crypto factory.

Run as ``python -m tests.interop.hive_serde_job DIRECTORY``.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.support import metastore
from tests.support.canary import files_under, find_canaries
from tests.support.kms.cluster_places import Places
from tests.support.kms.counting import KMS, Log, jar
from tests.support.processes import picked, print_result
from tests.support.session import builder, session_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

COLUMNS = "id BIGINT, ssn STRING, salary DOUBLE"
CANARIES = ["ssn-7", "ssn-8"]
CONVERT = "spark.sql.hive.convertMetastoreParquet"
FACTORY = {"parquet.crypto.factory.class": "io.pmeparquet.parquet.PmeCryptoFactory", "pme-parquet.kms": KMS}
KEYS = {"footerKey": "footer", "columnKeys": "pii: ssn"}
OWN = {f"pme-parquet.{name}": value for name, value in KEYS.items()}
JAVAS = {"parquet.encryption.footer.key": "footer", "parquet.encryption.column.keys": "pii: ssn"}
# What a table must not choose for those who read or write it, and the clauses that try.
TABLE, SERDE = "TBLPROPERTIES", "SERDEPROPERTIES"
PLANTED = {
    "accepts": ("pme-parquet.plaintextFiles", TABLE),
    "accepts_too": ("pme-parquet.plaintextFiles", SERDE),
    "kms": ("pme-parquet.kms.vault.url", SERDE),
    "letters": ("PME-parquet.footerKey", TABLE),
    "client": ("parquet.encryption.kms.client.class", TABLE),
    "unlisted": ("parquet.encryption.complete.columns", SERDE),
    "credentials": ("hadoop.security.credential.provider.path", TABLE),
    "factory": ("parquet.crypto.factory.class", TABLE),
}


def session(places: Places) -> SparkSession:
    """Return a session with one executor, a process of its own, so that the log of the KMS shows who called it."""
    os.environ["SPARK_HOME"] = str(places.home)
    settings = metastore.settings(places.work, session_settings(places.work))
    more = {
        "spark.jars": ",".join([settings["spark.jars"], str(jar(places.work))]),
        "spark.executor.memory": "1024m",
        "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
        # Hive's reader would skip files that fail with an exception of I/O.
        "spark.files.ignoreCorruptFiles": "true",
        CONVERT: "false",
    }
    spark = builder(settings | more, "local-cluster[1,1,1024]").enableHiveSupport().getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


@dataclass(frozen=True)
class Used:
    """A row of `pme.key_usage`."""

    master_key: str | None
    kind: str
    columns: list[str]


@dataclass(frozen=True)
class Result:
    """What came of each step.

    Attributes:
        calls: who called the KMS for what.
        ends: the first and last bytes of a table's files.
        keys: of a table.
        inspected: the number of a table's files that `pme.inspect` found.
        readable: where secrets are in tables.
        by_serde: whether Hive's SerDe has read a table.
        left: directories of tables that are there at the end.
    """

    done: dict[str, metastore.Outcome]
    calls: dict[str, list[str]]
    ends: dict[str, list[str]]
    keys: dict[str, list[Used]]
    inspected: dict[str, int]
    readable: dict[str, list[str]]
    by_serde: bool
    left: list[str]


@dataclass
class Hive(metastore.Statements):
    """Statements of one user."""

    calls: dict[str, list[str]] = field(default_factory=dict)
    ends: dict[str, list[str]] = field(default_factory=dict)
    keys: dict[str, list[Used]] = field(default_factory=dict)
    inspected: dict[str, int] = field(default_factory=dict)
    readable: dict[str, list[str]] = field(default_factory=dict)

    def user(self, settings: Mapping[str, str], **options: str) -> Hive:
        """Return the same metastore for another session, with settings and options of the factory."""
        other = replace(self, spark=self.spark.newSession())
        own = {f"pme-parquet.{name}": value for name, value in options.items()}
        for name, value in ({"counting.kms.log": str(self.log.path)} | dict(settings) | own).items():
            other.spark.conf.set(name, value)
        rows = other.spark.range(0, 40, 1, 2)
        rows.selectExpr(
            "id", "concat('ssn-', id) AS ssn", "id * 1.5D AS salary", "concat('d', id % 2) AS day"
        ).createOrReplaceTempView("source")
        return other

    def counted(self, step: str, text: str) -> None:
        """Keep who called the KMS for what, besides what came of the statement."""
        self.log.clear()
        self.note(step, text)
        self.calls[step] = sorted(f"{call.what} {call.key} {call.executor}" for call in self.log.calls())

    @property
    def log(self) -> Log:
        return Log(self.work / "calls.log")

    def place(self, table: str) -> Path:
        return self.work / "warehouse" / table

    def files(self, table: str) -> list[str]:
        """Return the first and last bytes of each file of a table, hidden ones included."""
        contents = [path.read_bytes() for path in files_under(self.place(table)) if path.suffix != ".crc"]
        return sorted(f"{content[:4]!r} {content[-4:]!r}" for content in contents if content)

    def search(self, step: str, *tables: str) -> None:
        """Keep where secrets are readable."""
        self.readable[step] = [str(hit) for table in tables for hit in find_canaries(self.place(table), CANARIES)]

    def usage(self, table: str) -> None:
        """Keep what each master key of a table protects."""
        rows = pme.key_usage(self.spark, self.place(table), kms=self.log.options()).collect()
        used = [Used(row.master_key, row.kind, sorted(row.columns)) for row in rows]
        self.keys[table] = sorted(used, key=lambda row: str(row.master_key))

    def table(self, name: str, properties: Mapping[str, str], kind: str = TABLE) -> None:
        """Make a table with properties."""
        self.sql(f"CREATE TABLE {name} ({COLUMNS}) STORED AS PARQUET")
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        self.sql(f"ALTER TABLE {name} SET {kind} ({listed})")


def insert(table: str) -> str:
    return f"INSERT INTO {table} SELECT id, ssn, salary FROM source"


def written(owner: Hive) -> bool:
    """Write tables in every way that Hive's statements have, read them, and return whether the SerDe did."""
    owner.sql(f"CREATE TABLE people ({COLUMNS}) STORED AS PARQUET TBLPROPERTIES ('comment' = 'all of them')")
    owner.sql(f"CREATE TABLE visits ({COLUMNS}) PARTITIONED BY (day STRING) STORED AS PARQUET")
    owner.counted("insert", insert("people"))
    owner.counted("select", "SELECT * FROM people")
    owner.note("filtered", "SELECT salary FROM people WHERE ssn = 'ssn-7'")
    plan = owner.spark.table("people")._jdf.queryExecution().executedPlan().toString()
    owner.counted("partitions", "INSERT OVERWRITE visits PARTITION (day) SELECT * FROM source")
    owner.counted("visits", "SELECT id, ssn, salary FROM visits")
    owner.note("ctas", "CREATE TABLE copied STORED AS PARQUET AS SELECT * FROM people", "SELECT * FROM copied")
    directory = owner.place("directory")
    owner.note("directory", f"INSERT OVERWRITE DIRECTORY '{directory}' STORED AS PARQUET SELECT * FROM people")
    tables = ("people", "visits", "copied", "directory")
    owner.search("tables", *tables)
    for table in tables:
        owner.usage(table)
        owner.ends[table] = owner.files(table)
        owner.inspected[table] = len(pme.inspect(owner.place(table)).files)
    ours = owner.spark.read.format("pme-parquet").options(**owner.log.options()).load(str(owner.place("people")))
    owner.attempt("by pme-parquet", lambda: sorted(repr(tuple(row)) for row in ours.collect()))
    # Spark's own reader and writer of the same table.
    owner.spark.conf.set(CONVERT, "true")
    owner.counted("converted insert", insert("people"))
    owner.counted("converted select", "SELECT count(*), max(ssn) FROM people")
    owner.search("converted", "people")
    owner.spark.conf.set(CONVERT, "false")
    owner.note("both", "SELECT count(*), max(ssn) FROM people")
    return "Scan hive" in plan


def refused(hive: Hive, owner: Hive) -> None:
    """Read and write what must be refused."""
    nobody = hive.user(FACTORY)
    owner.ends["before failures"] = owner.files("people")
    nobody.note("no key", insert("people"))
    nobody.note("no key ctas", "CREATE TABLE unborn STORED AS PARQUET AS SELECT * FROM source")
    hive.user(FACTORY, footerKey="footer", columnKeys="pii: absent").note("no column", insert("people"))
    owner.ends["after failures"] = owner.files("people")
    nobody.note("right keys", "SELECT count(ssn) FROM people")
    hive.user(FACTORY, footerKey="footer", columnKeys="other: ssn").note("other keys", "SELECT id FROM people")
    plain = hive.user({})
    plain.sql(
        f"CREATE TABLE plain ({COLUMNS}) STORED AS PARQUET TBLPROPERTIES ('parquet.compression' = 'UNCOMPRESSED')"
    )
    plain.note("plain insert", insert("plain"))
    plain.search("plain", "plain")
    owner.note("plaintext", "SELECT id FROM plain")
    plain.note("without factory", "SELECT id FROM people")
    # Among encrypted files, as somebody might plant one.
    shutil.copytree(owner.place("plain"), owner.place("visits") / "day=d0", dirs_exist_ok=True)
    owner.note("planted file", "SELECT count(id) FROM visits")


def properties(hive: Hive, owner: Hive) -> None:
    """Make tables whose properties ask for keys, or choose what a table must not choose."""
    plain, nobody = hive.user({}), hive.user(FACTORY)
    for name, given in {"own": OWN, "javas": JAVAS}.items():
        for kind in (TABLE, SERDE):
            table = f"{name}_{kind[0].lower()}"
            plain.table(table, given, kind)
            for user, who in ((plain, "plain"), (nobody, "nobody")):
                for convert in ("false", "true"):
                    user.spark.conf.set(CONVERT, convert)
                    user.note(f"{who} {table} {convert}", insert(table))
                user.spark.conf.set(CONVERT, "false")
            owner.ends[table] = sorted(set(owner.files(table)))
            plain.note(f"ctas {table}", ctas(f"new_{table}", given))
    owner.usage("javas_t")
    plain.sql(f"CREATE TABLE of_spark ({COLUMNS}) USING parquet TBLPROPERTIES ({listing(JAVAS)})")
    for user, who in ((plain, "plain"), (nobody, "nobody")):
        user.note(f"{who} of_spark", insert("of_spark"))
    planted(hive, owner)


def planted(hive: Hive, owner: Hive) -> None:
    owner.sql(f"CREATE TABLE lax ({COLUMNS}) USING parquet OPTIONS ('pme-parquet.plaintextFiles' 'allow')")
    owner.note("read lax", "SELECT id FROM lax")
    owner.note("write lax", insert("lax"))
    for table, (setting, kind) in PLANTED.items():
        owner.table(table, {setting: "allow"}, kind)
        for convert in ("false", "true"):
            owner.spark.conf.set(CONVERT, convert)
            owner.note(f"read {table} {convert}", f"SELECT id FROM {table}")
            owner.note(f"write {table} {convert}", insert(table))
        owner.spark.conf.set(CONVERT, "false")
        owner.ends[table] = owner.files(table)
    trusting = hive.user(FACTORY | {"spark.datasource.pme-parquet.trustedTables": "spark_catalog.default.plain"})
    trusting.sql("ALTER TABLE plain SET TBLPROPERTIES ('pme-parquet.plaintextFiles' = 'allow')")
    trusting.note("trusted", "SELECT count(id) FROM plain")
    owner.note("not trusted", "SELECT count(id) FROM plain")


def sessions(hive: Hive, owner: Hive) -> None:
    """Cache what the owner reads, and read the same as somebody without keys, and as the owner without them."""
    whole, stranger = hive.user(FACTORY, **KEYS), hive.user({})
    whole.spark.table("people").cache().count()
    stranger.note("cached by another", "SELECT ssn FROM people")
    whole.note("cached by itself", "SELECT count(ssn) FROM people")
    whole.spark.conf.set("pme-parquet.columnKeys", "other: ssn")
    whole.note("cached with other keys", "SELECT id FROM people")
    whole.spark.catalog.clearCache()
    # Spark drops options of a table of Hive.
    given = {**FACTORY, **OWN, "counting.kms.log": str(owner.log.path)}
    owner.attempt("options of a read", lambda: stranger.spark.read.options(**given).table("plain").count())
    listed = ", ".join(f"`{name}` = '{value}'" for name, value in given.items())
    columns = "SELECT id, ssn, salary FROM source"
    stranger.note("options of an insert", f"INSERT INTO plain WITH ({listed}) {columns}")
    orc = f"CREATE TABLE of_orc STORED AS ORC AS {columns}"
    for convert in ("false", "true"):
        owner.spark.conf.set("spark.sql.hive.convertMetastoreOrc", convert)
        owner.note(f"orc {convert}", orc)
    owner.note("orc directory", f"INSERT OVERWRITE DIRECTORY '{owner.place('orc')}' STORED AS ORC {columns}")


def listing(given: Mapping[str, str]) -> str:
    return ", ".join(f"'{key}' = '{value}'" for key, value in given.items())


def ctas(table: str, given: Mapping[str, str]) -> str:
    return f"CREATE TABLE {table} STORED AS PARQUET TBLPROPERTIES ({listing(given)}) AS SELECT id, ssn FROM source"


def main() -> None:
    places = Places(Path(sys.argv[1]))
    places.make()
    hive = Hive(session(places), places.work)
    owner = hive.user(FACTORY, **KEYS)
    by_serde = written(owner)
    refused(hive, owner)
    sessions(hive, owner)
    properties(hive, owner)
    hive.spark.stop()
    left = [name for name in ("unborn", "of_orc", "orc") if hive.place(name).exists()]
    print_result(picked(Result, hive, by_serde=by_serde, left=left))


if __name__ == "__main__":
    main()
