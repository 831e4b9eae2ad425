"""Two jobs on a Hive metastore: one fills tables, one in another JVM reads and migrates them.

Run as ``python -m tests.orc.hive_job DIRECTORY fill`` and then with ``use``.
"""

from __future__ import annotations

import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.support import encrypted_orc as orc
from tests.support import metastore
from tests.support.canary import find_canaries
from tests.support.kms.counting import Log, jar
from tests.support.processes import print_result
from tests.support.session import PREFIX, SPARK_VERSION, builder, session_settings, without_processes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

# The master key in ORC, the key that wraps it, and where a table has it.
KEY, WRAPPING, PROPERTY = "hive", "w-hive", "company.master-key"
COLUMNS, DAYS = "id BIGINT, ssn STRING, salary DOUBLE", "PARTITIONED BY (day STRING)"
TRUSTED = ["people", "visits", "ours", "copied", "by_serde", "by_day"]
CANARIES = ["ssn-7", "ssn-8"]
# If one of these is false, Spark leaves tables of Hive to the SerDe.
HIVE = "spark.sql.hive."
ALL, PARTITIONED, UNPARTITIONED, CTAS, DIRECTORY = (
    "convertMetastoreOrc",
    "convertInsertingPartitionedTable",
    "convertInsertingUnpartitionedTable",
    "convertMetastoreCtas",
    "convertMetastoreInsertDir",
)
# Spark 3.5 does not have it.
OF_INSERT = [ALL, UNPARTITIONED] if SPARK_VERSION >= (4, 0) else [ALL]


def session(work: Path) -> SparkSession:
    """Return a session on a Hive metastore in the directory, which the next JVM opens again."""
    made = work / "counting-kms.jar"
    client = made if made.exists() else jar(work)
    settings = metastore.settings(work, session_settings(work))
    more = {
        "spark.jars": ",".join([settings["spark.jars"], str(client)]),
        "spark.hadoop.hive.exec.dynamic.partition.mode": "nonstrict",
    }
    spark = builder(settings | more).enableHiveSupport().getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    without_processes(spark)
    return spark


@dataclass(frozen=True)
class Filled:
    """What came of the job that writes.

    Attributes:
        readable: where secrets are: in all encrypted ``tables``, in those that the ``serde`` may have written, and in
            the ``plain`` one.
    """

    done: dict[str, metastore.Outcome]
    readable: dict[str, list[str]]


@dataclass(frozen=True)
class Moved:
    """A migration.

    Attributes:
        columns: the encrypted ones.
        is_equal: whether both tables have the same rows.
    """

    rows: int
    columns: list[str]
    is_equal: bool
    readable: list[str]


@dataclass(frozen=True)
class Used:
    """What came of the job that reads.

    Attributes:
        calls: those of the KMS for the first table.
        readable: where secrets are after Hive's implementation of ORC in Spark has written.
    """

    done: dict[str, metastore.Outcome]
    calls: list[str]
    readable: list[str]
    moved: dict[str, Moved]


class Hive(metastore.Statements):
    """Statements of one user."""

    def user(self, log: Log, **settings: str) -> Hive:
        """Return the same metastore for another user, whose session names a KMS."""
        other = Hive(self.spark.newSession(), self.work, self.done)
        known = {"orcKeyProperty": PROPERTY, "trustedTables": ",".join(f"spark_catalog.default.{t}" for t in TRUSTED)}
        for name, value in (log.options() | known | settings).items():
            # The client of this KMS takes its own settings from the Hadoop configuration.
            other.spark.conf.set(name if name.startswith("counting.") else PREFIX + name, value)
        return other

    def readable(self, *tables: str) -> list[str]:
        """Return the files of tables in which a secret is readable."""
        found = []
        for table in tables:
            place = self.place(table)
            if place.exists():
                found += [str(hit) for hit in find_canaries(place, CANARIES)]
        return found

    def place(self, table: str) -> Path:
        return self.work / "warehouse" / table

    @contextmanager
    def conf(self, settings: Mapping[str, str]) -> Iterator[None]:
        """Change settings, which the session does not have otherwise."""
        for name, value in settings.items():
            self.spark.conf.set(name, value)
        yield
        for name in settings:
            self.spark.conf.unset(name)


