"""How often a KMS is asked: once for each distinct key, whatever the number of files, columns and tasks."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.support.canary import data_files
from tests.support.expect import save
from tests.support.kms.access import read, rows
from tests.support.kms.counting import FOOTER, Table, encryption, frame, log, written

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("counting_kms")

Tables = Callable[[int, int], Table]

CACHE = "parquet.encryption.cache.lifetime.seconds"
LIFETIME = 1
# What a call takes, in milliseconds: long enough for calls that are made together to overlap on a busy machine.
PAUSE = 500
LATENCIES = 3

every_size = pytest.mark.parametrize("files", [1, 200])
every_width = pytest.mark.parametrize("columns", [3, 40])
every_scan = pytest.mark.parametrize("scan", ["v1", "v2"])
every_reader = pytest.mark.parametrize("reader", ["pages", "spark"])


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Return what gives a table of so many files, and so many columns with keys of their own: it is written once."""
    directory = tmp_path_factory.mktemp("counted")

    @functools.cache
    def table(files: int, columns: int) -> Table:
        return written(spark, directory, columns, files)

    return table


@pytest.fixture(scope="module")
def some(tables: Tables) -> Table:
    return tables(5, 3)


@every_size
@every_width
def test_a_write_asks_once_for_each_master_key(tables: Tables, files: int, columns: int) -> None:
    table = tables(files, columns)
    assert len(data_files(table.path)) == files
    assert table.written.count("wrap") == table.keys()
    assert table.written.count("unwrap") == {}


@every_size
def test_an_overwrite_asks_once_too(spark: SparkSession, tables: Tables, tmp_path: Path, files: int) -> None:
    target = written(spark, tmp_path, 3, 1).path
    user = log(tmp_path)
    writer = frame(spark, 3, files).write.format("pme-parquet").options(**user.options(), **encryption(3))
    writer.mode("overwrite").save(target)
    assert user.count("wrap") == tables(files, 3).keys()


@every_size
@every_width
@every_scan
@every_reader
def test_a_read_asks_once_for_each_wrapped_key(
    spark: SparkSession, tables: Tables, tmp_path: Path, files: int, columns: int, scan: str, reader: str
) -> None:
    # The schema is inferred first, which opens a footer of its own.
    table, user = tables(files, columns), log(tmp_path)
    assert rows(read(spark, table.path, user.options() | {"scan": scan, "reader": reader})) == table.rows()
    assert user.count("unwrap") == table.keys()
    assert user.count("wrap") == {}


@every_scan
@every_reader
def test_a_read_with_its_schema_given_asks_as_often(
    spark: SparkSession, tables: Tables, tmp_path: Path, scan: str, reader: str
) -> None:
    table, user = tables(200, 3), log(tmp_path)
    given = spark.read.format("pme-parquet").schema(frame(spark, 3, 1).schema)
    assert rows(given.options(**user.options(), scan=scan, reader=reader).load(table.path)) == table.rows()
    assert user.count("unwrap") == table.keys()


@every_scan
@every_reader
def test_reading_again_asks_for_nothing(
    spark: SparkSession, some: Table, tmp_path: Path, scan: str, reader: str
) -> None:
    user = log(tmp_path)
    options = user.options() | {"scan": scan, "reader": reader}
    first = read(spark, some.path, options)
    assert rows(first) == some.rows()
    user.clear()
    assert rows(first) == some.rows()
    assert rows(read(spark, some.path, options)) == some.rows()
    assert read(spark, some.path, options).where("c1 = 'c1-3'").count() == 1
    assert user.calls() == []


PROJECTIONS: dict[str, tuple[Callable[[DataFrame], DataFrame], set[str]]] = {
    "the footer's column": (lambda frame: frame.select("id"), set()),
    "some columns": (lambda frame: frame.select("c0", "id", "c2"), {"k0", "k2"}),
    "a filter": (lambda frame: frame.where("c1 = 'c1-3'").select("id"), {"k1"}),
    "no column": (lambda frame: frame.selectExpr("count(*)"), set()),
}


