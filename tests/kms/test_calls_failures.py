"""A KMS that refuses or is gone is asked once for what it did not give, not once for each file or task."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.support.expect import refused, save, untouched
from tests.support.kms.access import read, rows
from tests.support.kms.counting import FOOTER, Table, encryption, frame, log, written

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("counting_kms")

# For so long a refusal is remembered.
REMEMBERED = 10

every_scan = pytest.mark.parametrize("scan", ["v1", "v2"])
every_reader = pytest.mark.parametrize("reader", ["pages", "spark"])


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Return a table of many files."""
    return written(spark, tmp_path_factory.mktemp("refused"), 3, 200)


def most(began: float) -> int:
    """Return how often a refused key may have been asked for since then: once, on a machine that is quick enough."""
    return 1 + int((time.monotonic() - began) / REMEMBERED)


@every_scan
@every_reader
def test_a_refused_column_key_is_asked_for_once(
    spark: SparkSession, table: Table, tmp_path: Path, scan: str, reader: str
) -> None:
    user = log(tmp_path)
    began = time.monotonic()
    limited = read(spark, table.path, user.options(deny="k1") | {"scan": scan, "reader": reader})
    with refused("PME_KEY_DENIED", "'k1'", "c1", ".parquet"):
        limited.collect()
    with refused("PME_KEY_DENIED", "'k1'", "c1", ".parquet"):
        limited.select("c1").collect()
    asked = user.count("unwrap")
    assert 1 <= asked.pop("k1") <= most(began)
    assert asked[FOOTER] == 1
    assert max(asked.values()) == 1


@every_scan
@every_reader
def test_columns_with_granted_keys_are_read_next_to_a_refused_one(
    spark: SparkSession, table: Table, tmp_path: Path, scan: str, reader: str
) -> None:
    user = log(tmp_path)
    limited = read(spark, table.path, user.options(deny="k1") | {"scan": scan, "reader": reader})
    others = [(row[0], row[1], row[3]) for row in table.rows()]
    assert rows(limited.select("id", "c0", "c2")) == others
    assert user.count("unwrap") == {FOOTER: 1, "k0": 1, "k2": 1}
    with refused("PME_KEY_DENIED", "'k1'"):
        limited.select("id", "c1").collect()
    assert rows(limited.select("id", "c0", "c2")) == others
    assert user.count("unwrap") == {FOOTER: 1, "k0": 1, "k1": 1, "k2": 1}


@every_scan
@every_reader
def test_a_refused_footer_key_is_asked_for_once(
    spark: SparkSession, table: Table, tmp_path: Path, scan: str, reader: str
) -> None:
    user = log(tmp_path)
    given = spark.read.format("pme-parquet").schema(frame(spark, 3, 1).schema)
    limited = given.options(**user.options(deny=FOOTER), scan=scan, reader=reader).load(table.path)
    began = time.monotonic()
    with refused("PME_KEY_DENIED", f"'{FOOTER}'", ".parquet"):
        limited.collect()
    asked = user.count("unwrap")
    assert set(asked) == {FOOTER}
    assert asked[FOOTER] <= most(began)


def test_the_error_of_a_refused_reader_names_the_file_it_asked_for(
    spark: SparkSession, table: Table, tmp_path: Path
) -> None:
    # What is remembered of a refusal is not the place where it happened first.
    user = log(tmp_path)
    began = time.monotonic()
    schema = frame(spark, 3, 1).schema
    limited = spark.read.format("pme-parquet").schema(schema).options(**user.options(deny=FOOTER))
    for name in sorted(read(spark, table.path, log(tmp_path).options()).inputFiles())[:3]:
        with refused("PME_KEY_DENIED", name.rpartition("/")[2]):
            limited.load(name).collect()
    assert user.count("unwrap")[FOOTER] <= most(began)


