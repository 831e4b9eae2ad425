"""The same path read with different sets of keys in one query: each reader sees what its own keys open."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.expect import refused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.isolation.conftest import Shared

ALL = ("footer", "pii", "pay")
FEW = ("footer", "pay")


def test_a_limited_reader_sees_its_columns_and_is_refused_the_others(spark: SparkSession, shared: Shared) -> None:
    limited = shared.read(spark, *FEW)
    assert limited.select("id", "salary").count() == 20
    assert sorted(row["salary"] for row in limited.select("salary").collect()) == [n * 0.5 for n in range(20)]
    with refused("PME_KEY_NOT_FOUND", "'pii'", "ssn"):
        limited.select("ssn").collect()


def test_a_reader_with_all_keys_lends_none_to_the_limited_one_in_a_union(spark: SparkSession, shared: Shared) -> None:
    full, limited = shared.read(spark, *ALL), shared.read(spark, *FEW)
    assert full.select("ssn").union(full.select("ssn")).count() == 40
    for pair in (
        full.select("ssn").union(limited.select("ssn")),
        limited.select("ssn").union(full.select("ssn")),
    ):
        with refused("PME_KEY_NOT_FOUND", "'pii'"):
            pair.collect()


def test_the_same_columns_of_two_readers_are_not_exchanged(spark: SparkSession, shared: Shared) -> None:
    full, limited = shared.read(spark, *ALL), shared.read(spark, *FEW)
    joined = full.select("id", "ssn").join(limited.select("id", "salary"), "id")
    assert sorted(joined.collect()) == [(n, f"ssn-{n}", n * 0.5) for n in range(20)]
    refusing = full.select("id", "ssn", "salary").join(limited.select("id", "ssn"), ["id", "ssn"])
    with refused("PME_KEY_NOT_FOUND", "'pii'"):
        refusing.collect()


def test_equal_scans_of_different_readers_are_not_reused(spark: SparkSession, shared: Shared) -> None:
    full, limited = shared.read(spark, *ALL), shared.read(spark, *FEW)
    left = full.groupBy("ssn").count()
    right = limited.groupBy("ssn").count()
    with refused("PME_KEY_NOT_FOUND", "'pii'"):
        left.join(right, "ssn").collect()


def test_a_cached_frame_of_one_reader_does_not_answer_another(spark: SparkSession, shared: Shared) -> None:
    full = shared.read(spark, *ALL).cache()
    try:
        assert full.count() == 20
        with refused("PME_KEY_NOT_FOUND", "'pii'"):
            shared.read(spark, *FEW).select("ssn").collect()
    finally:
        full.unpersist(blocking=True)


def test_views_with_different_keys_on_one_path_keep_their_own(spark: SparkSession, shared: Shared) -> None:
    shared.read(spark, *ALL).createOrReplaceTempView("everything")
    shared.read(spark, *FEW).createOrReplaceTempView("little")
    query = "select e.ssn, l.salary from everything e join little l using (id) where l.salary >= 9"
    assert sorted(spark.sql(query).collect()) == [("ssn-18", 9.0), ("ssn-19", 9.5)]
    with refused("PME_KEY_NOT_FOUND", "'pii'"):
        spark.sql("select ssn from little").collect()


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_readers_in_threads_keep_their_own_views(spark: SparkSession, shared: Shared, scan: str) -> None:
    # Created here, because it writes the files with the keys.
    readers = (shared.options(FEW), shared.options(ALL))

    def attempt(number: int) -> object:
        frame = spark.read.format("pme-parquet").options(**readers[number % 2], scan=scan).load(shared.path)
        try:
            return len(frame.select("ssn").distinct().collect())
        except pme.PmeError as error:
            return error.condition

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(attempt, range(8))) == ["PME_KEY_NOT_FOUND", 20] * 4
