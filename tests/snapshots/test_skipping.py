"""Files that a min/max index proves to hold no row of a query are not read; rows are never lost."""

from __future__ import annotations

import itertools
import math
import re
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StructField, StructType

import pme_parquet as pme
from tests.snapshots.sealed import (
    FOOTER,
    KMS,
    MISMATCH,
    READERS,
    files_read,
    ids,
    load,
    paths_listed,
    plant,
    save,
    seal,
)
from tests.support.canary import data_files
from tests.support.expect import refused
from tests.support.kms.counting_client import Client
from tests.support.kms.denied import Guarded
from tests.support.session import SPARK_VERSION
from tests.support.source import FORMAT, rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf, Source

# Old dates as they are: Spark 3.5 refuses to write them otherwise.
CALENDAR = {
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}

# Four files of ten rows: each column rises from file to file, has one null in the second, and is all null in the last.
FILES = 4
ROWS = 40
TOGETHER = 24
TENTHS = "CASE WHEN id = 15 OR id >= 30 THEN NULL WHEN id >= 20 THEN 20 ELSE id END"
COLUMNS = (
    "id",
    f"{TENTHS} AS n",
    f"CAST({TENTHS} AS INT) AS i",
    f"CAST({TENTHS} AS TINYINT) AS tiny",
    f"IF(id % 10 = 9, NULL, named_struct('n', {TENTHS}, 'deep', named_struct('n', {TENTHS}))) AS inner",
    f"CAST(({TENTHS}) / 2 AS DECIMAL(7, 1)) AS small",
    f"CAST(({TENTHS}) / 2 AS DECIMAL(15, 1)) AS medium",
    f"CAST(({TENTHS}) / 2 AS DECIMAL(30, 1)) AS large",
    f"date_add(DATE'1582-01-01', CAST(({TENTHS}) * 10000 AS INT)) AS day",
    f"timestamp_seconds(({TENTHS}) * 86400 - 864000) AS at",
    f"CAST(timestamp_seconds(({TENTHS}) * 86400 - 864000) AS TIMESTAMP_NTZ) AS wall",
    f"id < 10 AND ({TENTHS}) IS NOT NULL AS first",
    "IF(id = 15 OR id >= 30, NULL, concat(element_at(array('a', 'm', 'żółw-🐢'), INT(id / 10) + 1), id)) AS word",
    # Longer than the 4,096 bytes up to which statistics are kept.
    "CASE WHEN id < 10 THEN repeat('a', 3000) WHEN id < 20 THEN repeat('m', 100) WHEN id < 30 THEN 'z' END AS long",
    (
        "CASE WHEN id < 10 THEN IF(id % 2 = 0, 0.0D, -0.0D) WHEN id < 20 THEN IF(id = 11, double('NaN'), id / 1.0D)"
        " WHEN id < 30 THEN IF(id % 2 = 0, double('-Infinity'), double('Infinity')) END AS ratio"
    ),
    "CASE WHEN id < 10 THEN float('-0.0') WHEN id < 20 THEN float('NaN') WHEN id < 30 THEN float('2.5') END AS half",
)
INDEXED = (
    *("id", "n", "i", "tiny", "inner.n", "inner.deep.n", "small", "medium", "large", "day", "at", "wall", "first"),
    *("word", "long", "ratio", "half"),
)


NAMES = ("full name", "a;b", "x (STRING)", "y = 1", "{z}", "a,b", "żółw", "binary", "a.b c")


