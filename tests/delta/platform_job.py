"""A job that runs the checks of `examples/databricks` in a Spark that has Delta.

Run as ``python -m tests.delta.platform_job DIRECTORY``. It prints what came of each promise as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.delta.delta_tables import FILES
from tests.delta.platform_checks import checks
from tests.support.session import EXTENSION, builder, session_settings


def main() -> None:
    work = Path(sys.argv[1])
    common = session_settings(work)
    more = {
        "spark.jars": ",".join([common["spark.jars"], *map(str, sorted(FILES.glob("*.jar")))]),
        "spark.sql.extensions": f"{EXTENSION},io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    spark = builder(common | more).getOrCreate()
    found = {one.promise: (one.found, one.detail) for one in checks().run(spark, str(work / "platform"))}
    spark.stop()
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
