"""The process that measures: one job as JSON on standard input, one line of JSON as the result.

    python -m bench.worker < job.json

Each process is new, and so is its JVM. The first repetition of the first step is what *cold* means.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from bench.job import RESULT_MARK
from bench.meter import JvmMeter, Reading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bench.job import Job, Result, Rows, Sink, Step, StepResult, View


def main() -> int:
    """Run the job and print the result."""
    job: Job = json.load(sys.stdin)
    if job["engine"] == "spark":
        result = run_spark(job)
    else:
        from bench import outsiders  # noqa: PLC0415  Spark's processes should not load other engines

        result = outsiders.run(job)
    sys.stdout.write(f"\n{RESULT_MARK}{json.dumps(result)}\n")
    return 0


def run_spark(job: Job) -> Result:
    """Run the steps in one new Spark session."""
    from pyspark.sql import SparkSession  # noqa: PLC0415  the other engines' processes should not load Spark

    builder = SparkSession.builder.master("local[2]").appName("pme-parquet bench")
    for name, value in job["settings"].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        spark.sparkContext.setLogLevel("ERROR")
        meter = JvmMeter(spark)
        steps = [measure(spark, meter, step) for step in job["steps"]]
        return {"versions": {"spark": spark.version} | meter.versions(), "steps": steps, "cannot": None}
    finally:
        spark.stop()


def measure(spark: SparkSession, meter: JvmMeter, step: Step) -> StepResult:
    """Repeat a step, and check its rows afterwards if the job wants that."""
    repetitions = []
    answer: list[list[str]] | None = None
    meter.reset_peak()
    for _ in range(step["repetitions"]):
        before = Reading.before(meter)
        answer = drain(query(spark, step), step["sink"])
        repetitions.append(before.until_now(meter))
    return {
        "name": step["name"],
        "repetitions": repetitions,
        "peak": meter.peak(),
        "answer": answer,
        "rows": rows(spark, step) if step["check"] else None,
    }


def query(spark: SparkSession, step: Step) -> DataFrame:
    """Read the step's views and plan its query."""
    for name, view in step["views"].items():
        load(spark, view).createOrReplaceTempView(name)
    return spark.sql(step["sql"])


def load(spark: SparkSession, view: View) -> DataFrame:
    """Read one view."""
    return spark.read.format(view["format"]).options(**view["options"]).load(view["path"])


def drain(frame: DataFrame, sink: Sink) -> list[list[str]] | None:
    """Run the query; return its rows if their destination is the driver."""
    if sink["kind"] == "collect":
        return [[str(value) for value in row] for row in frame.collect()]
    if sink["kind"] == "columns":
        drain_columns(frame)
        return None
    if sink["kind"] == "noop":
        frame.write.format("noop").mode("overwrite").save()
        return None
    if "partitions" in sink:
        frame = frame.repartition(sink["partitions"], sink["partition_by"])
    target = sink["write"]
    frame.write.format(target["format"]).options(**target["options"]).mode("overwrite").save(target["path"])
    return None


def drain_columns(frame: DataFrame) -> None:
    """Let the scan make its batches without turning them into rows: what is left is reading and decoding."""
    leaves: Any = frame._jdf.queryExecution().executedPlan().collectLeaves()  # noqa: SLF001  no public way to the plan
    scan = leaves.head()
    if leaves.size() != 1 or not scan.supportsColumnar():
        raise ValueError(f"This is no scan that gives columns: {scan.nodeName()}")
    scan.executeColumnar().count()


def rows(spark: SparkSession, step: Step) -> Rows:
    """Count the rows of the query, or those it wrote, and add up a hash of all their columns: order does not matter."""
    sink = step["sink"]
    frame = load(spark, sink["read"]) if sink["kind"] == "write" else query(spark, step)
    frame.createOrReplaceTempView("checked")
    [found] = spark.sql("SELECT count(*), sum(CAST(xxhash64(*) AS DECIMAL(38, 0))) FROM checked").collect()
    return {"count": int(found[0]), "hash": str(found[1])}


if __name__ == "__main__":
    sys.exit(main())