def test_an_index_skips_whatever_the_column_is_called(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "names")
    struct = "named_struct('n (n)', id) AS `s t`"
    save(spark.range(0, ROWS, 1, FILES).selectExpr(*(f"id AS `{name}`" for name in NAMES), struct), path)
    columns = [*(f"`{name}`" for name in NAMES), "`s t`.`n (n)`"]
    seal(spark, path, "full name", *columns[1:])
    for column in columns:
        assert files_read(load(spark, path).where(f"{column} = 5")) == 1, column


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a sealed table with an index on every column."""
    path = str(tmp_path_factory.mktemp("skipping") / "table")
    before = {name: spark.conf.get(name, None) for name in CALENDAR}
    for name, value in CALENDAR.items():
        spark.conf.set(name, value)
    save(spark.range(0, ROWS, 1, FILES).selectExpr(*COLUMNS), path)
    seal(spark, path, *INDEXED)
    for name, old in before.items():
        spark.conf.unset(name) if old is None else spark.conf.set(name, old)
    return path


# A condition, and which of the four files a scan needs for it.
NUMBERS = {
    "{0} = 5": "0",
    "{0} = 100": "",
    "{0} <> 20": "01",
    "{0} <> 5": "012",
    "{0} < 10": "0",
    "{0} <= 10": "01",
    "{0} > 19": "2",
    "{0} >= 19": "12",
    "19 <= {0}": "12",
    "{0} IN (3, 20)": "02",
    "{0} IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)": "01",
    "{0} IN (3, NULL)": "0",
    "{0} NOT IN (20)": "01",
    "{0} NOT IN (20, NULL)": "",
    "{0} BETWEEN 8 AND 12": "01",
    "NOT ({0} BETWEEN 0 AND 12)": "12",
    "{0} IS NULL": "13",
    "{0} IS NOT NULL": "012",
    "{0} <=> 20": "2",
    "{0} <=> NULL": "13",
    "NOT ({0} <=> 20)": "013",
    "{0} < 5 AND {0} > 9": "",
    "{0} > 5 AND {0} < 12": "01",
    "{0} < 5 OR {0} = 20": "02",
    "{0} IS NULL OR {0} = 5": "013",
    "NOT ({0} < 20)": "2",
    "NOT ({0} < 10 OR {0} = 20)": "1",
    "NOT ({0} >= 10 AND {0} <= 20)": "0",
    "{0} = NULL": "",
}
OTHERS = {
    # What Spark does not push down: only that the column is not null.
    "n % 2 = 0": "012",
    "n + 1 = 6": "012",
    "n = i": "012",
    "n = 5 OR hash(n) = 1": "0123",
    "coalesce(n, 0) = 0": "0123",
    # Of a conjunction, the part that is known counts, also below an OR.
    "n = 5 AND hash(id) <> 0": "0",
    "n = 20 OR (i < 3 AND hash(id) <> 0)": "02",
    "(n = 20 AND hash(id) <> 0) OR (i < 3 AND hash(id) <> 0)": "02",
    "NOT (n <> 5 OR hash(id) = 0)": "0",
    "n = 5 OR id = 39": "03",
    "id = 5 OR n IS NULL": "013",
    "inner.n > 19": "2",
    "inner.deep.n = 5": "0",
    "inner.n IS NULL": "0123",
    # Casts that Spark takes away, because they keep order.
    "n = 5.5": "",
    "n = '5'": "0",
    "n = 5.0": "0",
    "CAST(i AS BIGINT) = 5": "0",
    "CAST(i AS DOUBLE) < 9.5D": "0",
    "i > 5000000000": "",
    "i < 5000000000": "012",
    "tiny = 300": "",
    "CAST(tiny AS INT) BETWEEN 15 AND 300": "12",
    "small > 9": "12",
    "half > 2.25D": "12",
    # It does not: a bigint is no exact double, and 05 is 5.
    "n = 5.5D": "012",
    "CAST(n AS STRING) = '5'": "012",
    "small = 2.5": "0",
    "small > 9.5": "2",
    "small < 0": "",
    "medium BETWEEN 4.5 AND 5.0": "01",
    "medium IN (0.5, 10.0, NULL)": "02",
    "large = 2.5": "0",
    "large >= 9.5": "12",
    "large < 5": "0",
    "large IS NULL": "13",
    "day = DATE'1582-01-01'": "0",
    "day < DATE'1700-01-01'": "0",
    "day > DATE'2110-01-01'": "2",
    "day IN (DATE'1582-01-01', DATE'9999-12-31')": "0",
    "day = '1582-01-01'": "0",
    "day BETWEEN '1800-01-01' AND '1900-01-01'": "01",
    "day > TIMESTAMP'2110-01-01 12:00:00'": "2",
    "day = TIMESTAMP'1582-01-01 00:00:00'": "0",
    "CAST(day AS TIMESTAMP_NTZ) < TIMESTAMP_NTZ'1700-01-01 00:00:00'": "0",
    "year(day) = 1582": "012",
    "at < TIMESTAMP'1970-01-01 00:00:00'": "0",
    "at = TIMESTAMP'1970-01-01 00:00:00'": "1",
    "at >= TIMESTAMP'1970-01-11 00:00:00'": "2",
    "at >= '1970-01-11'": "2",
    "at > DATE'1970-01-10'": "2",
    "at < TIMESTAMP_NTZ'1970-01-01 00:00:00'": "0",
    "at IS NOT NULL": "012",
    "CAST(at AS DATE) = DATE'1970-01-05'": "1",
    "CAST(at AS DATE) BETWEEN DATE'1970-01-05' AND DATE'1970-01-11'": "12",
    "CAST(at AS DATE) IN (DATE'1969-12-25', DATE'1969-12-24')": "0",
    "CAST(at AS DATE) <=> DATE'1970-01-05'": "1",
    "NOT (CAST(at AS DATE) = DATE'1970-01-11')": "01",
    "wall < TIMESTAMP_NTZ'1970-01-01 00:00:00'": "0",
    "wall = TIMESTAMP_NTZ'1970-01-11 00:00:00'": "2",
    "wall <> TIMESTAMP_NTZ'1970-01-11 00:00:00'": "01",
    "wall IN (TIMESTAMP_NTZ'1970-01-11 00:00:00', TIMESTAMP_NTZ'1969-12-25 00:00:00')": "02",
    "wall IS NULL": "13",
    "wall > DATE'1970-01-10'": "2",
    "wall > TIMESTAMP'1970-01-10 12:00:00'": "2",
    "CAST(wall AS DATE) = DATE'1970-01-05'": "1",
    "CAST(wall AS DATE) IN (DATE'1970-01-05')": "1",
    "first": "0",
    "NOT first": "123",
    "first <=> true": "0",
    "word = 'a5'": "0",
    "word = ''": "",
    "word > 'n'": "2",
    "word > 'z'": "2",
    "word >= 'ż'": "2",
    "word < 'b'": "0",
    "word = 'żółw-🐢25'": "2",
    "word IN ('a1', 'm11', 'ż')": "01",
    "word LIKE 'a%'": "0",
    "word LIKE 'ż%'": "2",
    "word LIKE 'żółw-🐢%'": "2",
    "word LIKE 'a%5'": "0",
    "word LIKE 'a5'": "0",
    "word LIKE '%5'": "012",
    "word LIKE 'a_'": "012",
    "word LIKE 'b%'": "",
    "word NOT LIKE 'a%'": "12",
    "startswith(word, 'm')": "1",
    "left(word, 1) = 'a'": "012",
    "word IS NULL": "13",
    # Long values have no range.
    "long = 'z'": "02",
    "long LIKE 'm%'": "01",
    "long > 'y'": "02",
    # Nothing bounds files with NaN, whose nulls are counted. The third file has values on both sides of zero.
    "ratio = 0.0D": "012",
    "ratio = -0.0D": "012",
    "ratio < 0.0D": "012",
    "ratio > 1e300D": "12",
    "ratio >= 0.0D": "012",
    "ratio <> 0.0D": "012",
    "ratio IN (0.0D, 77.0D)": "012",
    "isnan(ratio)": "0123",
    "ratio = double('NaN')": "012",
    "ratio = double('Infinity')": "12",
    "ratio IS NULL": "3",
    "half = float('0.0')": "01",
    "half = float('-0.0')": "01",
    "half > float('2')": "12",
    "half <> float('0.0')": "012",
    "half = float('NaN')": "012",
}
CONDITIONS = (
    {text.format("n"): files for text, files in NUMBERS.items()}
    | {text.format(name): NUMBERS[text] for name in ("i", "tiny") for text in list(NUMBERS)[:12]}
    | OTHERS
)


@pytest.mark.parametrize("how", [{}, {"scan": "v2"}], ids=["v1", "v2"])
def test_only_files_that_may_have_a_matching_row_are_read(spark: SparkSession, table: str, how: dict[str, str]) -> None:
    asked = list(CONDITIONS)
    needed = numbers_read([load(spark, table, **how).where(condition) for condition in asked])
    assert dict(zip(asked, needed, strict=True)) == CONDITIONS
    columns = [f"({condition}) AS c{at}" for at, condition in enumerate(asked)]
    everything = load(spark, table, snapshot="off").selectExpr("id", *columns).orderBy("id").collect()
    for first in range(0, len(asked), TOGETHER):
        numbered = list(enumerate(asked[first : first + TOGETHER], first))
        frames = [load(spark, table, **how).where(one).selectExpr(f"{at} AS at", "id") for at, one in numbered]
        found = sorted((row.at, row.id) for row in reduce(DataFrame.unionAll, frames).collect())
        assert found == [(at, row.id) for at, _ in numbered for row in everything if row[at + 1]], numbered


def numbers_read(frames: list[DataFrame]) -> list[str]:
    """Return, for each query, the digits of the files that its scan reads, without running it."""
    return ["".join(re.findall(r"part-0000(\d)-", " ".join(paths_listed(frame)))) for frame in frames]


@pytest.mark.parametrize("how", [{}, {"scan": "v2"}], ids=["v1", "v2"])
def test_the_offsets_of_the_time_zone_count_where_dates_and_times_are_compared(
    spark: SparkSession, table: str, conf: Conf, how: dict[str, str]
) -> None:
    # Clocks of this zone went back over midnight. The files hold days from 1969-12-22, 1970-01-01 and 1970-01-11.
    asked = {
        "at = TIMESTAMP'1969-12-31 20:29:08'": ("", []),
        "CAST(at AS DATE) = DATE'1969-12-31'": ("1", [10]),
        "CAST(at AS DATE) IN (DATE'1969-12-31')": ("1", [10]),
        "CAST(at AS DATE) <=> DATE'1969-12-22'": ("0", [1]),
        "CAST(at AS DATE) IN (DATE'1970-01-05', DATE'1970-01-10')": ("12", [*range(20, 30)]),
        "day <= TIMESTAMP'1582-01-01 00:00:00'": ("0", [0]),
        "wall = TIMESTAMP_NTZ'1970-01-11 00:00:00'": ("2", [*range(20, 30)]),
        "wall < TIMESTAMP'1969-12-23 00:00:00'": ("0", [0]),
    }
    with conf({"spark.sql.session.timeZone": "America/St_Johns"}):
        for condition, (files, found) in asked.items():
            frame = load(spark, table, **how).where(condition)
            assert ids(frame) == ids(load(spark, table, snapshot="off").where(condition)) == found, condition
            assert numbers_read([frame]) == [files], condition


@pytest.mark.parametrize(
    ("name", "sensitive", "needed"), [("N", "false", 1), ("n", "true", 1), ("Inner.N", "false", 1)]
)
def test_the_case_of_names_counts_as_in_the_session(
    spark: SparkSession, table: str, conf: Conf, name: str, sensitive: str, needed: int
) -> None:
    with conf({"spark.sql.caseSensitive": sensitive}):
        found = load(spark, table).where(f"{name} = 5").select("id")
        assert ids(found) == [5]
        assert files_read(found) == needed


def test_without_filter_pushdown_every_file_is_read(spark: SparkSession, table: str, conf: Conf) -> None:
    with conf({"spark.sql.parquet.filterPushdown": "false"}):
        found = load(spark, table).where("n = 5").select("id")
        assert ids(found) == [5]
        assert files_read(found) == FILES


def test_other_queries_over_the_table_lose_no_row(spark: SparkSession, table: str) -> None:
    sealed, plain = load(spark, table), load(spark, table, snapshot="off")
    queries: dict[str, Callable[[DataFrame], DataFrame]] = {
        "renamed": lambda frame: frame.withColumnRenamed("n", "m").withColumnRenamed("i", "n").where("m = 5 AND n = 5"),
        "computed": lambda frame: frame.withColumn("n", frame["n"] + 10).where("n = 15"),
        "joined": lambda frame: frame.join(frame.where("n = 5").select("i"), "i").select("id"),
        "grouped": lambda frame: frame.where("n < 12").groupBy("word").count(),
        "limited": lambda frame: frame.where("n = 20").orderBy("id").limit(3),
        "places": lambda frame: frame.where("_metadata.file_size > 0 AND n = 5"),
    }
    for name, query in queries.items():
        assert rows(query(sealed)) == rows(query(plain)), name
    spark.createDataFrame([(5,)], "x long").createOrReplaceTempView("wanted")
    sealed.createOrReplaceTempView("sealed_table")
    for condition in (
        "n = (SELECT max(x) FROM wanted)",
        "n IN (SELECT x FROM wanted)",
        "EXISTS (SELECT 1 FROM wanted WHERE x = n)",
    ):
        assert [row.id for row in spark.sql(f"SELECT id FROM sealed_table WHERE {condition}").collect()] == [5]


@pytest.mark.parametrize("how", READERS.values(), ids=READERS)
def test_partitions_are_pruned_and_their_files_skipped(spark: SparkSession, target: str, how: dict[str, str]) -> None:
    for part in range(2):
        frame = spark.range(0, 30, 1, 3).selectExpr(f"id + {100 * part} AS id", f"{part} AS part")
        save(frame, target, "part", mode="append")
    seal(spark, target, "id")
    for condition, needed, found in (
        ("part = 0", 3, 30),
        ("part = 0 AND id = 5", 1, 1),
        ("part = 1 AND id = 5", 0, 0),
        ("id = 105", 1, 1),
        ("part = 0 OR id = 105", 6, 31),
        ("part = 0 AND (part = 1 OR id = 105)", 0, 0),
    ):
        frame = load(spark, target, **how).where(condition).select("id")
        assert len(ids(frame)) == found, condition
        assert files_read(frame) == needed, condition


@pytest.mark.parametrize("how", READERS.values(), ids=READERS)
def test_a_partition_column_that_files_have_too_is_that_of_the_directory(
    spark: SparkSession, target: str, how: dict[str, str]
) -> None:
    for part in (1, 2):
        save(spark.range(0, 10, 1, 1).selectExpr("id", "100L AS part"), f"{target}/part={part}")
    seal(spark, target, "id", "part")
    for condition in ("part = 1", "part = 1 OR id = 77", "part = 100", "part = 100 OR id = 3", "part < 2 AND id < 5"):
        sealed, plain = (load(spark, target, snapshot=one, **how).where(condition) for one in ("auto", "off"))
        assert rows(sealed) == rows(plain), condition


def test_a_file_without_the_column_is_read(spark: SparkSession, target: str) -> None:
    save(spark.range(0, 10, 1, 1).toDF("id"), target)
    save(spark.range(10, 20, 1, 1).selectExpr("id", "id AS n"), target, mode="append")
    seal(spark, target, "id", "n")
    frame = load(spark, target, mergeSchema="true")
    for condition, needed, found in (
        ("n IS NULL", 1, range(10)),
        ("n = 15", 2, [15]),
        ("n = 5", 1, []),
        ("n > 15 OR id = 5", 2, [5, *range(16, 20)]),
        ("n <=> NULL AND id = 5", 1, [5]),
        ("coalesce(n, 7) = 7", 2, range(10)),
    ):
        asked = frame.where(condition).select("id")
        assert ids(asked) == list(found), condition
        assert files_read(asked) == needed, condition


@pytest.mark.usefixtures("session_kms")
def test_a_column_that_was_added_with_a_default_has_it_in_older_files(
    spark: SparkSession, ours: Source, conf: Conf
) -> None:
    with conf({"spark.sql.defaultColumn.allowedProviders": "pme-parquet"}):
        spark.sql(f"CREATE TABLE {ours.table} (id BIGINT) {ours.clause()} LOCATION '{ours.path}'")
        spark.sql(f"INSERT INTO {ours.table} VALUES (1), (2)")
        spark.sql(f"ALTER TABLE {ours.table} ADD COLUMNS (n BIGINT DEFAULT 7)")
        spark.sql(f"INSERT INTO {ours.table} VALUES (3, 30), (4, NULL)")
        conditions = ("n = 7", "n IS NULL", "n <> 30", "n < 10", "n = 30")
        plain = [ids(spark.table(ours.table).where(condition)) for condition in conditions]
        pme.seal(spark, ours.path, index=[pme.MinMax("id", "n")], expect="unsealed")
        spark.catalog.refreshTable(ours.table)
        assert [ids(spark.table(ours.table).where(condition)) for condition in conditions] == plain


@pytest.mark.skipif(SPARK_VERSION < (4, 0), reason="Spark 3.5 reads no column of another type than the file's")
def test_a_column_whose_type_differs_between_files_loses_no_row(spark: SparkSession, target: str) -> None:
    save(spark.range(0, 10, 1, 1).selectExpr("id", "CAST(id AS INT) AS n", "CAST(id AS FLOAT) AS x"), target)
    big = "id + 5000000000 AS n"
    save(spark.range(10, 20, 1, 1).selectExpr("id", big, "CAST(id AS DOUBLE) AS x"), target, mode="append")
    seal(spark, target, "id", "n", "x")
    for how in READERS.values():
        frame = spark.read.format(FORMAT).options(**KMS, **how).schema("id bigint, n bigint, x double").load(target)
        for condition, found in (
            ("n = 5", [5]),
            ("n < 5000000015", [*range(15)]),
            ("n = 5000000015", [15]),
            ("n > 2147483647", [*range(10, 20)]),
            ("n <> 5", [*range(5), *range(6, 20)]),
            ("n IN (5, 5000000015)", [5, 15]),
            ("x = 5.0D", [5]),
            ("x >= 15.0D", [*range(15, 20)]),
            ("id = 15 AND n > 10", [15]),
        ):
            assert ids(frame.where(condition)) == found, (how, condition)


@pytest.mark.skipif(SPARK_VERSION < (4, 0), reason="Spark 3.5 reads no column of another type than the file's")
def test_a_wider_type_of_the_reader_loses_no_row(spark: SparkSession, target: str) -> None:
    columns = ("id", "CAST(id AS INT) AS n", "CAST(id AS DECIMAL(5, 1)) AS amount", "CAST(id AS TINYINT) AS tiny")
    save(spark.range(0, 20, 1, 2).selectExpr(*columns), target)
    seal(spark, target, "id", "n", "amount", "tiny")
    wide = "id bigint, n bigint, amount decimal(20, 4), tiny int"
    frame = spark.read.format(FORMAT).options(**KMS).schema(wide).load(target)
    for condition, found in (
        ("n < 5000000000", range(20)),
        ("n <> 5000000005", range(20)),
        ("n > -5000000000", range(20)),
        ("n = 5000000005", []),
        ("amount = 5.0", [5]),
        ("amount < 5.05", range(6)),
        ("amount <> 5.05", range(20)),
        ("tiny < 300", range(20)),
        ("tiny = 261", []),
    ):
        assert ids(frame.where(condition)) == list(found), condition


def test_dates_and_times_in_the_old_calendar_are_found(spark: SparkSession, target: str, conf: Conf) -> None:
    old = ("id", "DATE'1500-01-01' AS day", "TIMESTAMP'1500-01-01 00:00:00' AS at")
    for number, mode in enumerate(("LEGACY", "CORRECTED")):
        names = ("datetimeRebaseModeInWrite", "int96RebaseModeInWrite")
        with conf(CALENDAR | {f"spark.sql.parquet.{name}": mode for name in names}):
            save(spark.range(number, number + 1, 1, 1).selectExpr(*old), target, mode="append")
    seal(spark, target, "day", "at")
    for condition in (
        "day = DATE'1500-01-01'",
        "at = TIMESTAMP'1500-01-01 00:00:00'",
        "day < DATE'1500-01-02'",
        "day >= DATE'1500-01-01'",
    ):
        for how in READERS.values():
            assert ids(load(spark, target, **how).where(condition)) == [0, 1], (condition, how)


def test_days_that_the_calendar_left_out_are_compared_as_others(spark: SparkSession, target: str, conf: Conf) -> None:
    days = "IF(id = 0, DATE'1582-10-10', DATE'1582-10-17') AS day", "IF(id = 0, 0, 7) AS n"
    with conf(CALENDAR):
        save(spark.range(0, 2, 1, 2).selectExpr("id", *days, "timestamp_seconds(n - 12219897600) AS at"), target)
    seal(spark, target, "day", "at")
    for condition, files in (
        ("day = DATE'1582-10-10'", "0"),
        ("day > DATE'1582-10-10'", "1"),
        ("at = TIMESTAMP'1582-10-08 00:00:00'", "0"),
        ("at <= TIMESTAMP'1582-10-08 00:00:00'", "0"),
    ):
        assert numbers_read([load(spark, target).where(condition)]) == [files], condition


@pytest.mark.parametrize("mode", ["LEGACY", "CORRECTED"])
def test_dates_of_an_unknown_writer_are_found_in_the_calendar_that_the_reader_names(
    spark: SparkSession, tmp_path: Path, mode: str
) -> None:
    table = pa.table({"id": [1, 2], "day": pa.array([-200_000, -150_000], pa.date32())})
    (tmp_path / "table").mkdir()
    pq.write_table(table, tmp_path / "table" / "a.parquet")
    path = str(tmp_path / "table")
    pme.seal(spark, path, options=FOOTER | {"plaintextFiles": "allow"}, index=[pme.MinMax("day")], expect="unsealed")
    read = {"plaintextFiles": "allow", "datetimeRebaseMode": mode}
    plain = load(spark, path, snapshot="off", **read)
    for day in [row.day for row in plain.collect()]:
        for compare in ("=", "<=", ">="):
            condition = f"day {compare} DATE'{day}'"
            assert ids(load(spark, path, **read).where(condition)) == ids(plain.where(condition)), condition


def test_values_that_other_writers_leave_out_of_statistics_are_found(spark: SparkSession, tmp_path: Path) -> None:
    # Arrow does not count NaN in the least and the greatest value. In Spark NaN is greater than any other.
    values = pa.table(
        {
            "id": [1, 2, 3],
            "x": [1.0, math.nan, 2.0],
            "word": ["a" * 100, "żółw", None],
            "big": pa.array([1, 2**63, 5], pa.uint64()),
        }
    )
    (tmp_path / "table").mkdir()
    pq.write_table(values, tmp_path / "table" / "a.parquet")
    path = str(tmp_path / "table")
    pme.seal(
        spark,
        path,
        options=FOOTER | {"plaintextFiles": "allow"},
        index=[pme.MinMax("id", "x", "word", "big")],
        expect="unsealed",
    )
    for how in READERS.values():
        read = {"plaintextFiles": "allow"} | how
        for condition in (
            "x > 100.0D",
            "x = double('NaN')",
            "isnan(x)",
            "x <> 1.0D",
            "NOT (x <= 2.0D)",
            "word > 'b'",
            "big > 100",
            "x = 0.5D",
        ):
            found = ids(load(spark, path, **read).where(condition))
            assert found == ids(load(spark, path, snapshot="off", **read).where(condition)), (how, condition)


@pytest.mark.skipif(SPARK_VERSION < (4, 0), reason="strings with a collation need Spark 4")
@pytest.mark.parametrize("how", READERS.values(), ids=READERS)
def test_collated_strings_lose_no_row(spark: SparkSession, target: str, how: dict[str, str]) -> None:
    columns = (
        "id",
        "CAST(concat(IF(id < 10, 'a', 'B'), id) AS STRING COLLATE UTF8_LCASE) AS word",
        "concat('A', id) AS plain",
    )
    save(spark.range(0, 20, 1, 2).selectExpr(*columns), target)
    seal(spark, target, "id", "word", "plain")
    for condition, found in (
        ("word = 'A5'", [5]),
        ("word = 'b15'", [15]),
        ("word IN ('A1', 'b11')", [1, 11]),
        ("word > 'b'", range(10, 20)),
        ("word < 'B'", range(10)),
        ("word <> 'A5'", [*range(5), *range(6, 20)]),
        ("word LIKE 'A%'", range(10)),
        ("startswith(word, 'b')", range(10, 20)),
        ("plain COLLATE UTF8_LCASE = 'a5'", [5]),
        ("word = 'A5' AND id = 5", [5]),
        ("word <=> 'B12'", [12]),
        ("NOT (word = 'A5' OR word = 'b15')", [*range(5), *range(6, 15), *range(16, 20)]),
    ):
        assert ids(load(spark, target, **how).where(condition)) == list(found), condition


def test_an_ordinary_string_read_with_a_collation_loses_no_row(spark: SparkSession, target: str) -> None:
    if SPARK_VERSION < (4, 0):
        pytest.skip("strings with a collation need Spark 4")
    save(spark.range(0, 20, 1, 2).selectExpr("id", "concat(IF(id < 10, 'a', 'B'), id) AS word"), target)
    seal(spark, target, "id", "word")
    collated = spark.read.format(FORMAT).options(**KMS).schema("id bigint, word string collate UTF8_LCASE").load(target)
    assert ids(collated.where("word = 'A5'")) == [5]
    assert ids(collated.where("word = 'b15'")) == [15]


def test_names_with_dots_and_spaces_are_those_of_their_column(spark: SparkSession, target: str) -> None:
    columns = "id", "named_struct('b', id) AS a", "id + 100 AS `a.b`", "id AS `c d`", "id AS `żółw`"
    save(spark.range(0, 20, 1, 2).selectExpr(*columns), target)
    seal(spark, target, "id", "a.b", "`a.b`", "`c d`", "żółw")
    for condition, found in (("a.b = 5", 5), ("`a.b` = 105", 5), ("`c d` = 15", 15), ("`żółw` = 15", 15)):
        assert ids(load(spark, target).where(condition)) == [found], condition
    for condition in ("a.b = 105", "`a.b` = 5"):
        assert ids(load(spark, target).where(condition)) == [], condition
    assert files_read(load(spark, target).where("a.b = 5")) == 1
    assert files_read(load(spark, target).where("`a.b` = 105")) == 1


def test_a_column_found_by_its_id_is_not_mistaken_for_one_of_its_name(
    spark: SparkSession, target: str, conf: Conf
) -> None:
    def numbered(name: str, number: int) -> StructField:
        return StructField(name, LongType(), metadata={"parquet.field.id": number})

    written = StructType([numbered("id", 1), numbered("n", 2)])
    with conf({"spark.sql.parquet.fieldId.write.enabled": "true", "spark.sql.parquet.fieldId.read.enabled": "true"}):
        save(spark.createDataFrame([(1, 100), (2, 200)], written).coalesce(1), target)
        seal(spark, target, "id", "n")
        swapped = StructType([numbered("n", 1), numbered("id", 2)])
        frame = spark.read.format(FORMAT).options(**KMS).schema(swapped).load(target)
        assert sorted(row.n for row in frame.where("n < 50").collect()) == [1, 2]
        assert sorted(row.id for row in frame.where("id > 50").collect()) == [100, 200]


def keyed(client: Client) -> dict[str, str]:
    return pme.PythonKms(client).options()


@pytest.mark.parametrize("how", [{"reader": "pages"}, {"reader": "pages", "scan": "v2"}], ids=str)
def test_a_reader_without_the_key_of_an_index_skips_by_the_others(
    spark: SparkSession, target: str, how: dict[str, str]
) -> None:
    frame = spark.range(0, 20, 1, 2).selectExpr("id", "id AS salary", "id AS age")
    frame.write.format(FORMAT).options(**keyed(Client()), footerKey="footer", columnKeys="pay: salary").save(target)
    pme.seal(spark, target, options=keyed(Client()), index=[pme.MinMax("id", "salary", "age")], expect="unsealed")

    def read(*denied: str) -> DataFrame:
        options = keyed(Guarded(*denied)) | {"deniedColumns": "null", "deniedPredicates": "null"} | how
        return spark.read.format(FORMAT).options(**options).load(target)

    assert files_read(read().where("salary = 5").select("id")) == 1
    denied = read("pay")
    assert ids(denied) == list(range(20))
    assert ids(denied.where("salary IS NULL")) == list(range(20))
    assert ids(denied.where("salary = 5")) == []
    assert ids(denied.where("salary = 5 OR id = 15")) == [15]
    assert ids(denied.where("salary IS NULL AND id = 15")) == [15]
    assert files_read(denied.where("id = 15").select("id")) == 1
    assert files_read(denied.where("salary IS NULL AND age = 15").select("id")) == 1


@pytest.mark.parametrize("how", [{}, {"scan": "v2"}], ids=["v1", "v2"])
def test_an_index_that_a_reader_may_read_says_nothing_of_a_column_that_it_may_not(
    spark: SparkSession, target: str, how: dict[str, str]
) -> None:
    frame = spark.range(0, 20, 1, 2).selectExpr("id", "id AS salary")
    frame.write.format(FORMAT).options(**keyed(Client()), footerKey="footer", columnKeys="pay: salary").save(target)
    index = [pme.MinMax("salary", "id")]
    pme.seal(
        spark, target, options=keyed(Client()), index=index, index_keys={"stats": ["salary", "id"]}, expect="unsealed"
    )
    masked = keyed(Guarded("pay")) | {"deniedColumns": "null", "deniedPredicates": "null"} | how
    denied = spark.read.format(FORMAT).options(**masked).load(target)
    assert ids(denied.where("salary IS NULL")) == list(range(20))
    assert ids(denied.where("salary <=> NULL AND id < 30")) == list(range(20))
    for keys in (keyed(Client()), keyed(Guarded("other"))):
        allowed = spark.read.format(FORMAT).options(**keys, **how).load(target)
        assert files_read(allowed.where("salary = 5").select("id")) == 1
    # It may skip by a column that it may not read, as long as it reads no file.
    blind = spark.read.format(FORMAT).options(**keyed(Guarded("pay")), **how).load(target)
    assert ids(blind.where("salary = 77").select("id")) == []
    with refused("PME_KEY_DENIED", "pay"):
        ids(blind.where("salary = 5").select("id"))


def test_a_denied_column_that_no_query_reads_does_not_matter(spark: SparkSession, target: str) -> None:
    frame = spark.range(0, 20, 1, 2).selectExpr("id", "id AS salary")
    frame.write.format(FORMAT).options(**keyed(Client()), footerKey="footer", columnKeys="pay: salary").save(target)
    pme.seal(spark, target, options=keyed(Client()), index=[pme.MinMax("id", "salary")], expect="unsealed")
    client = Guarded("pay")
    denied = spark.read.format(FORMAT).options(**keyed(client), reader="pages").load(target).select("id")
    assert ids(denied.where("id < 15")) == list(range(15))
    assert files_read(denied.where("id = 15")) == 1


def test_indexes_are_kept_and_only_new_files_are_opened(spark: SparkSession, target: str) -> None:
    save(spark.range(0, 20, 1, 2).selectExpr("id", "id AS n"), target)
    assert seal(spark, target, "id").opened == 2
    plant(spark.range(20, 30, 1, 1).selectExpr("id", "id AS n"), target)
    again = seal(spark, target)
    assert (again.version, again.files, again.opened) == (2, 3, 1)
    assert files_read(load(spark, target).where("id = 25")) == 1
    assert files_read(load(spark, target).where("id = 5")) == 1
    assert seal(spark, target).opened == 0
    assert files_read(load(spark, target).where("n = 5")) == 3
    assert seal(spark, target, "n", "id").opened == 3
    assert files_read(load(spark, target).where("n = 5")) == 1
    assert seal(spark, target, "id", "n").opened == 0
    assert seal(spark, target, index=[]).opened == 0
    assert files_read(load(spark, target).where("n = 5")) == 3
    assert seal(spark, target).opened == 0
    assert files_read(load(spark, target).where("n = 5")) == 3


def test_an_index_of_a_table_without_rows_is_kept(spark: SparkSession, target: str) -> None:
    save(spark.range(0, 0, 1, 1).toDF("id"), target)
    seal(spark, target, "id")
    plant(spark.range(0, 20, 1, 2).toDF("id"), target)
    seal(spark, target)
    assert files_read(load(spark, target).where("id = 5")) <= 2


def test_an_older_version_has_its_own_index(spark: SparkSession, target: str) -> None:
    save(spark.range(0, 20, 1, 2).toDF("id"), target)
    seal(spark, target)
    seal(spark, target, "id")
    assert files_read(load(spark, target, snapshot="1").where("id = 5")) == 2
    assert files_read(load(spark, target, snapshot="2").where("id = 5")) == 1


def test_a_column_that_the_table_lacks_cannot_be_indexed(spark: SparkSession, target: str) -> None:
    save(spark.range(0, 20, 1, 2).selectExpr("id", "named_struct('n', id) AS inner"), target)
    with refused("PME_UNKNOWN_COLUMN", "none"):
        seal(spark, target, "none")
    with refused("PME_UNKNOWN_COLUMN", "inner"):
        seal(spark, target, "inner")
    seal(spark, target, "inner.n")


def test_a_repeated_column_has_no_index_and_loses_no_row(spark: SparkSession, target: str) -> None:
    save(spark.range(0, 20, 1, 2).selectExpr("id", "array(id, NULL) AS many"), target)
    seal(spark, target, "id", "many.list.element")
    assert ids(load(spark, target).where("many[0] = 5")) == [5]
    assert ids(load(spark, target).where("array_contains(many, 5L)")) == [5]


def test_a_skipped_file_is_missed_all_the_same(spark: SparkSession, target: str) -> None:
    save(spark.range(0, 20, 1, 2).toDF("id"), target)
    seal(spark, target, "id")
    data_files(target)[1].unlink()
    with refused(MISMATCH, "it is missing"):
        ids(load(spark, target).where("id = 5"))


def test_combined_conditions_lose_no_row(spark: SparkSession, table: str) -> None:
    parts = ["n = 5", "i > 15", "word LIKE 'ż%'", "inner.n IS NULL", "ratio >= 1.0D"]
    sealed, plain = load(spark, table), load(spark, table, snapshot="off")
    for one, other in itertools.permutations(parts, 2):
        for condition in (f"{one} AND {other}", f"{one} OR NOT ({other})", f"NOT ({one} AND {other})"):
            assert ids(sealed.where(condition)) == ids(plain.where(condition)), condition
