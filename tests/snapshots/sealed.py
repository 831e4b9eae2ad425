"""Sealed tables, read and checked: what the tests of snapshots share."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from tests.support.metrics import scan_metrics
from tests.support.sealing import expected
from tests.support.sealing import plant as plant_files
from tests.support.session import TEST_KMS
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

KMS = {"kms": TEST_KMS}
FOOTER = KMS | {"footerKey": "footer"}
READERS = {
    "pages": {"reader": "pages"},
    "spark": {"reader": "spark"},
    "v2": {"scan": "v2"},
    "v2 spark": {"scan": "v2", "reader": "spark"},
}

MISMATCH = "PME_SNAPSHOT_MISMATCH"
NOT_AUTHENTIC = "PME_SNAPSHOT_NOT_AUTHENTIC"


def save(frame: DataFrame, path: str, *partitions: str, mode: str = "error", **options: str) -> None:
    """Write the frame, by default with the footer's key for all columns."""
    frame.write.format(FORMAT).options(**FOOTER | options).mode(mode).partitionBy(*partitions).save(path)


def plant(frame: DataFrame, path: str) -> None:
    """Put files with the footer's key into the table, by no write to it."""
    plant_files(frame.write.format(FORMAT).options(**FOOTER), path)


def load(spark: SparkSession, path: str, **options: str) -> DataFrame:
    """Load the path with the KMS of the tests."""
    return spark.read.format(FORMAT).options(**KMS | options).load(path)


def seal(spark: SparkSession, path: str, *index: str, **given: Any) -> pme.Sealed:
    """Seal the table, with a min/max index on columns if there are any."""
    indexes = {"index": [pme.MinMax(*index)]} if index else {}
    taken = {"options": KMS, "expect": expected(path, given.get("location"))}
    return pme.seal(spark, path, **taken | indexes | given)


def index_file(table: str, column: str) -> Path:
    """Return the file of the only index of a column, of a table with one version and one part."""
    [manifest] = Path(table, "_pme_snapshots").glob("snapshot-*.json")
    content = json.loads(manifest.read_text().splitlines()[0])
    [field] = [index["field"] for index in content["indexes"] if index["column"] == [column]]
    [part] = content["parts"]
    [name] = [index["name"] for index in part["indexes"] if index["field"] == field]
    return manifest.with_name(name)


def ids(frame: DataFrame) -> list[int]:
    """Return the ids of the rows, sorted."""
    return sorted(row.id for row in frame.select("id").collect())


def files_read(frame: DataFrame) -> int:
    """Run the query and return how many files its only scan was given."""
    plan: Any = frame._jdf.queryExecution().executedPlan()
    leaf = plan.collectLeaves().apply(0)
    kind = leaf.getClass().getSimpleName()
    if kind == "LocalTableScanExec":
        # Spark knows that no row passes, and scans nothing.
        return 0
    if kind == "BatchScanExec":
        partitions: Sequence[Any] = list(leaf.batch().planInputPartitions())
        frame.collect()
        return len({file.urlEncodedPath() for part in partitions for file in part.files()})
    return scan_metrics(frame, ["numFiles"])["numFiles"]


def paths_listed(frame: DataFrame) -> list[str]:
    """Return the paths of the files that the query's only scan reads, sorted; without running the query."""
    plan: Any = frame._jdf.queryExecution().executedPlan()
    leaf = plan.collectLeaves().apply(0)
    kind = leaf.getClass().getSimpleName()
    if kind == "LocalTableScanExec":
        return []
    if kind == "BatchScanExec":
        partitions: Sequence[Any] = list(leaf.batch().planInputPartitions())
        return sorted({file.urlEncodedPath() for part in partitions for file in part.files()})
    found = leaf.relation().location().listFiles(leaf.partitionFilters(), leaf.dataFilters())
    directories = [found.apply(at) for at in range(found.size())]
    return sorted(one.files().apply(at).getPath().toString() for one in directories for at in range(one.files().size()))


def statistics(frame: DataFrame) -> dict[str, Any]:
    """Return what the connector says of the query's scans."""
    jvm: Any = frame.sparkSession._jvm
    found: dict[str, Any] = json.loads(jvm.io.pmeparquet.spark.admin.QueryStatistics.json(frame._jdf))
    return found


def explained(frame: DataFrame) -> list[str]:
    """Return what ``EXPLAIN`` says of the files of each scan of ours."""
    text = frame._jdf.queryExecution().executedPlan().toString()
    found = re.findall(r"Format: PmeParquet \((.*?)\), Location|Files: (.*) RuntimeFilters", text)
    return ["".join(one) for one in found]
