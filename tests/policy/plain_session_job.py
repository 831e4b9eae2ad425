"""Writes and reads in each way, without our extension: ``plain_session_job.py SCRATCH KEYSTORE_OPTIONS``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.support.session import builder, session_settings
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

OURS = "spark.datasource.pme-parquet."
ROWS = 3


def plain_session(scratch: Path) -> SparkSession:
    """Return a session with the jar and nothing else of ours."""
    settings = session_settings(scratch)
    del settings["spark.sql.extensions"]
    return builder(settings, "local[1]").getOrCreate()


def ways(spark: SparkSession, path: str, kms: dict[str, str]) -> dict[str, Callable[[], int]]:
    """Return ways to count the rows of a table."""
    reader = spark.read.format(FORMAT).options(**kms)
    listed = ", ".join(f"`{name}` '{value}'" for name, value in kms.items())

    def temporary_view() -> int:
        spark.sql(f"CREATE TEMPORARY VIEW view USING `{FORMAT}` OPTIONS (path '{path}', {listed})")
        return spark.table("view").count()

    def stream() -> int:
        source = spark.readStream.schema("id BIGINT").format(FORMAT).options(**kms).load(path)
        sink = source.writeStream.format(FORMAT).options(**kms, footerKey="footer")
        sink.option("checkpointLocation", f"{path}-checkpoint").trigger(availableNow=True).start(
            f"{path}-copy"
        ).awaitTermination()
        return spark.read.format(FORMAT).options(**kms).load(f"{path}-copy").count()

    def table() -> int:
        spark.range(ROWS).write.format(FORMAT).options(**kms, footerKey="footer").saveAsTable("stored")
        return 0

    def stored() -> int:
        return spark.table("stored").count()

    def stored_with_session() -> int:
        for name, value in kms.items():
            spark.conf.set(OURS + name, value)
        return spark.table("stored").count()

    return {
        "frame": lambda: reader.load(path).count(),
        "v2": lambda: spark.read.format(FORMAT).options(**kms, scan="v2").load(path).count(),
        "temporary view": temporary_view,
        "stream": stream,
        "saveAsTable": table,
        "stored": stored,
        "stored, with the session's KMS": stored_with_session,
        "path in SQL": lambda: spark.sql(f"SELECT * FROM `{FORMAT}`.`{path}`").count(),
        "new session": lambda: spark.newSession().read.format(FORMAT).options(**kms).load(path).count(),
    }


def outcome(way: Callable[[], int]) -> int | str:
    try:
        return way()
    except pme.PmeError as error:
        return error.condition


def main(scratch: str, keys: str) -> None:
    """Print for each way the number of rows, or the condition of the refusal."""
    kms: dict[str, str] = json.loads(keys)
    spark = plain_session(Path(scratch))
    path = f"{scratch}/table"
    spark.range(ROWS).write.format(FORMAT).options(**kms, footerKey="footer").save(path)
    told = {name: outcome(way) for name, way in ways(spark, path, kms).items()}
    spark.sql("DROP TABLE stored")
    sys.stdout.write(json.dumps(told) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