def properties(wrapped: str, **more: str) -> str:
    given = {
        "orc.key.provider": "pme",
        "orc.encrypt": f"{KEY}:ssn,salary",
        "orc.compress": "NONE",
        PROPERTY: wrapped,
    } | more
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in given.items())
    return f"TBLPROPERTIES ({listed})"


def fill(hive: Hive) -> Filled:
    """Write tables in every way that Hive's and Spark's statements have."""
    admin = hive.user(Log(hive.work / "wrap.log"))
    kms = Log(hive.work / "wrap.log").options()
    wrapped = pme.wrap_orc_key(admin.spark, kms, master_key=orc.MASTERS[orc.PII, 0], key=KEY, kms_key=WRAPPING)
    (hive.work / "wrapped.txt").write_text(wrapped)
    owner = hive.user(Log(hive.work / "fill.log"))
    spark = owner.spark
    spark.range(0, 40, 1, 2).selectExpr(
        "id", "concat('ssn-', id) AS ssn", "id * 1.5D AS salary", "concat('d', id % 2) AS day"
    ).createOrReplaceTempView("source")
    fill_hive_tables(owner, wrapped)
    fill_our_table(owner, wrapped)
    tables = owner.readable("people", "visits", "ours", "copied", "copied_ours", "directory")
    by_serde(owner, wrapped)
    serde = owner.readable("people", "visits", "by_serde", "by_day")
    return Filled(owner.done, {"tables": tables, "serde": serde, "plain": owner.readable("plain")})


def fill_hive_tables(owner: Hive, wrapped: str) -> None:
    clause = f"STORED AS ORC {properties(wrapped)}"
    owner.sql(f"CREATE TABLE people ({COLUMNS}) {clause}")
    owner.sql(f"CREATE TABLE visits ({COLUMNS}) {DAYS} {clause}")
    owner.sql(f"CREATE TABLE untrusted ({COLUMNS}) {clause}")
    owner.sql("INSERT INTO people SELECT id, ssn, salary FROM source")
    owner.sql("INSERT INTO visits PARTITION (day = 'd0') SELECT id, ssn, salary FROM source")
    # Of partitions that are named dynamically, all are replaced.
    owner.sql("INSERT OVERWRITE visits PARTITION (day) SELECT * FROM source")
    owner.note("untrusted", "INSERT INTO untrusted SELECT id, ssn, salary FROM source")
    owner.note("copied", f"CREATE TABLE copied {clause} AS SELECT * FROM people", "SELECT * FROM copied")
    # Master keys in the property are for this format, even if nothing names a provider.
    owner.sql("ALTER TABLE copied UNSET TBLPROPERTIES ('orc.key.provider')")
    owner.sql("INSERT INTO copied VALUES (40, 'ssn-40', 60D)")
    session = {"orc.key.provider": "pme", "orc.encrypt": f"{KEY}:ssn,salary", PREFIX + "orcMasterKeys": wrapped}
    with owner.conf(session):
        owner.sql(f"INSERT OVERWRITE DIRECTORY '{owner.place('directory')}' STORED AS ORC SELECT * FROM source")


