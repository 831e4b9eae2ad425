"""Files that do not match the query: ``reader=pages`` gives the same result as Spark."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from tests.support.errors import DONE, condition
from tests.support.frames import people
from tests.support.interop import arrow_files
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf, Pair, Source

pytestmark = pytest.mark.rows(2)

PAGED = {"parquet.page.row.count.limit": "10", "compression": "snappy"}
VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
NESTED = "spark.sql.parquet.enableNestedColumnVectorizedReader"

MODES = {
    "vectorized": {VECTORIZED: "true", NESTED: "true"},
    "small_batches": {VECTORIZED: "true", NESTED: "true", "spark.sql.parquet.columnarReaderBatchSize": "7"},
    "rows_of_nested": {VECTORIZED: "true", NESTED: "false"},
    "rows": {VECTORIZED: "false"},
    "filtered_rows": {VECTORIZED: "false", "spark.sql.parquet.recordLevelFilter.enabled": "true"},
}
every_mode = pytest.mark.parametrize("mode", MODES)


def write(readers: Pair, frame: DataFrame, **options: str) -> None:
    readers.ours.write(frame.coalesce(1), "append", **PAGED, **options)


def same(readers: Pair, query: Callable[[Source], DataFrame], by: Callable[[BaseException], str] = condition) -> str:
    """Fail unless both readers give the same rows or fail with the same condition; return the outcome."""
    went = readers.outcomes(lambda source: query(source).collect(), by)
    assert went[0] == went[1]
    if went[0] == DONE:
        readers.same(query)
    return went[0]


def rows(
    condition: str = "true", columns: Sequence[str] = ("*",), schema: str | StructType | None = None, **options: str
) -> Callable[[Source], DataFrame]:
    """Return the query for some rows and columns, for either reader."""

    def query(source: Source) -> DataFrame:
        reader = source.reader(**options)
        frame = (reader if schema is None else reader.schema(schema)).load(source.path)
        return frame.where(condition).selectExpr(*columns)

    return query


def wide(spark: SparkSession, start: int = 0) -> DataFrame:
    return spark.range(start, start + 100, 1, 1).selectExpr(
        "id",
        "CAST(id AS INT) AS i",
        "CAST(id AS TINYINT) AS b",
        "CAST(id / 4 AS FLOAT) AS f",
        "CAST(id / 8 AS DECIMAL(7, 2)) AS d",
        "date_add(DATE'2020-01-01', CAST(id AS INT)) AS day",
        "timestamp_micros(id * 1000000) AS at",
        "IF(id % 5 = 0, NULL, concat('t', id % 7)) AS t",
        "named_struct('x', id, 'y', concat('y', id)) AS s",
        "array(named_struct('x', id)) AS l",
        "map(concat('k', id % 3), named_struct('x', id)) AS m",
    )


@every_mode
@pytest.mark.parametrize(
    "condition",
    [
        "none IS NULL",
        "none = 3",
        "none <=> NULL AND id > 95",
        "none = 3 OR id = 7",
        "s.none IS NULL AND id < 5",
        "s.none = 'v' OR s.x = 55",
        "NOT (none = 3)",
        "coalesce(none, 3) = 3 AND id IN (1, 50, 99)",
        "id > 97 AND none2.a IS NULL",
    ],
)
def test_columns_that_the_file_lacks(spark: SparkSession, readers: Pair, conf: Conf, mode: str, condition: str) -> None:
    write(readers, wide(spark))
    schema = (
        "none INT, id BIGINT, s STRUCT<none: STRING, x: BIGINT>, none2 STRUCT<a: INT, b: ARRAY<INT>>, "
        "l ARRAY<STRUCT<none: INT, x: BIGINT>>, m MAP<STRING, STRUCT<x: BIGINT, none: INT>>, t STRING"
    )
    with conf(MODES[mode]):
        readers.same(rows(condition, schema=schema))


@every_mode
def test_columns_if_the_file_has_none_of_them(spark: SparkSession, readers: Pair, conf: Conf, mode: str) -> None:
    write(readers, wide(spark))
    schema = "none INT, s STRUCT<none: STRING>, l ARRAY<STRUCT<none: INT>>, other STRING"
    with conf(MODES[mode]):
        for columns in (["none"], ["s"], ["l"], ["none", "s", "other"], ["s.none"]):
            assert len(readers.same(rows(columns=columns, schema=schema))) == 100


@every_mode
@pytest.mark.parametrize("condition", ["b = 25.0 OR a = 'a7'", "s.y = 'q' AND id > 90", "a IS NULL", "b IS NOT NULL"])
def test_merged_schemas(spark: SparkSession, readers: Pair, conf: Conf, mode: str, condition: str) -> None:
    write(readers, spark.range(100).selectExpr("id", "concat('a', id) AS a", "named_struct('x', id) AS s"))
    write(readers, spark.range(100).selectExpr("id", "id * 2.5D AS b", "named_struct('x', id, 'y', 'q') AS s"))
    with conf(MODES[mode]):
        assert readers.same(rows(condition, ("id", "a", "b", "s"), mergeSchema="true"))


@every_mode
@pytest.mark.parametrize(
    ("schema", "condition"),
    [
        ("i BIGINT, id BIGINT", "i = 77"),
        ("i DOUBLE", "i > 90.5D"),
        ("i DECIMAL(20, 2)", "i = 5"),
        ("b INT", "b < 3"),
        ("b BIGINT, i INT", "b < 3 OR i = 50"),
        ("b SHORT", "b IN (1, 2)"),
        ("f DOUBLE", "f >= 24.5D"),
        ("d DECIMAL(12, 2)", "d = 1.25"),
        ("d DECIMAL(12, 4)", "d = 1.25"),
        ("d DECIMAL(5, 2)", "d = 1.25"),
        ("day TIMESTAMP_NTZ", "day > TIMESTAMP_NTZ'2020-03-01 00:00:00'"),
        ("id INT", "id = 3"),
        ("id STRING", "id = '3'"),
        ("t INT", "t = 3"),
        ("t BINARY", "t = X'7433'"),
        ("at BIGINT", "at > 3"),
        ("at TIMESTAMP_NTZ", "at > TIMESTAMP_NTZ'1970-01-01 00:01:00'"),
        ("s STRUCT<x: INT>", "s.x = 3"),
        ("s BIGINT", "s = 3"),
        ("l ARRAY<STRUCT<x: DOUBLE>>", "l[0].x > 97"),
        ("m MAP<STRING, STRUCT<x: INT>>", "m['k1'].x > 90"),
        ("l MAP<STRING, INT>", "l IS NOT NULL"),
    ],
)
def test_types_other_than_those_of_the_file(
    spark: SparkSession, readers: Pair, conf: Conf, mode: str, schema: str, condition: str
) -> None:
    write(readers, wide(spark))
    with conf(MODES[mode]):
        same(readers, rows(schema=schema))
        same(readers, rows(condition, schema=schema))


@every_mode
@pytest.mark.parametrize("condition", ["true", "c = 42", "c <> 42", "c = 42 AND id = 3", "t = 'none' OR id = 5"])
def test_default_values_of_columns_that_came_later(
    spark: SparkSession, readers: Pair, conf: Conf, mode: str, condition: str
) -> None:
    write(readers, spark.range(100))
    write(readers, spark.range(100, 130).selectExpr("id", "CAST(id AS INT) AS c", "'some' AS t"))
    schema = StructType(
        [
            StructField("id", LongType()),
            StructField("c", IntegerType(), metadata={"EXISTS_DEFAULT": "42", "CURRENT_DEFAULT": "42"}),
            StructField("t", StringType(), metadata={"EXISTS_DEFAULT": "'none'", "CURRENT_DEFAULT": "'x'"}),
        ]
    )
    with conf(MODES[mode]):
        assert readers.same(rows(condition, schema=schema)) or (condition == "t = 'none' OR id = 5")


@every_mode
@pytest.mark.parametrize("sensitive", ["true", "false"])
def test_names_in_another_case(spark: SparkSession, readers: Pair, conf: Conf, mode: str, sensitive: str) -> None:
    write(readers, wide(spark))
    with conf({**MODES[mode], "spark.sql.caseSensitive": sensitive}):
        for condition in ("ID = 3", "S.X > 90", "T IS NULL", "NOT (T = 't3') AND ID < 40"):
            schema = "ID BIGINT, T STRING, S STRUCT<X: BIGINT, Y: STRING>, L ARRAY<STRUCT<X: BIGINT>>"
            same(readers, rows(condition, schema=schema))


@every_mode
def test_names_that_differ_only_in_case(spark: SparkSession, readers: Pair, conf: Conf, mode: str) -> None:
    with conf({**MODES[mode], "spark.sql.caseSensitive": "true"}):
        write(readers, spark.range(100).selectExpr("id AS a", "id * 10 AS A"))
        assert len(readers.same(rows("A > 10 AND a < 50"))) == 48
    with conf({**MODES[mode], "spark.sql.caseSensitive": "false"}):
        same(readers, rows("a = 10", schema="a BIGINT"))


@every_mode
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t WHERE p = 1 AND id > 40",
        "SELECT p FROM t",
        "SELECT p, count(*) FROM t GROUP BY p",
        "SELECT id, p FROM t WHERE id = p",
        "SELECT p, q, s.x FROM t WHERE s.x % 10 = p OR q = 'v2'",
        "SELECT count(*) FROM t",
        "SELECT count(*) FROM t WHERE id > 77",
        "SELECT count(*), max(p) FROM t WHERE p > 0",
        "SELECT 1 FROM t WHERE t IS NULL",
    ],
)
def test_partitions_counts_and_places(spark: SparkSession, readers: Pair, conf: Conf, mode: str, query: str) -> None:
    frame = wide(spark).selectExpr("*", "id % 3 AS p", "concat('v', id % 3) AS q").coalesce(1)
    readers.ours.writer(frame, **PAGED).partitionBy("p", "q").save(readers.ours.path)

    def job(source: Source) -> DataFrame:
        source.read().createOrReplaceTempView("t")
        return source.spark.sql(query)

    with conf(MODES[mode]):
        assert readers.same(job)
    spark.catalog.dropTempView("t")


@every_mode
def test_a_partition_column_that_is_also_in_the_files(
    spark: SparkSession, readers: Pair, conf: Conf, mode: str
) -> None:
    readers.ours.writer(spark.range(0, 50, 1, 1).selectExpr("id", "id AS p", "'a' AS z"), **PAGED).save(
        f"{readers.ours.path}/p=1"
    )
    with conf(MODES[mode]):
        readers.same(rows())
        readers.same(rows("p = 1 AND id = 7"))
        readers.same(rows("p = 7 OR id = 7"))


OLD = [dt.date(1200, 1, 1), dt.date(1582, 10, 4), dt.date(1582, 10, 15), dt.date(1900, 1, 1), dt.date(2020, 2, 2), None]


@every_mode
@pytest.mark.parametrize("written", ["LEGACY", "CORRECTED"])
@pytest.mark.parametrize("stored", ["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"])
def test_old_dates_as_they_were_written(
    spark: SparkSession, readers: Pair, conf: Conf, mode: str, written: str, stored: str
) -> None:
    names = ("spark.sql.parquet.datetimeRebaseModeInWrite", "spark.sql.parquet.int96RebaseModeInWrite")
    settings = {**dict.fromkeys(names, written), "spark.sql.parquet.outputTimestampType": stored}
    with conf(settings):
        write(
            readers,
            spark.range(0, 300, 1, 1).selectExpr(
                "id",
                "date_add(DATE'1200-01-01', CAST(id * 1000 AS INT)) AS d",
                "TIMESTAMP'1200-01-01 00:00:00' + make_dt_interval(CAST(id * 1000 AS INT)) AS t",
                "named_struct('d', DATE'1100-02-28', 't', TIMESTAMP'1100-02-28 12:00:00') AS s",
            ),
        )
    text = ["id", "CAST(d AS STRING)", "CAST(t AS STRING)", "CAST(s AS STRING)"]
    with conf(MODES[mode]):
        assert len(readers.same(rows(columns=text))) == 300
        for condition in (
            "d = DATE'1200-01-01'",
            "d < DATE'1300-01-01' AND t > TIMESTAMP'1210-01-01 00:00:00'",
            "d > DATE'1990-01-01' OR s.d IS NULL",
        ):
            assert readers.same(rows(condition, text)), condition


def arrow_moments(count: int = 60) -> pa.Table:
    days = [OLD[at % len(OLD)] for at in range(count)]
    moments = [None if day is None else dt.datetime(day.year, day.month, day.day, 3, 4, 5) for day in days]  # noqa: DTZ001
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "d": pa.array(days, pa.date32()),
            "t": pa.array(moments, pa.timestamp("us", tz="UTC")),
            "raw": pa.array([f"r{at}".encode() for at in range(count)], pa.binary()),
        }
    )


@every_mode
@pytest.mark.parametrize("rebase", ["LEGACY", "CORRECTED", "EXCEPTION"])
@pytest.mark.parametrize("int96", [True, False])
def test_old_dates_of_other_writers_follow_the_session(
    arrow_readers: Pair, conf: Conf, mode: str, rebase: str, *, int96: bool
) -> None:
    file = Path(arrow_readers.ours.path) / "a.parquet"
    arrow_files.write(
        arrow_moments(), file, use_deprecated_int96_timestamps=int96, write_batch_size=10, data_page_size=50
    )
    names = ("spark.sql.parquet.datetimeRebaseModeInRead", "spark.sql.parquet.int96RebaseModeInRead")
    text = ["id", "CAST(d AS STRING)", "CAST(t AS STRING)", "raw"]
    with conf({**MODES[mode], **dict.fromkeys(names, rebase)}):
        for where in ("true", "d = DATE'2020-02-02'", "t < TIMESTAMP'1500-01-01 00:00:00'", "d IS NULL", "id = 4"):
            same(arrow_readers, rows(where, text))
        same(
            arrow_readers,
            rows(columns=text, datetimeRebaseMode="CORRECTED", int96RebaseMode="LEGACY"),
        )


@every_mode
@pytest.mark.parametrize("zone", ["America/Los_Angeles", "UTC", "Asia/Kolkata"])
@pytest.mark.parametrize("conversion", ["true", "false"])
def test_int96_of_other_writers_in_the_sessions_time_zone(
    arrow_readers: Pair, conf: Conf, mode: str, zone: str, conversion: str
) -> None:
    file = Path(arrow_readers.ours.path) / "a.parquet"
    arrow_files.write(arrow_moments(), file, use_deprecated_int96_timestamps=True)
    settings = {
        "spark.sql.session.timeZone": zone,
        "spark.sql.parquet.int96TimestampConversion": conversion,
        "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
        "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    }
    with conf({**MODES[mode], **settings}):
        assert len(arrow_readers.same(rows(columns=("id", "CAST(t AS STRING)", "unix_micros(t)")))) == 60
        assert arrow_readers.same(rows("t > TIMESTAMP'2020-02-01 00:00:00'", ["id"]))


@every_mode
def test_bytes_of_other_writers_as_strings(arrow_readers: Pair, conf: Conf, mode: str) -> None:
    arrow_files.write(arrow_moments(), Path(arrow_readers.ours.path) / "a.parquet", store_schema=False)
    with conf({**MODES[mode], "spark.sql.parquet.binaryAsString": "true"}):
        assert len(arrow_readers.same(rows("raw = 'r7' OR raw LIKE 'r5%'", ["id", "raw"]))) == 12


@every_mode
@pytest.mark.parametrize("legacy", ["true", "false"])
def test_lists_and_decimals_in_the_legacy_format(
    spark: SparkSession, readers: Pair, conf: Conf, mode: str, legacy: str
) -> None:
    with conf({"spark.sql.parquet.writeLegacyFormat": legacy}):
        write(readers, wide(spark).selectExpr("*", "array(d, NULL) AS ds", "CAST(id AS DECIMAL(30, 3)) AS big"))
    with conf(MODES[mode]):
        for condition in ("true", "d = 1.25", "big > 97", "ds[0] = 1.25 OR l[0].x = 99"):
            assert readers.same(rows(condition))


@every_mode
@pytest.mark.parametrize(
    "condition",
    ["id = 50", "id <> 50", "NOT (t = 't3')", "t IS NULL", "t NOT IN ('t1', 't2')", "id > 10 AND id < 20", "s.x = 5"],
)
@pytest.mark.parametrize("pushed", ["true", "false"])
def test_filters_with_each_level_turned_off(
    spark: SparkSession, readers: Pair, conf: Conf, mode: str, condition: str, pushed: str
) -> None:
    write(readers, wide(spark))
    with conf({**MODES[mode], "spark.sql.parquet.filterPushdown": pushed}):
        assert readers.same(rows(condition))
        assert readers.same(rows(condition, ["_metadata.row_index", "l", "t"]))
        for level in ("stats", "dictionary", "columnindex", "bloom"):
            option = {f"parquet.filter.{level}.enabled": "false"}
            assert readers.same(rows(condition, ["id"], **option))


@every_mode
def test_limits_and_top_rows(spark: SparkSession, readers: Pair, conf: Conf, mode: str) -> None:
    write(readers, people(spark, count=200))
    with conf(MODES[mode]):
        assert len(readers.ours.read().limit(3).collect()) == 3
        assert len(readers.ours.read().where("id > 100").take(2)) == 2
        readers.same(lambda source: source.read().orderBy("salary").limit(5))


@every_mode
def test_joins_of_the_table_with_itself(spark: SparkSession, readers: Pair, conf: Conf, mode: str) -> None:
    write(readers, people(spark, count=200))

    def job(source: Source) -> DataFrame:
        left, right = source.read().alias("l"), source.read().where("id % 3 = 0").alias("r")
        return left.join(right, "id").select("id", "l.address", "r.tags")

    with conf(MODES[mode]):
        assert len(readers.same(job)) == 67


@pytest.mark.skipif(SPARK_VERSION < (4, 0), reason="Variant came with Spark 4.0")
@every_mode
def test_variants(spark: SparkSession, readers: Pair, conf: Conf, mode: str) -> None:
    write(readers, spark.range(60).selectExpr("id", """parse_json(format_string('{"a": [%d], "b": "x"}', id)) AS v"""))
    with conf(MODES[mode]):
        assert len(readers.same(rows("id > 40", ["id", "to_json(v) AS t"]))) == 19
        query = "variant_get(v, '$.a[0]', 'int') = 7"
        assert len(readers.same(rows(query, ["to_json(v) AS t"]))) == 1


@every_mode
def test_intervals(spark: SparkSession, readers: Pair, conf: Conf, mode: str) -> None:
    write(
        readers,
        spark.range(60).selectExpr(
            "id", "make_ym_interval(CAST(id AS INT), 7) AS y", "make_dt_interval(CAST(id AS INT)) AS d"
        ),
    )
    with conf(MODES[mode]):
        text = ["id", "CAST(y AS STRING)", "CAST(d AS STRING)"]
        for condition in ("true", "y > INTERVAL '50' YEAR", "d = INTERVAL '7' DAY", "y IS NULL OR id = 3"):
            assert readers.same(rows(condition, text))


@pytest.mark.skipif(SPARK_VERSION < (4, 0), reason="collations came with Spark 4.0")
@every_mode
def test_collations(spark: SparkSession, readers: Pair, conf: Conf, mode: str) -> None:
    write(
        readers,
        spark.range(0, 100, 1, 1).selectExpr("id", "IF(id % 9 = 0, 'Straße', concat('n', id)) COLLATE UTF8_LCASE AS s"),
    )
    with conf(MODES[mode]):
        for condition in (
            "s = 'STRAßE'",
            "s <> 'N1'",
            "s IN ('N5', 'n7')",
            "s LIKE 'STR%'",
            "startswith(s, 'N9')",
            "s > 'N8'",
        ):
            assert readers.same(rows(condition)), condition
