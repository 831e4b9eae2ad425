"""A job on executors in processes of their own, which reads and writes ORC and writes down what Spark showed.

Run as ``python -m tests.orc.cluster_job DIRECTORY``.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support import encrypted_orc as orc
from tests.support import needs
from tests.support.expect import innermost_condition, outcome
from tests.support.kms.cluster_places import Places
from tests.support.kms.counting import Log, jar
from tests.support.logs import everything
from tests.support.processes import print_result
from tests.support.session import builder, session_settings
from tests.support.source import plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

EXECUTORS = 4
FILES = 200 if needs.ALL else 24
ROWS = 2 * FILES
MEMORY = 512


@dataclass(frozen=True)
class Result:
    """What came of each step, and how many executors there were."""

    done: dict[str, str]
    executors: int


def session(work: Path) -> SparkSession:
    """Return a session on several executors, with its event log and everything else logged."""
    places = Places(work)
    places.make()
    os.environ["SPARK_HOME"] = str(places.home)
    shown = places.shown
    settings = session_settings(work)
    jars = ",".join([settings["spark.jars"], str(jar(work))])
    more = {
        "spark.jars": jars,
        "spark.driver.extraJavaOptions": f"{settings['spark.driver.extraJavaOptions']} "
        f"{everything(work, shown / 'driver.log')}",
        "spark.executor.memory": f"{MEMORY}m",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": str(shown / "events"),
    }
    return builder(settings | more, f"local-cluster[{EXECUTORS},1,{MEMORY}]").getOrCreate()


def job(spark: SparkSession, work: Path) -> dict[str, str]:
    """Write and read under wrapped master keys and under keys that a KMS only wraps."""
    shown, masters = work / "shown", {"orcMasterKeys": (work / "masters.txt").read_text()}
    frame = spark.range(0, ROWS, 1, FILES).selectExpr("id", "concat('ssn-', id) AS ssn", "id * 1.5D AS salary")
    keys = {"columnKeys": f"{orc.PII}: ssn; {orc.PAY}: salary"}
    done: dict[str, str] = {}
    texts: list[str] = []

    def step(name: str, options: dict[str, str], act: Callable[[dict[str, str]], object]) -> None:
        log = Log(work / f"{name}.log")
        done[name] = outcome(lambda: act(log.options() | options), innermost_condition)

    def read(path: str, options: dict[str, str]) -> None:
        found = orc.read(spark, path, options)
        texts.extend([plan(found), repr(found), str(found._jdf.queryExecution())])
        assert orc.rows(found) == orc.rows(frame)
        assert found.where("ssn = 'ssn-7'").select("salary").collect()[0].salary == 10.5

    for name, given in (("wrapped", masters), ("material", {})):
        path = str(work / "data" / name)
        step(f"write-{name}", given | keys, lambda options, path=path: orc.save(frame, path, options))  # type: ignore[misc]
        step(f"read-{name}", given, lambda options, path=path: read(path, options))  # type: ignore[misc]
    denied = {"counting.kms.deny": orc.PII}
    step("denied", denied, lambda options: orc.read(spark, str(work / "data" / "material"), options).collect())
    (shown / "texts.txt").write_text("\n".join(texts))
    return done


def main() -> None:
    """Run the job in the directory that the command names."""
    work = Path(sys.argv[1])
    spark = session(work)
    done = job(spark, work)
    executors = int(spark._jsc.sc().getExecutorMemoryStatus().size()) - 1
    spark.stop()
    print_result(Result(done, executors))


if __name__ == "__main__":
    main()
