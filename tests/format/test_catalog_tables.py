"""Tables of the session catalog: created, filled and overwritten in SQL and by the writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.canary import assert_encrypted_footers
from tests.support.frames import people

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Pair, Source

pytestmark = pytest.mark.usefixtures("session_kms")

COLUMNS = "id BIGINT, name STRING, country STRING"


@pytest.fixture(autouse=True)
def view(spark: SparkSession) -> None:
    people(spark).select("id", "name", "country").createOrReplaceTempView("pme_people")


def test_create_table_and_insert_into(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        spark.sql(f"CREATE TABLE {source.table} ({COLUMNS}) {source.clause()}")
        spark.sql(f"INSERT INTO {source.table} SELECT * FROM pme_people")
        spark.sql(f"INSERT INTO {source.table} VALUES (77, 'späti', NULL)")
        return spark.table(source.table)

    assert len(pair.same(job)) == 21


def test_a_table_with_a_location_has_the_rows_of_the_files_there(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(spark.table("pme_people"))
        spark.sql(f"CREATE TABLE {source.table} {source.clause()} LOCATION '{source.path}'")
        spark.sql(f"INSERT INTO {source.table} SELECT id + 100, name, country FROM pme_people")
        return spark.table(source.table)

    assert len(pair.same(job)) == 40
    assert_encrypted_footers(pair.ours.path)


def test_insert_overwrite_replaces_all_rows(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        spark.sql(f"CREATE TABLE {source.table} ({COLUMNS}) {source.clause()}")
        spark.sql(f"INSERT INTO {source.table} SELECT * FROM pme_people")
        spark.sql(f"INSERT OVERWRITE {source.table} SELECT * FROM pme_people WHERE id < 4")
        return spark.table(source.table)

    assert len(pair.same(job)) == 4


def test_insert_into_and_overwrite_one_partition(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        spark.sql(f"CREATE TABLE {source.table} ({COLUMNS}) {source.clause()} PARTITIONED BY (country)")
        spark.sql(f"INSERT INTO {source.table} SELECT * FROM pme_people")
        spark.sql(f"INSERT INTO {source.table} PARTITION (country = 'de') SELECT id + 50, name FROM pme_people")
        spark.sql(f"INSERT OVERWRITE {source.table} PARTITION (country = 'it') VALUES (1000, 'only')")
        spark.sql(f"ALTER TABLE {source.table} DROP PARTITION (country = 'fr')")
        return spark.table(source.table)

    assert len(pair.same(job)) == 7 + 20 + 1


def test_create_table_as_select(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        spark.sql(
            f"CREATE TABLE {source.table} {source.clause()} PARTITIONED BY (country)"
            f" LOCATION '{source.path}' AS SELECT * FROM pme_people"
        )
        return spark.table(source.table)

    assert len(pair.same(job)) == 20
    assert_encrypted_footers(pair.ours.path)


def test_save_as_table_appends_and_overwrites(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        frame = spark.table("pme_people")
        source.writer(frame).saveAsTable(source.table)
        source.writer(frame.where("id < 3")).mode("overwrite").saveAsTable(source.table)
        source.writer(frame.where("id < 4")).mode("append").saveAsTable(source.table)
        return spark.table(source.table)

    assert len(pair.same(job)) == 7


def test_insert_into_needs_no_option_the_table_has(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(spark.table("pme_people")).saveAsTable(source.table)
        spark.table("pme_people").write.insertInto(source.table)
        spark.table("pme_people").where("id = 1").write.mode("append").insertInto(source.table)
        return spark.table(source.table)

    assert len(pair.same(job)) == 41


def test_columns_added_to_a_table_are_null_in_older_files(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        spark.sql(f"CREATE TABLE {source.table} ({COLUMNS}) {source.clause()}")
        spark.sql(f"INSERT INTO {source.table} SELECT * FROM pme_people")
        spark.sql(f"ALTER TABLE {source.table} ADD COLUMNS (extra INT)")
        spark.sql(f"INSERT INTO {source.table} VALUES (5, 'five', 'de', 55)")
        return spark.table(source.table)

    assert len(pair.same(job)) == 21


def test_defaults_and_char_columns_of_a_table(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        spark.sql(f"CREATE TABLE {source.table} (id INT, c CHAR(5), v VARCHAR(5)) {source.clause()}")
        spark.sql(f"INSERT INTO {source.table} VALUES (1, 'ab', 'cd')")
        return spark.table(source.table).where("c = 'ab'")

    assert len(pair.same(job)) == 1


def test_repair_finds_partitions_written_by_path(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(spark.table("pme_people")).partitionBy("country").save(source.path)
        columns = f"({COLUMNS}) {source.clause()} PARTITIONED BY (country) LOCATION '{source.path}'"
        spark.sql(f"CREATE TABLE {source.table} {columns}")
        spark.sql(f"MSCK REPAIR TABLE {source.table}")
        return spark.table(source.table)

    assert len(pair.same(job)) == 20


def test_insert_overwrite_directory(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(spark.table("pme_people"))
        spark.sql(f"INSERT OVERWRITE DIRECTORY '{source.path}' {source.clause()} SELECT * FROM pme_people WHERE id < 6")
        return source.read()

    assert len(pair.same(job)) == 6
    assert_encrypted_footers(pair.ours.path)


def test_analyze_and_truncate(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(spark.table("pme_people")).saveAsTable(source.table)
        spark.sql(f"ANALYZE TABLE {source.table} COMPUTE STATISTICS FOR ALL COLUMNS")
        spark.sql(f"TRUNCATE TABLE {source.table}")
        return spark.table(source.table)

    assert pair.same(job) == []
