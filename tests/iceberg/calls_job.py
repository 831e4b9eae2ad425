"""A job on one encrypted table of a real Iceberg with a KMS that counts its calls.

Run as ``python -m tests.iceberg.calls_job DIRECTORY VERSION MASTER FILES``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.iceberg.iceberg_job import EXTENSIONS, FILES, KEY, OURS, runtime, settings
from tests.support import metastore
from tests.support.kms.cluster_places import Places
from tests.support.kms.counting import KMS, Called, CalledSteps, Log, frame, jar
from tests.support.processes import print_result
from tests.support.session import VERSION, builder, session_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = "hadoop.counting.kms.log"


def session(places: Places, version: str, master: str) -> SparkSession:
    common = metastore.settings(places.work, session_settings(places.work))
    jars = [jar(places.work), FILES / f"pme-parquet-iceberg-{VERSION}.jar", runtime(version)]
    more = {
        "spark.sql.extensions": EXTENSIONS,
        "spark.jars": ",".join(map(str, jars)),
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
        "spark.locality.wait": "0s",
    }
    if master.startswith("local-cluster"):
        os.environ["SPARK_HOME"] = str(places.home)
        more |= {
            "spark.executor.memory": "1024m",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        }
    for name in ("writer", "reader"):
        client = {"encryption.kms-impl": OURS, "pme-parquet.kms": KMS, LOG: str(places.log(name))}
        more |= settings(name, places.work, client)
    started = builder(common | more, master).getOrCreate()
    started.sparkContext.setLogLevel("OFF")
    return started


def main() -> None:
    work, version, master, files = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    places = Places(work)
    places.make()
    spark = session(places, version, master)
    seen: dict[str, Called] = {}
    done = dict.fromkeys(("writer", "reader"), 0)

    def step(name: str, user: str, text: str) -> None:
        seen[name] = Called.of(spark.sql(text.format(user=user)), Log(places.log(user)), done[user])
        done[user] += len(seen[name].calls)

    frame(spark, 3, files).createOrReplaceTempView("rows")
    properties = f"'format-version' = '3', 'encryption.key-id' = '{KEY}', 'write.distribution-mode' = 'none'"
    count = "SELECT count(*), count(DISTINCT c0), max(c1), max(c2) FROM {user}.db.t"
    spark.sql("CREATE DATABASE writer.db")
    columns = "id BIGINT, c0 STRING, c1 STRING, c2 STRING"
    step("create", "writer", f"CREATE TABLE {{user}}.db.t ({columns}) USING iceberg TBLPROPERTIES ({properties})")
    step("write", "writer", "INSERT INTO {user}.db.t TABLE rows")
    step("read", "writer", count)
    step("cold read", "reader", count)
    step("read again", "reader", count)
    step("append", "writer", "INSERT INTO {user}.db.t SELECT * FROM rows LIMIT 2")
    step("update", "writer", "UPDATE {user}.db.t SET c0 = concat(c0, '-') WHERE id = 1")
    step("compact", "writer", "CALL {user}.system.rewrite_data_files(table => 'db.t')")
    step("read at last", "writer", count)
    spark.stop()
    print_result(CalledSteps(seen, len(list((work / "warehouse").rglob("data/*.parquet")))))


if __name__ == "__main__":
    main()
