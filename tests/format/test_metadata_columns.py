"""The hidden ``_metadata`` column and ``input_file_name()``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

import pytest
from pyspark.sql import functions as f

from tests.support.canary import data_files
from tests.support.frames import people
from tests.support.source import rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf, Pair, Source

pytestmark = pytest.mark.rows(2)

AGGREGATES = {"spark.sql.parquet.aggregatePushdown": "true"}


def test_metadata_names_the_file_of_each_row(spark: SparkSession, ours: Source) -> None:
    ours.write(people(spark).repartition(3))
    found = ours.read().select("_metadata.file_name", "_metadata.file_path", "_metadata.file_size").distinct().collect()
    files = {path.name: path for path in data_files(ours.path)}
    assert {row.file_name for row in found} == set(files)
    for row in found:
        assert Path(unquote(urlparse(row.file_path).path)) == files[row.file_name]
        assert row.file_size == files[row.file_name].stat().st_size


def test_metadata_has_the_fields_spark_gives(spark: SparkSession, pair: Pair) -> None:
    for source in (pair.ours, pair.theirs):
        source.write(people(spark))
    fields = [source.read().select("_metadata").schema for source in (pair.ours, pair.theirs)]
    assert fields[0] == fields[1]


def test_row_index_counts_the_rows_of_each_file(spark: SparkSession, pair: Pair) -> None:
    for source in (pair.ours, pair.theirs):
        source.write(people(spark).coalesce(1))
    query = "id % 3 = 0"
    results = [
        rows(source.read().where(query).select("id", "_metadata.row_index")) for source in (pair.ours, pair.theirs)
    ]
    assert results[0] == results[1]
    assert results[0][1] == "Row(id=12, row_index=12)"


def test_row_index_is_right_where_pages_are_skipped(spark: SparkSession, ours: Source) -> None:
    ours.write(spark.range(0, 5000, 1, 1), **{"parquet.page.row.count.limit": "100"})
    found = ours.read().where("id IN (17, 2500, 4999)").select("id", "_metadata.row_index").collect()
    assert sorted(tuple(row) for row in found) == [(17, 17), (2500, 2500), (4999, 4999)]


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_row_index_with_both_readers(spark: SparkSession, ours: Source, conf: Conf, vectorized: str) -> None:
    ours.write(spark.range(0, 50, 1, 1))
    with conf({"spark.sql.parquet.enableVectorizedReader": vectorized}):
        assert ours.read().where("_metadata.row_index <> id").count() == 0
        assert ours.read().where("_metadata.row_index >= 40").count() == 10


def test_filters_on_metadata_choose_files(spark: SparkSession, ours: Source) -> None:
    ours.write(people(spark).repartition(3))
    name = data_files(ours.path)[0].name
    some = ours.read().where(f.col("_metadata.file_name") == name)
    assert some.select("_metadata.file_name").distinct().collect() == [(name,)]


def test_metadata_works_while_aggregates_are_pushed_down(spark: SparkSession, ours: Source, conf: Conf) -> None:
    ours.write(people(spark))
    with conf(AGGREGATES):
        assert ours.read().select("_metadata.file_name", "id").count() == 20
        assert ours.read().selectExpr("max(_metadata.row_index)").collect()[0][0] >= 0


def test_a_column_of_the_data_called_metadata_is_read(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(spark.range(3).selectExpr("id", "'mine' AS _metadata"))
        return source.read().select("_metadata", "id")

    assert len(pair.same(job)) == 3


def test_input_file_name_is_the_file_of_the_row(spark: SparkSession, ours: Source) -> None:
    ours.write(people(spark).repartition(3))
    names = {row[0] for row in ours.read().select(f.input_file_name()).distinct().collect()}
    assert {Path(unquote(urlparse(name).path)) for name in names} == set(data_files(ours.path))


def test_input_file_block_covers_the_file(spark: SparkSession, pair: Pair) -> None:
    results = []
    for source in (pair.ours, pair.theirs):
        source.write(people(spark).coalesce(1))
        results.append(rows(source.read().selectExpr("input_file_block_start()", "input_file_block_length() > 0")))
    assert results[0] == results[1]