@every_scan
@every_reader
@pytest.mark.parametrize("name", PROJECTIONS)
def test_only_keys_of_what_is_looked_at_are_asked_for(
    spark: SparkSession, some: Table, tmp_path: Path, scan: str, reader: str, name: str
) -> None:
    projection, keys = PROJECTIONS[name]
    user = log(tmp_path)
    projection(read(spark, some.path, user.options() | {"scan": scan, "reader": reader})).collect()
    assert user.count("unwrap") == dict.fromkeys({FOOTER, *keys}, 1)


@every_scan
@every_reader
def test_a_key_is_asked_for_again_when_its_lifetime_is_over(
    spark: SparkSession, some: Table, tmp_path: Path, scan: str, reader: str
) -> None:
    user = log(tmp_path)
    given = spark.read.format("pme-parquet").schema(frame(spark, 3, 1).schema)
    reading = given.options(**user.options(), **{CACHE: str(LIFETIME)}, scan=scan, reader=reader).load(some.path)
    for _ in range(3):
        user.clear()
        began = time.monotonic()
        assert rows(reading) == some.rows()
        # Once, or as often as the time that it took has lifetimes.
        most = 1 + int((time.monotonic() - began) / LIFETIME)
        asked = user.count("unwrap")
        assert set(asked) == set(some.keys())
        assert max(asked.values()) <= most
        time.sleep(LIFETIME * 1.5)


@every_scan
@every_reader
def test_each_write_job_has_keys_of_its_own_and_each_is_asked_for_once(
    spark: SparkSession, tmp_path: Path, scan: str, reader: str
) -> None:
    table, user = written(spark, tmp_path, 3, 4), log(tmp_path)
    writer = frame(spark, 3, 4).write.format("pme-parquet").options(**table.written.options(), **encryption(3))
    writer.mode("append").save(table.path)
    assert table.written.count("wrap") == table.keys(times=2)
    assert rows(read(spark, table.path, user.options() | {"scan": scan, "reader": reader})) == sorted(table.rows() * 2)
    assert user.count("unwrap") == table.keys(times=2)


@every_scan
@every_reader
def test_merging_the_schemas_of_all_files_asks_for_no_more(
    spark: SparkSession, tmp_path: Path, scan: str, reader: str
) -> None:
    table, user = written(spark, tmp_path, 2, 4), log(tmp_path)
    wider = table.written.options() | encryption(3)
    frame(spark, 3, 4).write.format("pme-parquet").options(**wider).mode("append").save(table.path)
    options = user.options() | {"mergeSchema": "true", "scan": scan, "reader": reader}
    merged = read(spark, table.path, options)
    assert merged.columns == ["id", "c0", "c1", "c2"]
    assert user.count("unwrap") == {FOOTER: 2}
    assert len(merged.collect()) == 2 * len(table.rows())
    assert user.count("unwrap") == {FOOTER: 2, "k0": 2, "k1": 2, "k2": 1}


@every_scan
@every_reader
def test_with_single_wrapping_each_data_key_is_asked_for_once(
    spark: SparkSession, tmp_path: Path, scan: str, reader: str
) -> None:
    table, user = written(spark, tmp_path, 3, 6, doubleWrapping="false"), log(tmp_path)
    # Before there is a job, each master key is tried.
    assert table.written.count("wrap") == table.keys(times=1 + table.files)
    assert rows(read(spark, table.path, user.options() | {"scan": scan, "reader": reader})) == table.rows()
    assert user.count("unwrap") == table.keys(times=table.files)


@every_width
@every_scan
def test_a_slow_kms_costs_three_latencies_at_most(
    spark: SparkSession, tables: Tables, tmp_path: Path, columns: int, scan: str
) -> None:
    table, user = tables(200, columns), log(tmp_path)
    assert rows(read(spark, table.path, user.options(pause_millis=PAUSE) | {"scan": scan})) == table.rows()
    assert user.count("unwrap") == table.keys()
    assert user.rounds(PAUSE) <= LATENCIES


def test_a_table_of_one_key_asks_for_it_once(spark: SparkSession, tmp_path: Path, target: str) -> None:
    content, user = frame(spark, 3, 20), log(tmp_path)
    save(content, target, user.options() | {"uniformKey": "only"})
    assert user.count("wrap") == {"only": 1}
    assert rows(read(spark, target, user.options())) == rows(content)
    assert user.count("unwrap") == {"only": 1}
