"""Files named in SQL, temporary views over them, and several paths at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.canary import assert_encrypted_footers
from tests.support.frames import people
from tests.support.source import rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf, Pair, Source

pytestmark = pytest.mark.rows(2)

PREFIX = "spark.datasource.pme-parquet."


def test_select_from_a_path_takes_its_keys_from_the_session(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    settings = {PREFIX + name: value for name, value in pair.ours.read_options.items()}

    def job(source: Source) -> DataFrame:
        source.write(people(spark))
        return spark.sql(f"SELECT * FROM `{source.format}`.`{source.path}` WHERE id > 2")

    with conf(settings):
        assert len(pair.same(job)) == 17


def test_write_takes_its_keys_from_the_session(spark: SparkSession, ours: Source, conf: Conf) -> None:
    with conf({PREFIX + name: value for name, value in ours.write_options.items()}):
        people(spark).write.format(ours.format).save(ours.path)
        assert rows(spark.read.format(ours.format).load(ours.path)) == rows(people(spark))
    assert_encrypted_footers(ours.path)


def test_temporary_view_over_a_path(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark))
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {source.table}_v {source.clause(path=source.path)}")
        return spark.sql(f"SELECT name, address.street FROM {source.table}_v WHERE id BETWEEN 3 AND 9")

    assert len(pair.same(job)) == 7


def test_insert_into_a_view_writes_to_its_path(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark))
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {source.table}_v {source.clause(path=source.path)}")
        people(spark, 60, 4).write.insertInto(f"{source.table}_v")
        return source.read()

    assert len(pair.same(job)) == 24
    assert_encrypted_footers(pair.ours.path)


@pytest.mark.usefixtures("session_kms")
def test_permanent_view_over_a_table(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).saveAsTable(source.table)
        spark.sql(f"CREATE VIEW {source.table}_pv AS SELECT id, upper(name) AS name FROM {source.table}")
        return spark.table(f"{source.table}_pv").where("id < 5")

    try:
        assert len(pair.same(job)) == 5
    finally:
        for source in (pair.ours, pair.theirs):
            spark.sql(f"DROP VIEW IF EXISTS {source.table}_pv")


@pytest.mark.parametrize(
    "options",
    [{"pathGlobFilter": "*.parquet"}, {"recursiveFileLookup": "true"}, {"modifiedAfter": "2020-01-01T00:00:00"}],
    ids=lambda options: next(iter(options)),
)
def test_file_source_options_keep_their_meaning(spark: SparkSession, pair: Pair, options: dict[str, str]) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).partitionBy("country").save(source.path)
        return source.read(**options)

    assert len(pair.same(job)) == 20


def test_base_path_keeps_the_partition_column(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.writer(people(spark)).partitionBy("country").save(source.path)
        return source.reader(basePath=source.path).load(f"{source.path}/country=de")

    assert len(pair.same(job)) == 7


def test_several_paths_and_globs(spark: SparkSession, pair: Pair, tmp_path: Path) -> None:
    def job(source: Source) -> DataFrame:
        base = tmp_path / source.table
        for start in (0, 20, 40):
            source.writer(people(spark, start)).save(str(base / f"part{start}"))
        some = source.reader().load([str(base / "part0"), str(base / "part40")])
        return some.unionAll(source.reader().load(str(base / "part[24]*")))

    assert len(pair.same(job)) == 80
