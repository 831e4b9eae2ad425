"""The history of a sealed table: old versions expire, and indexes are dropped."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.snapshots.tables import KMS, ids, load, plant, seal, write
from tests.support.canary import data_files
from tests.support.expect import refused, untouched
from tests.support.frames import people
from tests.support.tables import Remembering

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = 24 * 60 * 60
NOT_AUTHENTIC = "PME_SNAPSHOT_NOT_AUTHENTIC"


def expire(spark: SparkSession, path: str, keep: int, **arguments: Any) -> tuple[int, int]:
    """Expire versions with the KMS of the tests, and return how many versions and parts are gone."""
    done = pme.expire_snapshots(spark, path, keep=keep, options=KMS, **arguments)
    return done.versions, done.parts


def lists(table: str) -> Path:
    return Path(table) / "_pme_snapshots"


def numbers(table: str) -> list[int]:
    """Return the versions that have a manifest."""
    return sorted(int(re.sub(r"\D", "", file.name)) for file in lists(table).glob("snapshot-*.json"))


def parts(table: str) -> set[str]:
    return {file.name for file in lists(table).glob("part-*.parquet")}


def put(table: str, name: str, age: float) -> Path:
    """Put a file of this age in seconds into the directory of snapshots."""
    file = lists(table) / name
    file.write_bytes(b"PAR1")
    os.utime(file, (time.time() - age,) * 2)
    return file


def rename(table: str, number: int) -> None:
    """Give the new file the last path of all: the part of the version before then cannot be used again."""
    [file] = [file for file in data_files(table) if not file.name.startswith("file-")]
    file.rename(Path(table) / f"file-{number}.parquet")


@pytest.fixture
def table(spark: SparkSession, target: str) -> str:
    """Return a table with three versions, each of which has a part of its own."""
    write(people(spark).coalesce(1), target)
    rename(target, 1)
    seal(spark, target)
    for version, column in ((2, "id"), (3, "salary")):
        plant(people(spark, 10 * version, 5).coalesce(1), target)
        rename(target, version)
        assert seal(spark, target, index=[pme.MinMax(column)]).version == version
    assert (numbers(target), len(parts(target))) == ([1, 2, 3], 3)
    return target


def test_old_versions_and_their_parts_expire_and_the_newest_is_read(spark: SparkSession, table: str) -> None:
    data = {file: file.read_bytes() for file in data_files(table)}
    before = ids(spark, table)
    assert expire(spark, table, 2) == (1, 1)
    assert numbers(table) == [2, 3]
    assert ids(spark, table, snapshot="require") == before
    # The file of the index, too.
    assert expire(spark, table, 1) == (1, 2)
    assert expire(spark, table, 1) == (0, 0)
    assert (numbers(table), len(parts(table))) == ([3], 1)
    assert ids(spark.newSession(), table, snapshot="require") == before
    assert pme.snapshots(table).problems == ()
    assert {file: file.read_bytes() for file in data_files(table)} == data


def test_the_history_goes_on_after_versions_expired(spark: SparkSession, table: str) -> None:
    expire(spark, table, 1)
    assert seal(spark, table).version == 4
    assert len(ids(spark, table, minSnapshot="4")) == 30
    assert pme.snapshots(table).problems == ()


def test_a_part_that_a_remaining_version_shares_stays(spark: SparkSession, table: str) -> None:
    shared = parts(table)
    assert seal(spark, table).opened == 0
    assert parts(table) == shared
    assert expire(spark, table, 1) == (3, 3)
    assert len(ids(spark.newSession(), table, snapshot="require")) == 30


def test_more_versions_than_there_are_stay(spark: SparkSession, table: str) -> None:
    with untouched(table):
        assert expire(spark, table, 10**12) == (0, 0)


def test_files_that_no_version_names_are_left_for_a_day(spark: SparkSession, table: str) -> None:
    unnamed = "part-00000000-0000-4000-8000-00000000000{}.parquet"
    young = [put(table, unnamed.format(1), DAY - 600), put(table, ".pme-" + unnamed.format(2), DAY - 600)]
    old = [put(table, unnamed.format(3), DAY + 600), put(table, ".pme-" + unnamed.format(4), DAY + 600)]
    # Names that the format does not have.
    others = [put(table, name, 2 * DAY) for name in ("part-1.parquet", ".pme-rotation", "notes.txt", "part-x.parquet")]
    assert expire(spark, table, 3) == (0, 1)
    assert [file.exists() for file in (*young, *old, *others)] == [True, True, False, False, *[True] * 4]


@pytest.mark.parametrize("version", [2, 3])
def test_nothing_is_deleted_if_a_version_that_stays_is_altered(spark: SparkSession, table: str, version: int) -> None:
    file = lists(table) / f"snapshot-{version:010}.json"
    file.write_bytes(re.sub(rb'"creator":"[^"]*"', b'"creator":"mallory"', file.read_bytes()))
    with untouched(table), refused(NOT_AUTHENTIC, file.name, "its HMAC does not match"):
        expire(spark, table, 2)


def test_nothing_is_deleted_if_a_version_that_stays_is_cut(spark: SparkSession, table: str) -> None:
    file = lists(table) / "snapshot-0000000002.json"
    file.write_bytes(file.read_bytes()[:-1])
    with untouched(table), refused("PME_SNAPSHOT_DAMAGED", file.name):
        expire(spark, table, 2)


def test_a_damaged_version_expires(spark: SparkSession, table: str) -> None:
    file = lists(table) / "snapshot-0000000001.json"
    file.write_bytes(b"")
    # Nobody knows any more whose part it was.
    assert expire(spark, table, 2) == (1, 0)
    assert numbers(table) == [2, 3]


def test_a_table_that_was_put_back_does_not_expire(spark: SparkSession, table: str) -> None:
    ids(spark, table)
    (lists(table) / "snapshot-0000000003.json").unlink()
    with untouched(table), refused(NOT_AUTHENTIC, "this session has read version 3"):
        expire(spark, table, 1)


def test_a_killed_expiry_leaves_the_newest_version(spark: SparkSession, table: str) -> None:
    # As after the first manifest, and before its part.
    (lists(table) / "snapshot-0000000001.json").unlink()
    assert len(ids(spark.newSession(), table, snapshot="require")) == 30
    assert expire(spark, table, 1) == (1, 2)
    for file in lists(table).iterdir():
        os.utime(file, (time.time() - 2 * DAY,) * 2)
    assert expire(spark, table, 1) == (0, 1)
    assert (numbers(table), len(parts(table))) == ([3], 1)
    assert len(ids(spark.newSession(), table, snapshot="require")) == 30


def test_a_table_without_a_snapshot_and_a_partition_are_refused(spark: SparkSession, target: str) -> None:
    write(people(spark).coalesce(1), target, "country")
    with refused("PME_BAD_OPTION", "it has no snapshot"):
        expire(spark, target, 1)
    seal(spark, target)
    with refused("PME_BAD_OPTION", "it is a part of the table"):
        expire(spark, f"{target}/country=fr", 1)


@pytest.mark.parametrize("keep", [0, -1, True, 1.5, "1", None])
def test_keep_is_a_number_from_1(spark: SparkSession, keep: Any) -> None:
    with refused("PME_BAD_OPTION", "keep cannot be"):
        pme.expire_snapshots(spark, "people", keep=keep)


def test_snapshots_elsewhere_expire(spark: SparkSession, target: str) -> None:
    write(people(spark), target)
    location = f"{target}-lists"
    for _ in range(3):
        seal(spark, target, location=location)
    assert expire(spark, target, 1, location=location) == (2, 0)
    assert str(pme.ExpiredSnapshots(2, 1)) == "deleted 2 versions and 1 part"
    assert len(ids(spark, target, snapshotLocation=location, snapshot="require")) == 20


def opened(spark: SparkSession, table: str, condition: str) -> tuple[list[int], int]:
    """Return the ids of rows that a filter selects, and how many files the read opened for them."""
    frame = load(spark, table).where(condition).select("id")
    found = sorted(row.id for row in frame.collect())
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
    return found, int(scan.metrics().apply("numFiles").value())


def drop(spark: SparkSession, path: str, *columns: str, **arguments: Any) -> pme.Sealed:
    return pme.drop_index(spark, path, *columns, options=KMS, **arguments)


@pytest.fixture
def indexed(spark: SparkSession, target: str) -> str:
    """Return a table of two files, with indexes of three columns."""
    write(people(spark).repartitionByRange(2, "id"), target)
    seal(spark, target, index=[pme.MinMax("id", "salary", "name")])
    return target


def columns(table: str) -> list[tuple[str, str, str | None]]:
    return [(".".join(index.column), index.field, index.key) for index in pme.describe_index(table)]


def test_an_index_is_dropped_without_opening_a_file(spark: SparkSession, indexed: str) -> None:
    assert columns(indexed) == [("id", "index_0", "footer"), ("salary", "index_1", "pay"), ("name", "index_2", "pii")]
    made = drop(spark, indexed, "id")
    assert (made.version, made.files, made.opened) == (2, 2, 0)
    assert columns(indexed) == [("salary", "index_0", "pay"), ("name", "index_1", "pii")]
    assert len(ids(spark, indexed, snapshot="require")) == 20
    assert drop(spark, indexed, "salary", "name").opened == 0
    assert columns(indexed) == []
    assert pme.snapshots(indexed).problems == ()


def test_the_other_indexes_keep_their_ranges(spark: SparkSession, indexed: str) -> None:
    assert opened(spark, indexed, "id < 3") == ([0, 1, 2], 1)
    assert opened(spark, indexed, "salary < 4") == ([0, 1, 2], 1)
    drop(spark, indexed, "id")
    assert opened(spark, indexed, "id < 3") == ([0, 1, 2], 2)
    assert opened(spark, indexed, "salary < 4") == ([0, 1, 2], 1)
    assert opened(spark, indexed, "salary > 26") == ([18, 19], 1)
    assert opened(spark, indexed, "name = 'name-0'") == ([0], 1)


def test_sealing_with_fewer_indexes_opens_only_new_files(spark: SparkSession, indexed: str) -> None:
    plant(people(spark, 20, 5).coalesce(1), indexed)
    assert seal(spark, indexed, index=[pme.MinMax("salary")]).opened == 1
    assert opened(spark, indexed, "salary < 4") == ([0, 1, 2], 1)
    assert opened(spark, indexed, "salary > 36") == ([], 0)
    assert opened(spark, indexed, "salary > 35") == ([24], 1)
    assert seal(spark, indexed, index=[pme.MinMax("salary", "id")]).opened == 3
    assert opened(spark, indexed, "id > 23") == ([24], 1)


def test_dropping_an_index_does_not_need_its_key(spark: SparkSession, target: str) -> None:
    every = pme.PythonKms(Remembering())
    enc = pme.Encryption(kms=every, footer_key="footer", column_keys={"pii": "name"})
    pme.write(people(spark).coalesce(1), target, enc)
    pme.seal(spark, target, kms=every, index=[pme.MinMax("id", "name")], expect="unsealed")
    lacks = pme.PythonKms(Remembering(lacks=["pii"]))
    assert pme.drop_index(spark, target, "id", kms=lacks).opened == 0
    assert columns(target) == [("name", "index_0", "pii")]
    assert pme.drop_index(spark, target, "name", kms=lacks).opened == 0
    assert columns(target) == []


def test_a_column_without_an_index_has_none_to_drop(spark: SparkSession, indexed: str) -> None:
    with (
        untouched(indexed),
        refused("PME_UNKNOWN_COLUMN", "column 'ssn' has no such index", "minMax(id), minMax(salary)"),
    ):
        drop(spark, indexed, "id", "ssn")
    with refused("PME_BAD_OPTION", "it names no column"):
        drop(spark, indexed)


def test_a_table_that_is_not_sealed_has_no_index_to_drop(spark: SparkSession, target: str) -> None:
    write(people(spark), target)
    with untouched(target), refused("PME_BAD_OPTION", "it has no snapshot"):
        drop(spark, target, "id")
