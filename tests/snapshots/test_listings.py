"""A read of a sealed table gets what it asks for of the sealed list, whatever else says which files there are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.snapshots.tables import KEYS, KMS, MISMATCH, NOT_AUTHENTIC, ids, load, seal, write
from tests.support.canary import data_files
from tests.support.errors import innermost_condition, outcome
from tests.support.expect import refused
from tests.support.frames import people

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

MINUTE = 60
SCANS = [{"scan": "v1"}, {"scan": "v2"}]


def files_of(path: str) -> list[str]:
    return [str(file) for file in data_files(path)]


PATTERNS: dict[str, Callable[[str, list[str]], tuple[list[str], dict[str, str]]]] = {
    "a pattern of files": lambda table, _: ([f"{table}/country=*/*.parquet"], {}),
    "a list of files": lambda _, files: (files[1:], {}),
    "a pattern of partitions": lambda table, _: ([f"{table}/country=*"], {}),
    "pathGlobFilter": lambda table, _: ([table], {"pathGlobFilter": "*.parquet"}),
    "modifiedAfter": lambda table, _: ([table], {"modifiedAfter": "2020-01-01T00:00:00"}),
}


@pytest.mark.parametrize("scan", SCANS, ids=lambda scan: scan["scan"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_does_not_hide_a_file_that_was_removed(
    spark: SparkSession, target: str, pattern: str, scan: dict[str, str]
) -> None:
    write(people(spark).coalesce(1), target, "country")
    seal(spark, target)
    paths, options = PATTERNS[pattern](target, files_of(target))
    base = options | scan | {"basePath": target}
    everything = list(range(20))
    if pattern != "a list of files":
        assert ids(spark, *paths, **base) == everything
    Path(files_of(target)[0]).unlink()
    for required in ({}, {"snapshot": "require"}, {"minSnapshot": "1"}):
        with refused(MISMATCH, "is missing"):
            ids(spark.newSession(), *paths, **base, **required)


@pytest.mark.parametrize("scan", SCANS, ids=lambda scan: scan["scan"])
def test_a_pattern_of_files_in_one_directory_misses_a_removed_one(
    spark: SparkSession, target: str, scan: dict[str, str]
) -> None:
    write(people(spark).repartition(3), target)
    seal(spark, target)
    assert ids(spark, f"{target}/*.parquet", **scan) == list(range(20))
    first, *_ = files_of(target)
    assert len(ids(spark, first, **scan)) < 20
    shutil.move(first, f"{target}/_hidden")
    with refused(MISMATCH, Path(first).name, "is missing"):
        ids(spark, f"{target}/*.parquet", **scan)


def test_a_file_that_a_pattern_finds_beside_the_list_is_refused(spark: SparkSession, target: str) -> None:
    write(people(spark).coalesce(1), target)
    seal(spark, target)
    [file] = files_of(target)
    shutil.copy(file, f"{target}/planted.parquet")
    with refused(MISMATCH, "planted.parquet", "not in the list"):
        ids(spark, f"{target}/pl*.parquet")


@pytest.mark.parametrize("scan", SCANS, ids=lambda scan: scan["scan"])
def test_a_planted_log_of_a_stream_lists_no_file_twice(spark: SparkSession, target: str, scan: dict[str, str]) -> None:
    write(people(spark).repartition(2), target)
    seal(spark, target)
    entries = [
        {
            "path": Path(file).as_uri(),
            "size": Path(file).stat().st_size,
            "isDir": False,
            "modificationTime": 0,
            "blockReplication": 1,
            "blockSize": 1,
            "action": "add",
        }
        for file in files_of(target)
    ]
    log = Path(target, "_spark_metadata")
    log.mkdir()

    def planted(*listed: dict[str, object]) -> None:
        (log / "0").write_text("\n".join(["v1", *map(json.dumps, listed)]))

    planted(*entries)
    assert ids(spark, target, **scan) == list(range(20))
    planted(*entries, entries[0])
    with refused(MISMATCH, "listed twice"):
        ids(spark, target, **scan)
    planted(entries[0])
    with refused(MISMATCH, "_spark_metadata"):
        ids(spark, target, **scan)


def test_a_reader_who_names_a_path_twice_gets_it_twice(spark: SparkSession, target: str) -> None:
    write(people(spark).coalesce(1), target)
    seal(spark, target)
    assert ids(spark, target, target) == sorted([*range(20)] * 2)


@pytest.mark.parametrize("scan", SCANS, ids=lambda scan: scan["scan"])
def test_a_frame_from_before_a_rotation_says_to_load_the_table_again(
    spark: SparkSession, target: str, scan: dict[str, str]
) -> None:
    write(people(spark).coalesce(1), target)
    seal(spark, target)
    old = load(spark, target, **scan)
    pme.rotate(spark, target, kms=pme.KmsClass(KMS["kms"]), master_keys={"footer": "footer-number-two"})
    with refused("PME_UNSUPPORTED", "Load the table again", never=("pme.seal",)):
        old.collect()
    assert load(spark, target, **scan).count() == 20


# Streams.


def drained(spark: SparkSession, path: str, **options: str) -> list[int]:
    """Return the ids that a new stream over the path reads until there is nothing more."""
    stream = spark.readStream.format("pme-parquet").options(**KMS, **options).schema(people(spark).schema)
    writer = stream.load(path).writeStream.format("memory").queryName("drained")
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination(MINUTE)
    return sorted(row.id for row in spark.table("drained").collect())


@pytest.mark.parametrize("options", [{}, {"snapshot": "require"}, {"minSnapshot": "1"}], ids=str)
def test_a_stream_misses_a_file_that_was_removed(spark: SparkSession, target: str, options: dict[str, str]) -> None:
    write(people(spark).repartition(3), target)
    seal(spark, target)
    assert drained(spark, target, **options) == list(range(20))
    for file in files_of(target):
        Path(file).unlink()
        assert outcome(lambda: drained(spark, target, **options), innermost_condition) == MISMATCH


def test_a_stream_of_a_pattern_misses_a_file_that_was_removed(spark: SparkSession, target: str) -> None:
    write(people(spark).repartition(3), target)
    seal(spark, target)
    assert drained(spark, f"{target}/*.parquet") == list(range(20))
    Path(files_of(target)[0]).unlink()
    assert outcome(lambda: drained(spark, f"{target}/*.parquet"), innermost_condition) == MISMATCH


def test_a_stream_knows_the_versions_that_its_session_knows(spark: SparkSession, target: str) -> None:
    write(people(spark).coalesce(1), target)
    seal(spark, target)
    kept = f"{target}-kept"
    shutil.copytree(target, kept)
    more = people(spark, 20).coalesce(1).write.format("pme-parquet").options(**KEYS)
    more.mode("append").save(target)
    assert ids(spark, target) == list(range(40))
    shutil.rmtree(target)
    shutil.move(kept, target)
    assert outcome(lambda: drained(spark, target), innermost_condition) == NOT_AUTHENTIC
    assert drained(spark.newSession(), target) == list(range(20))
