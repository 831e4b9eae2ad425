"""Spark reads the vectors with both of our readers. VectorsSuite of jvm/parquet shows conditions, without Spark."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

import pme_parquet as pme
from tests.vectors import index
from tests.vectors.readers import as_json

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.vectors.index import Case, Rows

READERS = ("pages", "spark")


def options(case: Case, listed: Path) -> dict[str, str]:
    """Return the options of a read; a file lists the keys."""
    listed.write_text("".join(f"{key}={base64.b64encode(case.key(key)).decode()}\n" for key in case.keys))
    found = pme.Static(pme.file(str(listed))).options() | {"algorithm": case.algorithm}
    if case.aadPrefix:
        found["aadPrefix"] = case.aadPrefix
    if not case.is_wrapped:
        found["keyManagement"] = "direct"
    if case.keyMetadata == "none":
        names = {value: key for key, value in case.keys.items()}
        columns = "; ".join(f"{names[key]}: {path}" for path, key in case.columnKeys.items())
        found |= {"footerKey": "footer"} | ({"columnKeys": columns} if columns else {})
    return found


def rows(spark: SparkSession, case: Case, given: dict[str, str]) -> Rows:
    frame = spark.read.format("pme-parquet").options(**given).load(str(case.file))
    return as_json([row.asDict(recursive=True) for row in frame.collect()])


@pytest.mark.nightly
@pytest.mark.parametrize("reader", READERS)
def test_spark_reads_valid_files_and_no_file_whose_result_is_invalid(
    spark: SparkSession, tmp_path: Path, reader: str
) -> None:
    vectors = index.load()
    wrong: list[tuple[str, Any]] = []
    for number, case in enumerate(vectors.of(index.VALID, index.INVALID)):
        given = options(case, tmp_path / f"keys-{number}.txt") | {"reader": reader}
        try:
            found: Rows | str = rows(spark, case, given)
        except PySparkException as failed:
            found = str(failed)
        if found != vectors.rows(case) and not (case.result == index.INVALID and isinstance(found, str)):
            wrong.append((case.id, found))
    # The first has an `aad_file_unique` of another length; only `reader=pages` takes keys of columns that a read names.
    refused = {"unique-16-bytes"} | ({"keys-none-columns", "nested-columns"} if reader == "spark" else set())
    assert {case for case, _ in wrong} == refused, wrong
