"""What encrypted tables of Delta and Iceberg cost, beside plaintext tables of the same format.

    .venvs/pyspark-3.5.9/bin/python -m bench.lakes

Each variant of a round is a new JVM, and the variants alternate from round to round. A process writes the same rows
into tables, and then queries the last one. A row has an id, two columns with a key of their own (in Delta), and a text.
Delta is 3.3.2 with `PmeCryptoFactory`, and Iceberg 1.11 in Hive's catalog with `PmeKeyManagementClient`, both on Spark
3.5. A session for plaintext has our jar, and none of our settings for the
format. Bytes are those that Hadoop's file systems say were read.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from bench import rounds
from bench.orc import show
from bench.place import ROOT
from bench.variants import SETTINGS, master_keys, static_keys

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from bench.rounds import Numbers

FORMATS = ("delta", "iceberg")
PLAIN, ENCRYPTED = "plaintext", "encrypted"
QUICK = ["--rows", "20000", "--rounds", "1", "--repetitions", "2", "--writes", "2"]
COLUMNS = "id BIGINT, ssn STRING, salary DOUBLE, text STRING"
QUERIES = {
    "scan": "SELECT count(*), sum(id), max(ssn), sum(salary), max(text) FROM {table}",
    "projection": "SELECT sum(salary) FROM {table}",
    # Statistics leave one file and one row group.
    "point query": "SELECT ssn, salary, text FROM {table} WHERE id = {middle}",
}
JARS = ROOT / "target" / "jars"


def main() -> int:
    """Make the rows, measure in new processes, and print medians."""
    parser = rounds.parser(__doc__, repetitions=6)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--writes", type=int, default=3)
    parser.add_argument("--format", choices=FORMATS, action="append", help="only this one")
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it works")
    given = sys.argv[1:]
    arguments = parser.parse_args(QUICK + given if "--quick" in given else given)
    if arguments.process:
        place, work = arguments.process
        print(json.dumps(Process(Path(place), arguments, work).run()))  # noqa: T201 the result of this process
        return 0
    with tempfile.TemporaryDirectory() as folder:
        rounds.in_process("bench.lakes", given, Path(folder), "make")
        for format_ in arguments.format or FORMATS:
            measure(Path(folder), format_, arguments.rounds, given)
    return 0


def measure(place: Path, format_: str, number: int, arguments: Sequence[str]) -> None:
    """Measure a format's variants in processes of their own."""
    names = [f"{format_}, {what}" for what in (PLAIN, ENCRYPTED)]
    timed: dict[str, list[Numbers]] = {name: [] for name in names}
    for name in rounds.alternating(names, number):
        timed[name].append(rounds.in_process("bench.lakes", arguments, place, name))
    show(timed)


