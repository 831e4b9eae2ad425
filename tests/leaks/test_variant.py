"""Variant columns: their leaves are chosen while the file is written, and every one of them must be covered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.leaks.canaries import OPEN
from tests.support import needs
from tests.support.canary import assert_no_canaries, find_canaries
from tests.support.source import rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf, Source

pytestmark = [needs.spark((4, 0), "Variant came with Spark 4.0"), pytest.mark.rows(2)]

PLAIN = {"compression": "uncompressed", "unlistedColumns": "plaintext"}
SHREDDING = {
    "spark.sql.variant.writeShredding.enabled": "true",
    "spark.sql.variant.inferShreddingSchema": "true",
    "spark.sql.variant.allowReadingShredded": "true",
}


def variants(spark: SparkSession) -> DataFrame:
    json = """format_string('{"who": "canary-who-%d", "where": {"street": "canary-where-%d"}}', id, id)"""
    return spark.range(0, 40, 1, 1).selectExpr(
        "id",
        f"parse_json({json}) AS v",
        f"named_struct('inner', parse_json({json})) AS s",
        "concat('canary-open-', id) AS o",
    )


@pytest.mark.parametrize("shredding", ["true", "false"])
def test_a_protected_variant_is_unreadable(spark: SparkSession, ours: Source, conf: Conf, shredding: str) -> None:
    with conf(dict.fromkeys(SHREDDING, shredding) | {"spark.sql.variant.allowReadingShredded": "true"}):
        ours.write(variants(spark), **PLAIN, columnKeys="pii: v; pay: s.inner")
        assert find_canaries(ours.path, [OPEN])
        assert_no_canaries(ours.path, ["canary-who", "canary-where"])
        query = ("id", "to_json(v) AS v", "to_json(s.inner) AS s", "o")
        assert rows(ours.read().selectExpr(*query)) == rows(variants(spark).selectExpr(*query))
