"""Options of the JVMs of the tests, which live for seconds: together they take two thirds off the cost of a Spark.

Nothing is compiled by the optimizing compiler, and Spark's classes are loaded and checked once for all JVMs.

``python -m tests.support.archive`` makes the archive of the installed PySpark, in its virtual environment. The tests
run without one as well. A JVM with a class path that begins differently from Spark's ignores it without a message.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

ARCHIVE = Path(sys.prefix) / "spark.jsa"

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_OF_ARCHIVE = f" -Xshare:auto -Xlog:disable -XX:SharedArchiveFile={ARCHIVE}" if ARCHIVE.exists() else ""
OPTIONS = f"{QUICK}{_OF_ARCHIVE}"

# In the environment, because a JVM that loads Spark's classes takes no other option silently.
VARIABLES = {"SPARK_SUBMIT_OPTS": OPTIONS}
# Executors are JVMs of their own.
OF_EXECUTORS = {"spark.executor.extraJavaOptions": OPTIONS}


def make() -> None:
    """Write the classes that a Spark loads to start, write, read and end."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"{QUICK} -XX:ArchiveClassesAtExit={ARCHIVE} -Xlog:disable",
    }
    with tempfile.TemporaryDirectory() as scratch:
        made = SparkSession.builder.master("local[2]").appName("archive")
        for name, value in settings.items():
            made = made.config(name, value)
        spark = made.config("spark.sql.warehouse.dir", scratch).getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        table = f"{scratch}/table"
        spark.createDataFrame([(at, str(at)) for at in range(9)], "id bigint, name string").write.parquet(table)
        for scan in ("parquet", ""):
            spark.conf.set("spark.sql.sources.useV1SourceList", scan)
            found = spark.read.parquet(table)
            found.groupBy("name").count().join(found, "name").where("id > 3").orderBy("id").collect()
        gateway = SparkContext._gateway
        assert gateway is not None
        spark.stop()
        gateway.shutdown()
        # When its parent closes this, the JVM ends and writes the archive.
        gateway.proc.stdin.close()
        gateway.proc.wait()
    assert ARCHIVE.exists()


if __name__ == "__main__":
    ARCHIVE.unlink(missing_ok=True)
    make()