class Process:
    """The work of one process with a JVM of its own."""

    def __init__(self, place: Path, arguments: argparse.Namespace, work: str) -> None:
        self.place, self.arguments, self.work = place, arguments, work
        self.keys = place / "keys.txt"
        static_keys(master_keys(place / "keys.json"), self.keys)
        scratch = Path(tempfile.mkdtemp(dir=place))
        settings = {"delta": delta, "iceberg": iceberg}.get(work.partition(",")[0])
        self.encrypted = work.endswith(ENCRYPTED)
        self.spark = rounds.session(settings(scratch, self.keys, encrypted=self.encrypted) if settings else {})
        self.tables = scratch / "tables"

    def run(self) -> Numbers:
        """Make the rows, or time a variant's writes and queries."""
        source = str(self.place / "rows")
        if self.work == "make":
            made = self.spark.range(0, self.arguments.rows, 1, 8).selectExpr(
                "id", "concat('ssn-', id) AS ssn", "id * 1.5D AS salary", "sha2(string(id), 256) AS text"
            )
            # In a format that the factory of the measured sessions does not read.
            made.write.orc(source)
            return {}
        self.spark.read.orc(source).createOrReplaceTempView("rows")
        found: Numbers = {}
        for turn in range(self.arguments.writes):
            table = self.create(turn)
            self.keep(found, "write", turn, f"INSERT INTO {table} TABLE rows")
        for query, text in QUERIES.items():
            statement = text.format(table=table, middle=self.arguments.rows * 3 // 4)
            for turn in range(self.arguments.repetitions):
                self.keep(found, query, turn, statement)
        self.check(table)
        return found

    def create(self, number: int) -> str:
        """Create an empty table, and return its name in SQL."""
        if self.work.startswith("delta"):
            # Minimum and maximum of the other columns would be readable in the log, so neither variant has them.
            properties = {"delta.dataSkippingStatsColumns": "id"}
            own = {"parquet.encryption.footer.key": "footer", "parquet.encryption.column.keys": "pay: ssn, salary"}
            name, using = f"delta.`{self.tables / str(number)}`", "delta"
        else:
            properties, own = {"format-version": "3"}, {"encryption.key-id": "footer"}
            name, using = f"lake.db.t{number}", "iceberg"
            self.spark.sql("CREATE DATABASE IF NOT EXISTS lake.db")
        listed = ", ".join(
            f"'{key}' = '{value}'" for key, value in (properties | (own if self.encrypted else {})).items()
        )
        self.spark.sql(f"CREATE TABLE {name} ({COLUMNS}) USING {using} TBLPROPERTIES ({listed})")
        return name

    def check(self, table: str) -> None:
        """Fail unless the rows are there, and the files are what the variant's name says."""
        [row] = self.spark.table(table).selectExpr("count(*)").collect()
        beginnings = {path.read_bytes()[:4] for path in self.tables.rglob("*.parquet")}
        # Iceberg encrypts whole files of metadata, and Parquet by modules, as Delta's factory does.
        if (row[0], beginnings) != (self.arguments.rows, {b"PARE" if self.encrypted else b"PAR1"}):
            raise AssertionError(f"{self.work}: {row[0]} rows in files that begin with {beginnings}")

    def keep(self, found: Numbers, what: str, turn: int, statement: str) -> None:
        """Run a statement, and keep its seconds, seconds of the processor, and mebibytes read."""
        jvm: Any = self.spark._jvm  # noqa: SLF001
        processor = jvm.java.lang.management.ManagementFactory.getOperatingSystemMXBean()
        read, used, began = self.bytes_read(), processor.getProcessCpuTime(), time.perf_counter()
        self.spark.sql(statement).collect()
        numbers = {
            "s": time.perf_counter() - began,
            "CPU s": (processor.getProcessCpuTime() - used) / 1e9,
            "MiB": (self.bytes_read() - read) / 2**20,
        }
        when = "first" if turn == 0 else "later"
        for unit, number in numbers.items():
            found.setdefault(f"{what} {when} {unit}", []).append(number)

    def bytes_read(self) -> float:
        """Return the bytes that Hadoop's file systems have read so far."""
        jvm: Any = self.spark._jvm  # noqa: SLF001
        return float(sum(one.getBytesRead() for one in jvm.org.apache.hadoop.fs.FileSystem.getAllStatistics()))


def delta(scratch: Path, keys: Path, *, encrypted: bool) -> dict[str, str]:
    """Return the settings of a session for Delta. The table's properties name the keys."""
    extensions = ["io.delta.sql.DeltaSparkSessionExtension"]
    ours = {
        "spark.hadoop.parquet.crypto.factory.class": "io.pmeparquet.parquet.PmeCryptoFactory",
        "spark.hadoop.pme-parquet.kms": "static",
        "spark.hadoop.pme-parquet.kms.static.keys": f"file:{keys}",
        "spark.hadoop.pme-parquet.footerKey": "footer",
    }
    if encrypted:
        extensions = ["io.pmeparquet.spark.PmeExtensions", *extensions]
    return (
        common(scratch, sorted((JARS / "delta").glob("*.jar")))
        | (ours if encrypted else {})
        | {
            "spark.sql.extensions": ",".join(extensions),
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        }
    )


def iceberg(scratch: Path, keys: Path, *, encrypted: bool) -> dict[str, str]:
    """Return the settings of a session for Iceberg, with a metastore in memory."""
    catalog = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "hive",
        ".warehouse": str(scratch / "tables"),
    }
    if encrypted:
        catalog |= {
            ".encryption.kms-impl": "io.pmeparquet.iceberg.PmeKeyManagementClient",
            ".pme-parquet.kms": "static",
            ".pme-parquet.kms.static.keys": f"file:{keys}",
        }
    jars = [*(JARS / "iceberg").glob("iceberg-spark-runtime-3.5_*-1.11.0.jar"), *JARS.glob("iceberg/pme-*.jar")]
    return common(scratch, jars) | {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:memory:lakes;create=true",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
        **{f"spark.sql.catalog.lake{name}": value for name, value in catalog.items()},
    }


def common(scratch: Path, jars: Sequence[Path]) -> dict[str, str]:
    """Return settings for both formats: all jars in one class loader, and files that Spark leaves in the directory."""
    if not jars:
        raise FileNotFoundError("there are no jars of table formats: run `make build`, and use the Python of Spark 3.5")
    options = SETTINGS["spark.driver.extraJavaOptions"]
    return {
        "spark.jars": ",".join(map(str, [pme.jar_path(), *jars])),
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": f"{options} -Dderby.system.home={scratch}",
    }


if __name__ == "__main__":
    sys.exit(main())
