"""An index that cannot be used costs skipping and one warning. It never costs rows, and never runs a class unasked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.snapshots.sealed import KMS, files_read, ids, index_file, load, save, seal
from tests.support.expect import refused
from tests.support.warnings import warnings

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

DIGITS = "io.pmeparquet.testkit.LastDigits"


def of_indexes(logged: list[str]) -> list[str]:
    """Return what the connector logged about indexes."""
    return [line for line in logged if "no file is skipped by index" in line]


def missing(table: str) -> None:
    index_file(table, "id").unlink()


def cut(table: str) -> None:
    file = index_file(table, "id")
    file.write_bytes(file.read_bytes()[:-20])


def altered(table: str) -> None:
    file = index_file(table, "id")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))


def swapped(table: str) -> None:
    index_file(table, "id").write_bytes(index_file(table, "n").read_bytes())


@pytest.mark.parametrize("damage", [missing, cut, altered, swapped])
def test_a_damaged_index_costs_skipping_and_one_warning(
    spark: SparkSession, target: str, damage: Callable[[str], None]
) -> None:
    save(spark.range(0, 20, 1, 2).selectExpr("id", "id AS n"), target)
    seal(spark, target, "id", "n")
    file = index_file(target, "id")
    content = file.read_bytes()
    damage(target)
    for session in (spark, spark.newSession()):
        for how in ({}, {"scan": "v2"}):
            with warnings(spark) as logged:
                frame = load(session, target, **how).where("id = 5 AND id < 100")
                assert files_read(frame) == 2
                assert ids(frame) == [5]
                assert files_read(load(session, target, **how).where("id = 5 AND n = 5")) == 1
                assert files_read(load(session, target, **how).where("n = 5")) == 1
            # One for a session, a version and an index. The second scan warns again unless it shares the scope of keys.
            told = of_indexes(logged)
            assert len(told) in ({0, 1} if how else {1})
            assert all("minMax(id)" in line for line in told)
    file.write_bytes(content)
    assert files_read(load(spark, target).where("id = 5")) == 2, "a session does not try again at once"
    assert files_read(load(spark.newSession(), target).where("id = 5")) == 1


def test_a_class_of_the_users_is_loaded_only_if_the_read_names_it(spark: SparkSession, target: str, conf: Conf) -> None:
    save(spark.range(0, 20, 1, 2).selectExpr("id", "id * 10 + int(id / 10) AS n"), target)
    seal(spark, target, index=[pme.IndexClass(DIGITS, "n")])
    for how in ({}, {"scan": "v2"}):
        with warnings(spark) as logged:
            for given in ({}, {"indexClasses": "some.Other"}):
                assert files_read(load(spark, target, **how, **given).where("n = 51")) == 2
        assert len(of_indexes(logged)) == 2
        assert all("class(n)" in line and "indexClasses" in line for line in of_indexes(logged))
        with warnings(spark) as logged:
            allowed = load(spark, target, **how, indexClasses=f"some.Other, {DIGITS}")
            assert [files_read(allowed.where(one)) for one in ("n = 51", "n = 57", "n > 51", "n <=> 50")] == [
                1,
                0,
                2,
                1,
            ]
            assert ids(allowed.where("n = 151")) == [15]
            with conf({"spark.datasource.pme-parquet.indexClasses": DIGITS}):
                assert files_read(load(spark, target, **how).where("n = 51")) == 1
        assert of_indexes(logged) == []


def test_a_class_that_fails_ends_the_query(spark: SparkSession, target: str) -> None:
    save(spark.range(0, 20, 1, 2).selectExpr("id", "id AS n"), target)
    with refused("PME_BAD_OPTION", "basis is no setting"):
        seal(spark, target, index=[pme.IndexClass(DIGITS, "n", settings={"basis": "7"})])
    with refused("PME_BAD_OPTION", "some.Missing"):
        seal(spark, target, index=[pme.IndexClass("some.Missing", "n")])
    seal(spark, target, index=[pme.IndexClass(DIGITS, "n", settings={"base": "7"})])
    assert files_read(load(spark, target, indexClasses=DIGITS).where("n = 5")) == 2
    assert ids(load(spark, target, **KMS).where("n = 5")) == [5]
