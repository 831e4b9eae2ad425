"""Row groups and pages that are skipped by encrypted statistics, page indexes and Bloom filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as spark_functions

from tests.support.metrics import rows_scanned
from tests.support.source import plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf, Pair, Source

pytestmark = pytest.mark.rows(2)

SMALL_PAGES = {"parquet.page.row.count.limit": "100"}
BLOOM = {"parquet.bloom.filter.enabled#name": "true", "parquet.enable.dictionary": "false"}
TOTAL = 5000


def numbers(spark: SparkSession) -> DataFrame:
    return spark.range(0, TOTAL, 1, 1).selectExpr("id", "concat('name-', sha2(CAST(id AS STRING), 256)) AS name")


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_the_page_index_skips_pages(spark: SparkSession, pair: Pair, scan: str) -> None:
    def job(source: Source) -> DataFrame:
        source.write(numbers(spark), "overwrite", **SMALL_PAGES)
        return source.read(scan=scan).where("id IN (17, 4321)").select("id")

    # With no column except the filter's there is nothing to read later, and pages are read whole.
    assert len(pair.same(job)) == 2
    assert rows_scanned(job(pair.ours)) == 200


def test_statistics_skip_the_row_group(spark: SparkSession, ours: Source) -> None:
    ours.write(numbers(spark))
    assert rows_scanned(ours.read().where(f"id > {TOTAL}")) == 0


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_a_bloom_filter_skips_the_row_group(spark: SparkSession, ours: Source, scan: str) -> None:
    ours.write(numbers(spark), **BLOOM)
    assert rows_scanned(ours.read(scan=scan).where("name = 'name-5-not-there'")) == 0


def test_without_a_bloom_filter_the_row_group_is_read(spark: SparkSession, ours: Source) -> None:
    ours.write(numbers(spark), **{"parquet.enable.dictionary": "false"})
    assert rows_scanned(ours.read().where("name = 'name-5-not-there'").select("name")) > 0


def test_a_bloom_filter_lets_present_values_through(spark: SparkSession, pair: Pair) -> None:
    name = numbers(spark).where("id = 1234").collect()[0].name

    def job(source: Source) -> DataFrame:
        source.write(numbers(spark), **BLOOM)
        return source.read().where(f"name = '{name}'")

    assert len(pair.same(job)) == 1


def test_a_dictionary_skips_the_row_group(spark: SparkSession, ours: Source) -> None:
    ours.write(spark.range(0, TOTAL, 1, 1).selectExpr("id", "concat('v', 2 * (id % 9)) AS v"))
    assert rows_scanned(ours.read().where("v = 'v15'")) == 0


def test_a_bloom_filter_of_a_plaintext_column_lets_present_values_through(spark: SparkSession, ours: Source) -> None:
    # A small file: all of it is read with its tail.
    frame = spark.range(0, 100, 1, 1).selectExpr("id", "concat('name-', id) AS name")
    encrypted = {"columnKeys": "pii: id", "unlistedColumns": "plaintext"}
    ours.write(frame, **BLOOM, **encrypted, **{"parquet.bloom.filter.max.bytes": "256"})
    assert ours.read().where("name = 'name-7'").count() == 1
    assert rows_scanned(ours.read().where("name = 'name-700'")) == 0


@pytest.mark.parametrize("zero", ["0.0D", "-0.0D"])
@pytest.mark.parametrize("dictionary", ["true", "false"])
def test_zeros_of_either_sign_are_found(spark: SparkSession, ours: Source, zero: str, dictionary: str) -> None:
    frame = spark.range(0, 10, 1, 1).selectExpr("id", "IF(id < 5, -0.0D, 3.0D) AS number")
    bloom = {"parquet.bloom.filter.enabled#number": "true", "parquet.enable.dictionary": dictionary}
    ours.write(frame, **bloom)
    assert ours.read().where(f"number = {zero}").count() == 5
    assert ours.read().where(f"number IN ({zero}, 7.0D)").count() == 5
    assert ours.read().where(f"number >= {zero} AND number < 1").count() == 5


@pytest.mark.parametrize("scan", ["v1", "v2"])
@pytest.mark.parametrize(
    "condition", ["scattered = 642", "scattered IN (642, 644)", "CAST(scattered AS STRING) LIKE '%642'"]
)
def test_other_columns_are_decoded_only_for_matching_rows(
    spark: SparkSession, pair: Pair, scan: str, condition: str
) -> None:
    # Every page of `scattered` spans all of its values, so no index excludes one.
    others = [f"id * {number} AS other_{number}" for number in range(8)]
    frame = spark.range(0, 1000, 1, 1).selectExpr("id", "pmod(id * 321, 1000) * 2 AS scattered", *others)

    def job(source: Source) -> DataFrame:
        source.write(frame, "overwrite", **SMALL_PAGES)
        return (source.read(scan=scan) if source is pair.ours else source.read()).where(condition)

    matches = len(pair.same(job))
    assert 0 < matches < 20
    assert rows_scanned(job(pair.ours)) == matches


def test_the_same_scan_is_planned_once(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    def job(source: Source) -> DataFrame:
        source.write(numbers(spark), "overwrite")
        one, other = (source.read().where("name LIKE 'name-1%'").groupBy("id").count() for _ in range(2))
        return one.join(other.withColumnRenamed("count", "again"), "id")

    with conf({"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.adaptive.enabled": "false"}):
        assert pair.same(job)
        assert plan(job(pair.ours)).count("ReusedExchange") == plan(job(pair.theirs)).count("ReusedExchange") > 0


def test_a_filter_that_matches_rows_in_most_pages_is_left_to_spark(spark: SparkSession, ours: Source) -> None:
    others = [f"id * {number} AS other_{number}" for number in range(8)]
    frame = spark.range(0, 1000, 1, 1).selectExpr("id", "pmod(id, 50) AS scattered", *others)
    ours.write(frame, **SMALL_PAGES)
    assert rows_scanned(ours.read().where("scattered = 7")) == 1000
    assert ours.read().where("scattered = 7").count() == 20


def test_a_filter_on_most_columns_is_left_to_spark(spark: SparkSession, ours: Source) -> None:
    ours.write(numbers(spark).withColumn("third", spark_functions.expr("id * 3")), **SMALL_PAGES)
    found = ours.read().where("id % 1000 = 7 AND name IS NOT NULL AND name > 'a'")
    assert rows_scanned(found) == TOTAL
    assert found.count() == 5
