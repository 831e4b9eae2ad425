"""Expressions that Spark interprets: it does so where generated code does not compile, and in these settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.session import TEST_KMS
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.source import Conf

pytestmark = [pytest.mark.all_rows, pytest.mark.oldest]

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_a_null_within_a_struct_is_no_value(spark: SparkSession, target: str, conf: Conf, scan: str) -> None:
    structs = [None, (None, "x"), (5, None), (0, "y")]
    rows = list(enumerate(structs))
    frame = spark.createDataFrame(rows, "id bigint, s struct<n: bigint, word: string>").coalesce(1)
    frame.write.format(FORMAT).options(kms=TEST_KMS, footerKey="footer").save(target)
    with conf(INTERPRETED):
        read = spark.read.format(FORMAT).options(kms=TEST_KMS, scan=scan).load(target)
        assert [row.n for row in read.selectExpr("s.n", "id").orderBy("id").collect()] == [None, None, 5, 0]
        for condition, ids in {"s.n IS NULL": [0, 1], "s.n <> 7": [2, 3], "s.word IS NULL": [0, 2]}.items():
            assert sorted(row.id for row in read.where(condition).select("id").collect()) == ids, condition
