"""`minSnapshot` binds a read to one table and its history, and a name that is a link needs it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.snapshots.tables import KEYS, KMS, NOT_AUTHENTIC, ids, write
from tests.support.expect import refused
from tests.support.frames import people

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.source import Conf


def sealed(spark: SparkSession, path: str) -> pme.Sealed:
    """Write a table and seal it in a session that keeps no memory of it."""
    write(people(spark).coalesce(1), path)
    return pme.seal(spark.newSession(), path, options=KMS, expect="unsealed")


def append(spark: SparkSession, path: str, start: int) -> None:
    more = people(spark.newSession(), start).coalesce(1).write.format("pme-parquet").options(**KEYS)
    more.mode("append").save(path)


def test_a_pin_accepts_later_versions_of_the_same_table(spark: SparkSession, target: str) -> None:
    first = sealed(spark, target)
    assert first.pin in str(first)
    append(spark, target, 20)
    for pin in (first.pin, first.digest, first.digest[:12], "1"):
        assert ids(spark.newSession(), target, minSnapshot=pin) == list(range(40))


def test_a_pin_refuses_another_history_of_the_same_path(spark: SparkSession, target: str) -> None:
    first = sealed(spark, target)
    append(spark, target, 20)
    shutil.rmtree(target)
    sealed(spark, target)
    append(spark, target, 100)
    assert len(ids(spark.newSession(), target, minSnapshot="2")) == 40, "a number alone says less"
    with refused(NOT_AUTHENTIC, "it is of the table with id", "minSnapshot="):
        ids(spark.newSession(), target, minSnapshot=first.pin)
    with refused(NOT_AUTHENTIC, "no version before it has this digest"):
        ids(spark.newSession(), target, minSnapshot=first.digest[:12])


def test_a_pin_refuses_an_older_version(spark: SparkSession, target: str) -> None:
    first = sealed(spark, target)
    with refused(NOT_AUTHENTIC, "it is version 1"):
        ids(spark.newSession(), target, minSnapshot=f"{first.table}:2")


@pytest.mark.parametrize("pin", ["0", "latest", "1:2", "00000000-0000-0000-0000-000000000000:0", "abcdef"])
def test_a_pin_that_means_nothing_is_refused(spark: SparkSession, target: str, pin: str) -> None:
    sealed(spark, target)
    with refused("PME_BAD_OPTION", "minSnapshot"):
        ids(spark.newSession(), target, minSnapshot=pin)


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_a_link_in_place_of_a_table_needs_a_pin(spark: SparkSession, target: str, scan: str) -> None:
    own = sealed(spark, target)
    other = sealed(spark, f"{target}-other")
    shutil.rmtree(target)
    Path(target).symlink_to(f"{target}-other")
    with refused(NOT_AUTHENTIC, "is a link", other.pin):
        ids(spark.newSession(), target, scan=scan)
    with refused(NOT_AUTHENTIC, "it is of the table with id"):
        ids(spark.newSession(), target, scan=scan, minSnapshot=own.pin)
    assert ids(spark.newSession(), target, scan=scan, minSnapshot=other.pin) == list(range(20))


def test_off_and_verify_key_contradict_each_other(spark: SparkSession, target: str, conf: Conf, tmp_path: Path) -> None:
    sealed(spark, target)
    key = f"file:{tmp_path / 'signer.pem'}"
    with refused("PME_BAD_OPTION", "snapshot and verifyKey"):
        ids(spark, target, snapshot="off", verifyKey=key)
    session = {"spark.datasource.pme-parquet.verifyKey": key}
    with conf(session):
        assert ids(spark, target, snapshot="off") == list(range(20)), "a read's own option, which a log names"
    off = {"spark.datasource.pme-parquet.snapshot": "off"}
    with conf(session | off), refused("PME_BAD_OPTION", "verifyKey"):
        ids(spark, target)


def test_a_session_that_ignores_snapshots_does_not_stop_what_a_read_requires(
    spark: SparkSession, target: str, conf: Conf, tmp_path: Path
) -> None:
    sealed(spark, target)
    with conf({"spark.datasource.pme-parquet.snapshot": "off"}):
        for required in ({"verifyKey": f"file:{tmp_path / 'signer.pem'}"}, {"minSnapshot": "9"}):
            with refused("PME_BAD_OPTION", "snapshot=off", *required):
                ids(spark, target, **required)
        assert ids(spark, target) == list(range(20))
        with refused(NOT_AUTHENTIC, "minSnapshot=9"):
            ids(spark, target, minSnapshot="9", snapshot="require")