@pytest.mark.parametrize("mode", ["errorifexists", "overwrite"])
def test_a_write_under_a_refused_key_asks_once_and_leaves_nothing(
    spark: SparkSession, target: str, tmp_path: Path, mode: str
) -> None:
    user = log(tmp_path)
    writer = frame(spark, 3, 20).write.format("pme-parquet").options(**user.options(deny="k1"), **encryption(3))
    with untouched(target), refused("PME_KEY_DENIED", "'k1'"):
        writer.mode(mode).save(target)
    asked = user.count("wrap")
    assert asked["k1"] == 1
    assert max(asked.values()) == 1


@every_scan
@every_reader
@pytest.mark.parametrize("times_out", [False, True], ids=["refuses", "times out"])
def test_a_kms_that_is_gone_is_asked_once(
    spark: SparkSession, table: Table, tmp_path: Path, scan: str, reader: str, *, times_out: bool
) -> None:
    user, down = log(tmp_path), tmp_path / "down"
    down.touch()
    options = user.options(down=down, times_out=times_out) | {"scan": scan, "reader": reader}
    began = time.monotonic()
    with refused("PME_KMS_UNAVAILABLE", ".parquet"):
        read(spark, table.path, options)
    given = spark.read.format("pme-parquet").schema(frame(spark, 3, 1).schema).options(**options)
    with refused("PME_KMS_UNAVAILABLE", ".parquet"):
        given.load(table.path).collect()
    asked = user.count("unwrap")
    assert set(asked) == {FOOTER}
    assert asked[FOOTER] <= most(began)


@every_scan
@every_reader
def test_a_kms_that_goes_between_planning_and_reading_is_asked_once_for_each_key(
    spark: SparkSession, table: Table, tmp_path: Path, scan: str, reader: str
) -> None:
    user, down = log(tmp_path), tmp_path / "down"
    planned = read(spark, table.path, user.options(down=down) | {"scan": scan, "reader": reader})
    down.touch()
    began = time.monotonic()
    with refused("PME_KMS_UNAVAILABLE", ".parquet"):
        planned.collect()
    assert max(user.count("unwrap").values()) <= most(began)


def test_a_kms_that_comes_back_is_asked_again_when_its_refusals_are_forgotten(
    spark: SparkSession, table: Table, tmp_path: Path
) -> None:
    user, down = log(tmp_path), tmp_path / "down"
    planned = read(spark, table.path, user.options(down=down))
    down.touch()
    with refused("PME_KMS_UNAVAILABLE", ".parquet"):
        planned.collect()
    down.unlink()
    # Another user does not learn of it.
    assert rows(read(spark, table.path, log(tmp_path).options(down=down))) == table.rows()
    time.sleep(REMEMBERED)
    assert rows(planned) == table.rows()


@pytest.mark.parametrize("mode", ["errorifexists", "overwrite"])
def test_a_write_without_its_kms_asks_once_for_each_key_and_leaves_nothing(
    spark: SparkSession, target: str, tmp_path: Path, mode: str
) -> None:
    user, down = log(tmp_path), tmp_path / "down"
    down.touch()
    writer = frame(spark, 3, 20).write.format("pme-parquet").options(**user.options(down=down), **encryption(3))
    with untouched(target), refused("PME_KMS_UNAVAILABLE"):
        writer.mode(mode).save(target)
    assert max(user.count("wrap").values()) == 1


def test_a_table_stays_when_the_kms_is_gone_at_an_overwrite(spark: SparkSession, target: str, tmp_path: Path) -> None:
    user, down = log(tmp_path), tmp_path / "down"
    options = user.options(down=down)
    save(frame(spark, 3, 2), target, options | encryption(3))
    down.touch()
    writer = frame(spark, 3, 1).write.format("pme-parquet").options(**options, **encryption(3))
    with untouched(target), refused("PME_KMS_UNAVAILABLE"):
        writer.mode("overwrite").save(target)
    down.unlink()
    assert read(spark, target, log(tmp_path).options()).count() == 4
