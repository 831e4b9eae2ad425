"""A job that runs the checks of `examples/databricks` in a Spark that has Delta.

Run as ``python -m tests.delta.platform_job DIRECTORY``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from tests.delta.delta_tables import FILES
from tests.delta.platform_checks import checks
from tests.support.processes import print_result
from tests.support.session import EXTENSION, builder, session_settings


@dataclass(frozen=True)
class Promise:
    """What the checks found of one promise."""

    promise: str
    found: str
    detail: str


@dataclass(frozen=True)
class Result:
    promises: list[Promise]


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
    found = [Promise(*one) for one in checks().run(spark, str(work / "platform"))]
    spark.stop()
    print_result(Result(found))


if __name__ == "__main__":
    main()
