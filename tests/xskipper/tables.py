"""Tables with chosen names of files, and the files that a query reads of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

from tests.support.interop.arrow_files import LocalKms
from tests.support.session import TEST_KMS
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

KMS = {"kms": TEST_KMS}
FOOTER = KMS | {"footerKey": "footer"}


def make(table: Path, schema: pa.Schema, files: Mapping[str, Sequence[tuple[object, ...]]]) -> None:
    """Write a table whose files have these names and rows, encrypted with the footer's key."""
    for name, rows in files.items():
        path = table / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        columns = {field.name: pa.array([row[at] for row in rows], field.type) for at, field in enumerate(schema)}
        config = pe.EncryptionConfiguration(footer_key="footer", uniform_encryption=True)
        properties = pe.CryptoFactory(lambda _: LocalKms()).file_encryption_properties(pe.KmsConnectionConfig(), config)
        pq.write_table(pa.table(columns), path, encryption_properties=properties)


def id_of(file: Path) -> str:
    """Return what a store calls a file: its path and modification time in milliseconds."""
    return f"{file}#{file.stat().st_mtime_ns // 1_000_000}"


def load(spark: SparkSession, table: Path, **options: str) -> DataFrame:
    """Load a table with the KMS of the tests."""
    return spark.read.format(FORMAT).options(**KMS | options).load(str(table))


def files_read(frame: DataFrame) -> list[set[str]]:
    """Return the names, below their tables, of the files that each scan of a query reads."""
    leaves: Any = frame._jdf.queryExecution().executedPlan().collectLeaves()
    found = []
    for at in range(leaves.size()):
        leaf = leaves.apply(at)
        if leaf.getClass().getSimpleName() == "BatchScanExec":
            partitions: Any = leaf.batch().planInputPartitions()
            paths = [file.urlEncodedPath() for part in list(partitions) for file in part.files()]
        else:
            listed = leaf.relation().location().listFiles(leaf.partitionFilters(), leaf.dataFilters())
            groups = [listed.apply(one).files() for one in range(listed.size())]
            paths = [group.apply(one).getPath().toString() for group in groups for one in range(group.size())]
        found.append({name_of(path) for path in paths})
    return found


def name_of(path: str) -> str:
    """Return a file's name without its ending, with its partition."""
    parts = path.split("/")
    return "/".join(parts[-2 if "=" in parts[-2] else -1 :]).removesuffix(".parquet")