def fill_our_table(owner: Hive, wrapped: str) -> None:
    ours = f"USING `pme-orc` OPTIONS (columnKeys '{KEY}: ssn, salary', compression 'none')"
    keys = f"TBLPROPERTIES ('{PROPERTY}' = '{wrapped}')"
    owner.sql(f"CREATE TABLE ours ({COLUMNS}, day STRING) {ours} PARTITIONED BY (day) {keys}")
    owner.sql("INSERT INTO ours SELECT * FROM source")
    owner.sql("INSERT OVERWRITE ours PARTITION (day = 'd1') SELECT id, ssn, salary FROM source WHERE id < 4")
    owner.sql("ALTER TABLE ours ADD COLUMNS (note STRING)")
    owner.sql("INSERT INTO ours PARTITION (day = 'd2') SELECT id, ssn, salary, 'new' FROM source WHERE id = 8")
    day, elsewhere = owner.place("ours") / "day=d2", owner.work / "elsewhere"
    shutil.copytree(day, elsewhere)
    owner.sql(f"ALTER TABLE ours ADD PARTITION (day = 'd3') LOCATION '{elsewhere}'")
    shutil.copytree(day, owner.place("ours") / "day=d4")
    owner.sql("MSCK REPAIR TABLE ours")
    owner.sql("ANALYZE TABLE ours COMPUTE STATISTICS FOR COLUMNS id, ssn")
    owner.note("partitions", "SHOW PARTITIONS ours")
    owner.note("statistics", "DESCRIBE EXTENDED ours ssn")
    owner.note("ctas of ours", f"CREATE TABLE unborn {ours} {keys} AS SELECT * FROM ours")
    with owner.conf({PREFIX + "orcMasterKeys": wrapped}):
        owner.sql(f"CREATE TABLE copied_ours {ours} AS SELECT * FROM people")
    owner.sql(f"ALTER TABLE copied_ours SET {keys}")


def by_serde(owner: Hive, wrapped: str) -> None:
    """Try every statement that Spark leaves to Hive's SerDe, which knows no encryption."""
    clause = f"STORED AS ORC {properties(wrapped)}"
    settings = {"orc.key.provider": "pme", "orc.encrypt": f"{KEY}:ssn", PREFIX + "orcMasterKeys": wrapped}
    directory = f"INSERT OVERWRITE DIRECTORY '{owner.place('by_serde')}' STORED AS ORC SELECT * FROM source"
    statements = {
        "insert": ("INSERT INTO people SELECT id, ssn, salary FROM source", OF_INSERT),
        "overwrite": ("INSERT OVERWRITE people SELECT id, ssn, salary FROM source", [ALL]),
        "static": ("INSERT INTO visits PARTITION (day = 'd0') SELECT id, ssn, salary FROM source", [ALL]),
        "dynamic": ("INSERT OVERWRITE visits PARTITION (day) SELECT * FROM source", [ALL, PARTITIONED]),
        "ctas": (f"CREATE TABLE by_serde {clause} AS SELECT id, ssn, salary FROM source", [ALL, CTAS]),
        "read": ("SELECT id FROM people", [ALL]),
        "unnamed": ("INSERT INTO copied VALUES (41, 'ssn-7', 1D)", [ALL]),
        "read unnamed": ("SELECT id FROM copied", [ALL]),
        "count": ("SELECT count(*) FROM visits", [ALL]),
        "subquery": ("SELECT id FROM source WHERE id IN (SELECT id FROM people)", [ALL]),
    }
    for name, (text, switches) in statements.items():
        for switch in switches:
            with owner.conf({HIVE + switch: "false"}):
                owner.note(f"serde {name} {switch}", text)
    for switch in (ALL, DIRECTORY):
        with owner.conf(settings | {HIVE + switch: "false"}):
            owner.note(f"serde directory {switch}", directory)
    # Spark leaves this to the SerDe under any settings.
    owner.note("serde by_day", f"CREATE TABLE by_day {DAYS.replace(' STRING', '')} {clause} AS SELECT * FROM source")
    owner.note("serde tables", "SHOW TABLES LIKE 'by_*'")
    # The SerDe is free to write what nobody asked to encrypt; and this shows that secrets are found.
    with owner.conf({HIVE + ALL: "false"}):
        owner.sql(f"CREATE TABLE plain ({COLUMNS}) STORED AS ORC TBLPROPERTIES ('orc.compress' = 'NONE')")
        owner.sql("INSERT INTO plain SELECT id, ssn, salary FROM source")
        owner.note("plain", "SELECT count(*) FROM plain")


