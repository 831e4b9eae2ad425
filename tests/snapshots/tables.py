"""Tables of people under a KMS of the tests, and reads and seals of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from tests.support.session import TEST_KMS
from tests.support.tables import expected
from tests.support.tables import plant as plant_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

KMS = {"kms": TEST_KMS}
KEYS = KMS | {"footerKey": "footer", "columnKeys": "pii: name, ssn; pay: salary"}
MISMATCH = "PME_SNAPSHOT_MISMATCH"
READERS = {
    "pages": {"reader": "pages"},
    "spark": {"reader": "spark"},
    "v2": {"scan": "v2"},
    "v2 spark": {"scan": "v2", "reader": "spark"},
}


def write(frame: DataFrame, path: str, *partitions: str, mode: str = "error") -> None:
    """Write the frame with the usual keys."""
    frame.write.format("pme-parquet").options(**KEYS).mode(mode).partitionBy(*partitions).save(path)


def plant(frame: DataFrame, path: str, *partitions: str) -> None:
    """Put files with the usual keys into the table, by no write to it."""
    plant_files(frame.write.format("pme-parquet").options(**KEYS).partitionBy(*partitions), path)


def load(spark: SparkSession, *paths: str, **options: str) -> DataFrame:
    """Load the paths with the KMS of the tests."""
    return spark.read.format("pme-parquet").options(**KMS, **options).load(list(paths))


def ids(spark: SparkSession, *paths: str, **options: str) -> list[int]:
    """Return the ids of the table's rows, sorted."""
    return sorted(row.id for row in load(spark, *paths, **options).select("id").collect())


def seal(spark: SparkSession, path: str, **arguments: Any) -> pme.Sealed:
    """Seal the table with the KMS of the tests."""
    taken = {"expect": expected(path, arguments.get("location"))}
    return pme.seal(spark, path, options=KMS, **taken | arguments)


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
    assert plan.collectLeaves().size() == 1
    frame.collect()
    return int(leaf.metrics().apply("numFiles").value())
