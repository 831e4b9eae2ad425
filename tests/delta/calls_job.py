"""A job on one table of a real Delta with a KMS that counts its calls.

Run as ``python -m tests.delta.calls_job DIRECTORY MASTER FILES CALLER [short]``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pme_parquet as pme
import pme_parquet.delta
from tests.delta.delta_tables import FACTORY, FACTORY_NAME, FILES, clear_logs
from tests.support.kms.cluster_places import Places
from tests.support.kms.counting import KMS, ROWS_PER_FILE, Called, CalledSteps, Log, frame, jar
from tests.support.processes import print_result
from tests.support.session import EXTENSION, builder, session_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = 3
LOG = "counting.kms.log"
VERSIONS = "counting.kms.versions"
PROPERTIES = (
    "'parquet.encryption.footer.key' = 'footer', 'parquet.encryption.column.keys' = 'k0: c0; k1: c1; k2: c2', "
    "'delta.dataSkippingStatsColumns' = 'id', 'delta.checkpointInterval' = '2'"
)


def session(places: Places, master: str, caller: str) -> SparkSession:
    common = session_settings(places.work)
    jars = [jar(places.work), *sorted(FILES.glob("*.jar"))]
    cluster = {}
    if master.startswith("local-cluster"):
        os.environ["SPARK_HOME"] = str(places.home)
        cluster = {
            "spark.executor.memory": "1024m",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        }
    settings = {
        "spark.jars": ",".join(map(str, jars)),
        "spark.sql.extensions": f"{EXTENSION},io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        f"spark.hadoop.{FACTORY_NAME}": FACTORY,
        "spark.hadoop.pme-parquet.kms": KMS,
        "spark.hadoop.pme-parquet.footerKey": "footer",
        "spark.hadoop.pme-parquet.kms.callFrom": caller,
        f"spark.hadoop.{LOG}": str(places.log("first")),
        f"spark.hadoop.{VERSIONS}": str(places.versions),
        "spark.databricks.delta.snapshotPartitions": "2",
        # Every task reads one file, so executors get some each.
        "spark.sql.files.openCostInBytes": str(128 * 1024 * 1024),
        "spark.locality.wait": "0s",
    }
    started = builder(common | settings | cluster, master).getOrCreate()
    started.sparkContext.setLogLevel("OFF")
    return started


class Steps:
    """Runs statements, and keeps the calls of each."""

    def __init__(self, spark: SparkSession, places: Places) -> None:
        self.spark, self.places = spark, places
        self.user("first")
        self.seen: dict[str, Called] = {}

    def user(self, name: str) -> None:
        """Become another user of the KMS, who has called it for nothing yet."""
        self.log, self.done = Log(self.places.log(name)), 0
        self.spark.conf.set(LOG, str(self.log.path))

    def versions(self, text: str) -> None:
        """Set the newest version of the master keys, and the oldest that opens what it wrapped."""
        self.places.versions.write_text(text)

    def step(self, name: str, text: str) -> None:
        self.keep(name, self.spark.sql(text))

    def keep(self, name: str, frame: DataFrame) -> None:
        self.seen[name] = Called.of(frame, self.log, self.done)
        self.done += len(self.seen[name].calls)

    def doctor(self, name: str) -> None:
        """Have the doctor try the footer key, as the driver and as a task."""
        found = [[check.name, check.status, check.found] for check in pme.doctor(self.spark).checks]
        of_factory = [check for check in found if check[0].startswith("KMS of the crypto factory")]
        self.keep(name, self.spark.createDataFrame(of_factory, "name STRING, status STRING, found STRING"))

    def own(self, name: str, path: str) -> None:
        """Read the files of a table as plain Parquet, with a KMS that this read alone names."""
        self.log, self.done = Log(self.places.log(name)), 0
        found = self.spark.read.format("parquet").option(LOG, str(self.log.path)).load(path)
        self.keep(name, found.selectExpr("count(*)", "count(DISTINCT c0)", "max(c1)", "max(c2)"))


def main() -> None:
    work, master, files = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    places = Places(work)
    places.make()
    spark = session(places, master, sys.argv[4])
    steps = Steps(spark, places)
    steps.versions("1 1")
    table = f"delta.`{places.data / 'table'}`"
    frame(spark, COLUMNS, files).createOrReplaceTempView("rows")
    columns = ", ".join(["id LONG", *(f"c{at} STRING" for at in range(COLUMNS))])
    count = f"SELECT count(*), count(DISTINCT c0), max(c1), max(c2) FROM {table}"
    steps.step("create", f"CREATE TABLE {table} ({columns}) USING delta TBLPROPERTIES ({PROPERTIES})")
    steps.step("write", f"INSERT INTO {table} SELECT * FROM rows")
    steps.step("read", count)
    steps.doctor("doctor")
    if sys.argv[5:] != ["short"]:
        more(steps, table, count)
    spark.stop()
    print_result(CalledSteps(steps.seen, len(list((places.data / "table").glob("*.parquet")))))


def more(steps: Steps, table: str, count: str) -> None:
    """Read as other users of the KMS, and change the table."""
    steps.step("read again", count)
    steps.own("own", str(steps.places.data / "table"))
    steps.user("reader")
    steps.step("cold read", count)
    steps.step("cold read again", count)
    steps.user("writer")
    steps.step("update", f"UPDATE {table} SET c0 = concat(c0, '-') WHERE id = 1")
    steps.step("append", f"INSERT INTO {table} SELECT * FROM rows LIMIT {ROWS_PER_FILE}")
    steps.step("optimize", f"OPTIMIZE {table}")
    steps.step("read at last", count)
    rotate(steps, table)
    steps.step("read rotated", count)
    steps.step("append rotated", f"INSERT INTO {table} SELECT * FROM rows LIMIT {ROWS_PER_FILE}")
    steps.step("read appended", count)
    steps.versions("2 2")
    fresh = Steps(steps.spark.newSession(), steps.places)
    fresh.user("retired")
    clear_logs(steps.spark)
    fresh.step("retired", count)
    steps.seen |= fresh.seen


def rotate(steps: Steps, table: str) -> None:
    """Rotate to new versions of the master keys, while the driver and executors have keys under those before."""
    steps.versions("2 1")
    path = table.removeprefix("delta.`").removesuffix("`")
    columns = {f"k{at}": [f"c{at}"] for at in range(COLUMNS)}
    enc = pme.Encryption(footer_key="footer", column_keys=columns, unlisted_columns="plaintext")
    done = pme.delta.rotate(steps.spark, path, enc)
    steps.keep("rotate", steps.spark.createDataFrame([(done.files_rewritten, done.files)]))


if __name__ == "__main__":
    main()
