"""Readers, writers and other runs, while a table is encrypted where it is."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.policy.expect import refused
from tests.rekey.places import EXTERNAL, hidden, in_place, read
from tests.rotation.tables import Remembering
from tests.support.canary import data_files
from tests.support.frames import people
from tests.support.session import TEST_KMS
from tests.support.source import rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf


def test_a_file_that_is_written_after_it_was_listed_is_left(spark: SparkSession, plain: Path) -> None:
    victim = data_files(plain)[0]

    class Meddling(Remembering):
        def wrap_key(self, key: bytes, master_key_id: str) -> str:
            os.utime(victim, (0, 0))
            return super().wrap_key(key, master_key_id)

    before = victim.read_bytes()
    enc = pme.Encryption(kms=pme.PythonKms(Meddling()), uniform_key="footer")
    with refused("PME_UNSUPPORTED", "since it was looked at", victim.name):
        in_place(spark, plain, enc)
    assert victim.read_bytes() == before
    assert in_place(spark, plain, enc).files == 1


def test_a_file_that_is_added_meanwhile_is_told(spark: SparkSession, plain: Path) -> None:
    known = data_files(plain)
    added = known[0].with_name("added.parquet")
    content = known[0].read_bytes()

    class Adding(Remembering):
        def wrap_key(self, key: bytes, master_key_id: str) -> str:
            if not added.exists():
                added.write_bytes(content)
            return super().wrap_key(key, master_key_id)

    enc = pme.Encryption(kms=pme.PythonKms(Adding()), uniform_key="footer")
    with refused("PME_UNSUPPORTED", "added after the files were listed", added.name):
        in_place(spark, plain, enc)
    assert hidden(plain) == ["manifest.json"]
    done = in_place(spark, plain, enc)
    assert (done.files, done.already) == (1, len(known))
    assert hidden(plain) == []


def test_a_frame_that_was_made_before_reads_on(spark: SparkSession, plain: Path) -> None:
    frame = read(spark, plain, plaintextFiles="allow")
    expected = rows(spark.read.parquet(str(plain)))
    in_place(spark, plain)
    assert rows(frame) == expected


@pytest.mark.parametrize("reader", ["pages", "spark"])
def test_splits_that_were_cut_before_are_read_whole_or_refused(
    spark: SparkSession, tmp_path: Path, conf: Conf, reader: str
) -> None:
    path = tmp_path / "plain"
    many = {"parquet.block.size": "2000", "parquet.page.size": "100", "parquet.page.row.count.limit": "10"}
    people(spark, count=2000).coalesce(1).write.options(**many).parquet(str(path))
    [file] = data_files(path)
    assert pq.ParquetFile(file).num_row_groups > 2
    expected = rows(spark.read.parquet(str(path)))
    whole = read(spark, path, plaintextFiles="allow", reader=reader)
    split = read(spark, path, plaintextFiles="allow", reader=reader)
    ours = spark.read.format("pme-parquet").options(kms=TEST_KMS, reader=reader)
    strict = ours.schema(whole.schema).load(str(path))
    in_place(spark, path)
    parts = {"spark.sql.files.maxPartitionBytes": str(file.stat().st_size // 5), "spark.sql.files.openCostInBytes": "1"}
    with conf(parts), refused("PME_UNSUPPORTED", "after this query was planned", "REFRESH TABLE"):
        rows(split)
    if reader == "pages":
        with conf(parts):
            assert rows(strict) == expected
        assert rows(whole) == expected
    else:
        # Spark's own reader goes by the old length, which may reach as far as the last row group needs.
        try:
            assert rows(whole) == expected
        except pme.UnsupportedError as refusal:
            assert "after this query was planned" in str(refusal)  # noqa: PT017 either is right


def test_readers_meanwhile_see_the_rows_or_fail_cleanly(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "plain"
    people(spark, count=200).repartition(8).write.parquet(str(path))
    expected = rows(spark.read.parquet(str(path)))
    stop, seen, wrong = threading.Event(), threading.Event(), []

    def look() -> None:
        while not stop.is_set():
            try:
                found = rows(read(spark, path, plaintextFiles="allow"))
            except pme.PmeError:
                continue
            seen.set()
            if found != expected:
                wrong.append(found)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        assert seen.wait(60)
        in_place(spark, path, EXTERNAL)
    finally:
        stop.set()
        reader.join()
    assert wrong == []


def test_two_runs_at_once_lose_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "plain"
    people(spark, count=200).repartition(12).write.parquet(str(path))
    expected = rows(spark.read.parquet(str(path)))
    failures: list[Exception] = []

    def run() -> None:
        try:
            in_place(spark, path, EXTERNAL)
        except Exception as error:  # noqa: BLE001 one ends the other
            failures.append(error)

    runs = [threading.Thread(target=run) for _ in range(2)]
    for one in runs:
        one.start()
    for one in runs:
        one.join()
    assert rows(read(spark, path, plaintextFiles="allow")) == expected
    in_place(spark, path, EXTERNAL)
    assert rows(read(spark, path)) == expected
    assert hidden(path) == []
