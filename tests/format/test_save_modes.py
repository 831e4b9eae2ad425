"""The four save modes, each compared with what Spark's own source leaves behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

from tests.support.canary import assert_encrypted_footers
from tests.support.frames import people
from tests.support.source import rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Pair, Source

pytestmark = pytest.mark.each_spark


def test_append_adds_rows(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark, 0), "append")
        source.write(people(spark, 20), "append")
        return source.read()

    assert len(pair.same(job)) == 40
    assert_encrypted_footers(pair.ours.path)


def test_overwrite_replaces_rows(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark, 0), "overwrite")
        source.write(people(spark, 100, 5), "overwrite")
        return source.read()

    assert len(pair.same(job)) == 5


def test_ignore_leaves_existing_rows(spark: SparkSession, pair: Pair) -> None:
    def job(source: Source) -> DataFrame:
        source.write(people(spark, 0, 3), "ignore")
        source.write(people(spark, 100, 9), "ignore")
        return source.read()

    assert len(pair.same(job)) == 3


def test_error_mode_refuses_an_existing_path(spark: SparkSession, pair: Pair) -> None:
    for source in (pair.ours, pair.theirs):
        source.write(people(spark, 0, 3), "error")
        with pytest.raises(AnalysisException, match="PATH_ALREADY_EXISTS"):
            source.write(people(spark, 9, 3), "error")
    assert rows(pair.ours.read()) == rows(pair.theirs.read())


def test_error_is_the_default_mode(spark: SparkSession, ours: Source) -> None:
    ours.writer(people(spark, 0, 3)).save(ours.path)
    with pytest.raises(AnalysisException, match="PATH_ALREADY_EXISTS"):
        ours.writer(people(spark, 0, 3)).save(ours.path)
    assert ours.read().count() == 3
