"""Every Spark type that Parquet can hold, through both readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.errors import DONE
from tests.support.session import SPARK_VERSION
from tests.support.values import INTERVALS, SIMPLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf, Pair, Source

pytestmark = pytest.mark.rows(2)


@pytest.mark.parametrize("vectorized", ["true", "false"])
@pytest.mark.parametrize("name", SIMPLE)
def test_type_reads_back(spark: SparkSession, pair: Pair, conf: Conf, name: str, vectorized: str) -> None:
    frame = spark.range(0, 9, 1, 1).selectExpr(f"IF(id = 4, NULL, {SIMPLE[name]}) AS v")

    def job(source: Source) -> DataFrame:
        source.write(frame)
        return source.read()

    with conf({"spark.sql.parquet.enableVectorizedReader": vectorized}):
        assert len(pair.same(job)) == 9


@pytest.mark.parametrize("legacy", ["true", "false"])
def test_decimals_of_every_width(spark: SparkSession, pair: Pair, conf: Conf, legacy: str) -> None:
    columns = [
        f"CAST(CASE id WHEN 0 THEN '-{'9' * (width - width // 2)}.{'9' * (width // 2)}' WHEN 1 THEN '0.1'"
        f" WHEN 2 THEN NULL ELSE '{'9' * (width - width // 2)}' END AS DECIMAL({width}, {width // 2})) AS d{width}"
        for width in range(1, 39)
    ]

    def job(source: Source) -> DataFrame:
        source.write(spark.range(0, 4, 1, 1).selectExpr(*columns))
        return source.read()

    with conf({"spark.sql.parquet.writeLegacyFormat": legacy}):
        assert len(pair.same(job)) == 4


@pytest.mark.parametrize("stored", ["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"])
@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_timestamps_as_stored(spark: SparkSession, pair: Pair, conf: Conf, stored: str, vectorized: str) -> None:
    def job(source: Source) -> DataFrame:
        source.write(spark.range(5).selectExpr("id", "TIMESTAMP'2001-02-03 04:05:06.789' + make_interval(id) AS t"))
        return source.read().where("t > TIMESTAMP'2002-01-01'")

    settings = {
        "spark.sql.parquet.outputTimestampType": stored,
        "spark.sql.parquet.enableVectorizedReader": vectorized,
    }
    with conf(settings):
        assert len(pair.same(job)) == 4


@pytest.mark.parametrize("mode", ["LEGACY", "CORRECTED"])
def test_old_dates_in_each_rebase_mode(spark: SparkSession, pair: Pair, conf: Conf, mode: str) -> None:
    def job(source: Source) -> DataFrame:
        source.write(spark.sql("SELECT DATE'1200-01-01' AS d, TIMESTAMP'1200-01-01 00:00:00' AS t"))
        return source.read()

    names = ("spark.sql.parquet.datetimeRebaseModeInWrite", "spark.sql.parquet.int96RebaseModeInWrite")
    with conf(dict.fromkeys(names, mode)):
        assert len(pair.same(job)) == 1


@pytest.mark.parametrize("name", INTERVALS)
def test_intervals_read_back(spark: SparkSession, pair: Pair, name: str) -> None:
    def job(source: Source) -> DataFrame:
        source.write(spark.range(5).selectExpr("id", f"{INTERVALS[name]} AS v"))
        frame = source.read()
        kind = frame.schema["v"].dataType.simpleString()
        return frame.selectExpr("id", "CAST(v AS STRING) AS text", f"'{kind}' AS kind")

    assert len(pair.same(job)) == 5


def test_char_and_varchar_metadata_survive(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(spark.sql("SELECT CAST('ab' AS CHAR(4)) AS c, CAST('cd' AS VARCHAR(4)) AS v"))
        return source.read()

    assert len(pair.same(job)) == 1


@pytest.mark.skipif(SPARK_VERSION < (4, 0), reason="Variant came with Spark 4.0")
@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_variant_reads_back(spark: SparkSession, pair: Pair, scan: str) -> None:
    def job(source: Source) -> DataFrame:
        source.write(
            spark.range(5).selectExpr("id", """parse_json(format_string('{"a": [%d, null], "b": "x"}', id)) AS v""")
        )
        frame = source.read(scan=scan).where("id > 1")
        return frame.selectExpr("id", "to_json(v) AS text", "variant_get(v, '$.a[0]', 'int') AS a", "v IS NULL AS n")

    assert len(pair.same(job)) == 3


@pytest.mark.skipif(SPARK_VERSION < (4, 0), reason="collations came with Spark 4.0")
def test_collated_strings_read_back(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(spark.sql("SELECT 'Straße' COLLATE UTF8_LCASE AS s"))
        return source.read().where("s = 'STRASSE' OR s = 'straße'")

    assert len(pair.same(job)) == 1


def test_calendar_intervals_are_refused_as_by_spark(spark: SparkSession, pair: Pair) -> None:
    frame = spark.range(1).selectExpr("make_interval(1, 2, 3, 4) AS v")
    outcomes = pair.outcomes(lambda source: source.write(frame))
    assert outcomes[0] == outcomes[1] != DONE


def test_void_columns_are_accepted_or_refused_as_by_spark(spark: SparkSession, pair: Pair) -> None:
    frame = spark.range(2).selectExpr("id", "NULL AS v")
    outcomes = pair.outcomes(lambda source: source.write(frame))
    assert outcomes[0] == outcomes[1]
    if outcomes[0] == DONE:
        assert len(pair.same(lambda source: source.read())) == 2
