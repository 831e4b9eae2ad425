"""Spark's reader of single rows, behind our policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.metrics import scan_metrics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import pme_parquet as pme
    from tests.support.source import Conf

pytestmark = pytest.mark.rows(2)

ROWS = 2000


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_the_row_reader_uses_no_column_index(
    spark: SparkSession, keys: pme.Keystore, enc: pme.Encryption, target: str, conf: Conf, scan: str
) -> None:
    # With the index, parquet-java can return a value of another page.
    pages = {"parquet.page.row.count.limit": "100"}
    frame = spark.range(ROWS).coalesce(1)
    frame.write.format("pme-parquet").options(**enc.options(), **pages).save(target)
    for vectorized, read in (("false", ROWS), ("true", None)):
        with conf({"spark.sql.parquet.enableVectorizedReader": vectorized}):
            options = keys.options() | {"reader": "spark", "scan": scan}
            found = spark.read.format("pme-parquet").options(**options).load(target).where("id = 1050")
            assert [row.id for row in found.collect()] == [1050]
            rows = scan_metrics(found, ["numOutputRows"])["numOutputRows"]
            assert rows == read if read else rows < ROWS
