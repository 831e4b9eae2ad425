"""Tables by path: frames of Python's own values in each save mode, the writer's options, and paths in SQL."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

from tests.support.canary import assert_encrypted_footers, data_files
from tests.support.frames import people
from tests.support.source import FORMAT, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf, Pair, Source

SCHEMA = (
    "id bigint, word string, raw binary, price decimal(20, 4), day date, at timestamp, local timestamp_ntz, "
    "numbers array<double>, by_name map<string, struct<n: int>>, yes boolean"
)


def frame(spark: SparkSession, start: int) -> DataFrame:
    """Return rows made from Python's values, with nulls."""
    moment = dt.datetime(2024, 2, 29, 12, 30, 1, 5)  # noqa: DTZ001 as Spark takes it
    some = [
        (at, f"żółw 🐢 {at}", bytes([at]), Decimal("1.2345"), moment.date(), moment, moment, [0.5, None], {"a": (at,)})
        for at in range(start, start + 3)
    ]
    return spark.createDataFrame([*[(*row, True) for row in some], (99, *[None] * 9)], SCHEMA)


def test_each_mode_leaves_the_rows_that_spark_s_own_source_leaves(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(frame(spark, 0), "append", compression="gzip")
        source.write(frame(spark, 10), "overwrite", compression="zstd")
        source.write(frame(spark, 20), "append", compression="gzip")
        source.write(frame(spark, 30), "ignore")
        with pytest.raises(AnalysisException, match="PATH_ALREADY_EXISTS"):
            source.write(frame(spark, 40), "error")
        return source.read()

    assert len(pair.same(job)) == 8
    assert_encrypted_footers(pair.ours.path)
    assert {"".join(path.suffixes) for path in data_files(pair.ours.path)} == {".zstd.parquet", ".gz.parquet"}
    assert pair.ours.read().where("id = 10").collect() == frame(spark, 10).where("id = 10").collect()


@pytest.mark.newest
def test_a_path_in_sql_has_the_keys_of_the_session(spark: SparkSession, pair: Pair, conf: Conf) -> None:
    def job(source: Source) -> DataFrame:
        people(spark).write.format(source.format).save(source.path)
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {source.table}_v {source.clause(path=source.path)}")
        people(spark, 60, 4).write.insertInto(f"{source.table}_v")
        return spark.sql(f"SELECT * FROM `{source.format}`.`{source.path}` WHERE id > 2")

    with conf({f"spark.datasource.{FORMAT}.{name}": value for name, value in pair.ours.write_options.items()}):
        assert len(pair.same(job)) == 21
        assert rows(spark.read.format(FORMAT).load(pair.ours.path)) == rows(pair.theirs.read())
    assert_encrypted_footers(pair.ours.path)
