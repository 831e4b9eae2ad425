"""Two keystores with the same key names in one session: no frame ever opens anything with the other's keys."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.expect import refused

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, SparkSession

    from tests.isolation.conftest import Side


def rows(frame: DataFrame) -> list[tuple[int, str, float]]:
    return sorted((row["id"], row["ssn"], row["salary"]) for row in frame.collect())


def test_each_keystore_reads_its_own_table(spark: SparkSession, left: Side, right: Side) -> None:
    assert rows(left.read(spark)) == left.rows
    assert rows(right.read(spark)) == right.rows


def test_lazy_frames_keep_the_keys_they_were_made_with(spark: SparkSession, left: Side, right: Side) -> None:
    lefts, rights = left.read(spark), right.read(spark)
    assert rows(rights) == right.rows
    assert rows(lefts) == left.rows
    assert rows(rights) == right.rows


def test_a_join_of_both_tables_uses_both_keystores(spark: SparkSession, left: Side, right: Side) -> None:
    joined = left.read(spark).join(right.read(spark).withColumnRenamed("ssn", "other"), "id")
    pairs = sorted((row["ssn"], row["other"]) for row in joined.collect())
    assert pairs == sorted(zip((row[1] for row in left.rows), (row[1] for row in right.rows), strict=True))
    assert rows(left.read(spark).union(right.read(spark))) == sorted(left.rows + right.rows)


def test_the_wrong_keystore_fails_after_the_right_one_worked(spark: SparkSession, left: Side, right: Side) -> None:
    assert rows(left.read(spark)) == left.rows
    with refused("PME_NOT_AUTHENTIC", "'footer'"):
        right.read(spark, left.path).collect()


def test_the_right_keystore_works_after_the_wrong_one_failed(
    spark: SparkSession, left: Side, right: Side, tmp_path: Path
) -> None:
    fresh = str(tmp_path / "fresh")
    left.read(spark).write.format("pme-parquet").options(**left.encryption().options()).save(fresh)
    for _ in range(2):
        with refused("PME_NOT_AUTHENTIC", "'footer'"):
            right.read(spark, fresh).collect()
        assert rows(left.read(spark, fresh)) == left.rows


def test_a_union_in_which_one_side_has_the_wrong_keystore_fails(spark: SparkSession, left: Side, right: Side) -> None:
    wrong = spark.read.format("pme-parquet").options(**right.keys.options())
    frame = wrong.schema(left.read(spark).schema).load(left.path)
    with refused("PME_NOT_AUTHENTIC", "'footer'"):
        left.read(spark).union(frame).collect()


def test_a_change_of_the_sessions_keystore_reaches_the_next_read_only(
    spark: SparkSession,
    left: Side,
    right: Side,
    conf: Callable[..., AbstractContextManager[None]],
) -> None:
    def settings(side: Side) -> dict[str, str]:
        return {f"spark.datasource.pme-parquet.{name}": value for name, value in side.keys.options().items()}

    for side, other in ((left, right), (right, left)):
        with conf(settings(side)):
            assert rows(spark.read.format("pme-parquet").load(side.path)) == side.rows
            assert rows(other.read(spark)) == other.rows
            with refused("PME_NOT_AUTHENTIC"):
                spark.read.format("pme-parquet").load(other.path).collect()


def test_a_keystore_replaced_at_its_path_is_read_again(
    spark: SparkSession, left: Side, right: Side, tmp_path: Path
) -> None:
    moving = tmp_path / "keys.p12"
    store = pme.Keystore(str(moving), password=left.keys.password)
    for side, other in ((left, right), (right, left)):
        moving.write_bytes(Path(side.keys.path).read_bytes())
        reader = spark.read.format("pme-parquet").options(**store.options())
        assert rows(reader.load(side.path)) == side.rows
        with refused("PME_NOT_AUTHENTIC"):
            reader.load(other.path).collect()


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_threads_with_different_keystores_do_not_mix(
    spark: SparkSession, left: Side, right: Side, tmp_path: Path, scan: str
) -> None:
    def round_trip(number: int) -> bool:
        side = (left, right)[number % 2]
        path = str(tmp_path / f"{side.name}-{number}")
        side.read(spark).write.format("pme-parquet").options(**side.encryption().options()).save(path)
        reader = spark.read.format("pme-parquet").options(**side.keys.options(), scan=scan)
        return rows(reader.load(path)) == side.rows

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(round_trip, range(8)))


def test_threads_with_the_wrong_keystore_fail_next_to_threads_with_the_right_one(
    spark: SparkSession, left: Side, right: Side
) -> None:
    def attempt(number: int) -> str:
        side = (left, right)[number % 2]
        try:
            return "read" if rows(side.read(spark, left.path)) == left.rows else "misread"
        except pme.PmeError as error:
            return error.condition

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(attempt, range(8))) == ["read", "PME_NOT_AUTHENTIC"] * 4