def use(hive: Hive) -> Used:
    """Read and migrate the tables as several users."""
    owner = hive.user(Log(hive.work / "use.log"))
    owner.note("people", "SELECT * FROM people")
    calls = [f"{call.what} {call.key} {call.executor}" for call in Log(hive.work / "use.log").calls()]
    for table in ("visits", "ours", "copied", "copied_ours"):
        owner.note(table, f"SELECT * FROM {table}")
    owner.note("filtered", "SELECT id, salary FROM visits WHERE ssn = 'ssn-7' AND day = 'd1'")
    owner.note("joined", "SELECT count(*) FROM people JOIN visits USING (ssn)")
    owner.sql("ALTER TABLE people ADD COLUMNS (note STRING)")
    owner.note("added", "SELECT note, count(*) FROM people GROUP BY note")
    # Hive's reader of ORC in Spark gets no keys, and is replaced, too.
    with owner.conf({"spark.sql.orc.impl": "hive"}):
        owner.note("impl read", "SELECT id, ssn, salary FROM people")
        owner.note("impl write", "INSERT INTO visits PARTITION (day = 'd9') SELECT 1, 'ssn-7', 1.5D")
    readable = owner.readable("visits")
    owner.sql("ALTER TABLE visits DROP PARTITION (day = 'd9')")
    analyst = hive.user(Log(hive.work / "analyst.log"), **{"counting.kms.deny": WRAPPING})
    analyst.note("analyst", "SELECT ssn FROM people")
    analyst.note("analyst other", "SELECT id FROM visits WHERE id = 7")
    wrong = pme.wrap_orc_key(
        owner.spark, Log(hive.work / "wrap.log").options(), master_key=bytes(16), key=KEY, kms_key=WRAPPING
    )
    stranger = hive.user(Log(hive.work / "stranger.log"), orcMasterKeys=wrong)
    stranger.note("stranger", "SELECT ssn FROM people")
    nobody = hive.user(Log(hive.work / "nobody.log"), orcKeyProperty="other")
    nobody.note("nobody", "SELECT ssn FROM people")
    return Used(owner.done, calls, readable, migrate(owner))


def migrate(owner: Hive) -> dict[str, Moved]:
    """Move tables to Parquet in the same metastore, and try one of Hive's transactions."""
    log = Log(owner.work / "migrate.log")
    enc = pme.Encryption(kms=log.options(), footer_key="footer")
    given = {"orcKeyProperty": PROPERTY}
    tables = {"people": "", "visits": "PARTITIONED BY (day)", "ours": "PARTITIONED BY (day)"}
    done = {}
    for name, partitions in tables.items():
        target = owner.work / "migrated" / name
        plan = pme.migrate_orc(owner.spark, name, target, enc, options=given, dry_run=True)
        moved = pme.migrate_orc(owner.spark, f"default.{name}", target, enc, options=given)
        columns = owner.spark.table(name).schema
        listed = ", ".join(f"{one.name} {one.dataType.simpleString()}" for one in columns)
        owner.sql(f"CREATE TABLE new_{name} ({listed}) USING `pme-parquet` {partitions} LOCATION '{target}'")
        if partitions:
            owner.sql(f"MSCK REPAIR TABLE new_{name}")
        both = [owner.sql(f"SELECT * FROM {table}") for table in (name, f"new_{name}")]
        encrypted, readable = sorted(one.column for one in plan.encrypted), find_canaries(target, CANARIES)
        done[name] = Moved(moved.rows, encrypted, both[0] == both[1] != [], list(map(str, readable)))
    transactional = "CLUSTERED BY (id) INTO 1 BUCKETS STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    for table, clause in {"acid": transactional, "deltas": "STORED AS ORC"}.items():
        owner.sql(f"CREATE TABLE {table} ({COLUMNS}) {clause}")
        shutil.copytree(owner.place("people"), owner.place(table) / "delta_0000001_0000001_0000")
        move = partial(pme.migrate_orc, owner.spark, table, owner.work / "migrated" / table, enc, options=given)
        owner.attempt(f"refused {table}", move)
    return done


def main() -> None:
    """Run one of the jobs in the directory that the command names."""
    work = Path(sys.argv[1])
    hive = Hive(session(work), work)
    result = fill(hive) if sys.argv[2] == "fill" else use(hive)
    hive.spark.stop()
    print_result(result)


if __name__ == "__main__":
    main()
