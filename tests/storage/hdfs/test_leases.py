"""Files that a killed process was writing: HDFS shows them, and keeps them open for whoever had the lease."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.storage.place import READING
from tests.support.expect import refused
from tests.support.frames import people, people_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.storage.hdfs.place import InHdfs

pytestmark = pytest.mark.oldest

NEW = {"footer": "footer-2", "pii": "pii-2", "pay": "pay-2"}
HALF = "part-00000-half.snappy.parquet"
TOGETHER = 4


def half_written(place: InHdfs) -> None:
    """Write a table, and half of one of its files as a process that is killed."""
    place.write(people(place.spark))
    whole = place.files.read(f"{place.where}/{min(place.data())}")
    place.files.leave_open(f"{place.where}/{HALF}", whole[: len(whole) // 2])
    assert place.files.is_open(f"{place.where}/{HALF}")


def test_the_error_names_the_file_that_is_incomplete(spark: SparkSession, place: InHdfs) -> None:
    half_written(place)
    with pytest.raises(Exception, match=HALF):
        place.rows()
    findings = pme.verify(spark, place.path, options=READING).collect()
    assert {finding.file.rpartition("/")[2] for finding in findings} == {HALF}
    names = place.names()
    with pytest.raises(Exception, match=HALF):
        pme.rotate(spark, place.path, options=READING, master_keys=NEW, allow_unused=True)
    assert place.names() == names


def test_a_table_is_well_again_without_the_incomplete_file(spark: SparkSession, place: InHdfs) -> None:
    half_written(place)
    while not place.files.recover(f"{place.where}/{HALF}"):
        pass
    # Complete for HDFS, but still half of a file.
    with pytest.raises(Exception, match=HALF):
        place.rows()
    place.files.delete(f"{place.where}/{HALF}")
    assert place.rows() == people_rows(spark)
    pme.rotate(spark, place.path, options=READING, master_keys=NEW, allow_unused=True)
    assert place.rows() == people_rows(spark)


def test_a_sealed_table_refuses_an_incomplete_file(spark: SparkSession, place: InHdfs) -> None:
    place.write(people(spark))
    pme.seal(spark, place.path, options=READING, expect="unsealed")
    place.files.leave_open(f"{place.where}/{HALF}", b"PAR1")
    with refused("PME_SNAPSHOT_MISMATCH", HALF):
        place.rows(snapshot="require")


def test_of_several_that_seal_at_once_each_version_is_made_by_one(spark: SparkSession, place: InHdfs) -> None:
    place.write(people(spark))
    pme.seal(spark, place.path, options=READING, expect="unsealed")
    place.plant(people(spark, 20))
    start = threading.Barrier(TOGETHER)

    def seal(_: int) -> int | None:
        start.wait()
        try:
            return pme.seal(spark, place.path, options=READING, expect="1").version
        except pme.PmeError as failed:
            assert failed.condition == "PME_SNAPSHOT_CONFLICT"  # noqa: PT017 one of them may succeed
            return None

    with ThreadPoolExecutor(TOGETHER) as pool:
        made = list(pool.map(seal, range(TOGETHER)))
    versions = sorted(version for version in made if version)
    assert versions
    assert versions == list(range(2, 2 + len(versions)))
    manifests = {name for name in place.names() if name.startswith("_pme_snapshots/snapshot-")}
    assert len(manifests) == 1 + len(versions)
    assert place.rows(snapshot="require") == people_rows(spark, 0, 20)
    assert pme.verify(spark, place.path, options=READING).collect() == []
