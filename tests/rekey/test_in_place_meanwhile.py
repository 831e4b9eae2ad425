"""Readers, writers and other runs while a table is encrypted in place."""

from __future__ import annotations

import os
import shutil
import threading
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.rekey.places import ENC, EXTERNAL, MANIFEST, hidden, in_place, read
from tests.support.canary import data_files
from tests.support.expect import refused
from tests.support.frames import people
from tests.support.session import TEST_KMS
from tests.support.source import rows
from tests.support.storage import file_systems
from tests.support.storage.file_systems import MEETING
from tests.support.tables import Remembering
from tests.support.two_at_once import at_once

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf


def test_a_file_written_again_after_it_was_listed_is_not_changed(spark: SparkSession, plain: Path) -> None:
    victim = data_files(plain)[0]

    class Meddling(Remembering):
        def wrap_key(self, key: bytes, master_key_id: str) -> str:
            os.utime(victim, (0, 0))
            return super().wrap_key(key, master_key_id)

    before = victim.read_bytes()
    enc = pme.Encryption(kms=pme.PythonKms(Meddling()), uniform_key="footer")
    with refused("PME_UNSUPPORTED", "changed while this ran", victim.name):
        in_place(spark, plain, enc)
    assert victim.read_bytes() == before
    assert in_place(spark, plain, enc).files == 1


def test_a_file_that_is_added_meanwhile_is_reported(spark: SparkSession, plain: Path) -> None:
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


def test_a_frame_made_before_the_run_still_reads(spark: SparkSession, plain: Path) -> None:
    frame = read(spark, plain, plaintextFiles="allow")
    expected = rows(spark.read.parquet(str(plain)))
    in_place(spark, plain)
    assert rows(frame) == expected


@pytest.mark.parametrize("reader", ["pages", "spark"])
def test_splits_planned_before_the_run_are_read_completely_or_refused(
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
        # Spark's own reader uses the old length, which may reach as far as the last row group needs.
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
    at_once(lambda: in_place(spark, path, EXTERNAL))
    assert rows(read(spark, path, plaintextFiles="allow")) == expected
    in_place(spark, path, EXTERNAL)
    assert rows(read(spark, path)) == expected
    assert hidden(path) == []


@pytest.mark.parametrize("gone", ["mark", "files"])
def test_a_run_that_another_run_overtakes_changes_nothing(spark: SparkSession, plain: Path, gone: str) -> None:
    others = plain / MANIFEST.parent / "other" / "running"

    class Overtaking(Remembering):
        def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
            others.parent.mkdir(exist_ok=True)
            others.touch()
            for own in (plain / MANIFEST.parent).glob("*/running"):
                if own == others:
                    continue
                if gone == "mark":
                    own.unlink(missing_ok=True)
                else:
                    # Tasks write there at this moment, and remove what this leaves.
                    shutil.rmtree(own.parent, ignore_errors=True)
            return super().unwrap_key(wrapped, master_key_id)

    enc = pme.Encryption(kms=pme.PythonKms(Overtaking()), uniform_key="footer")
    before = {file: file.read_bytes() for file in data_files(plain)}
    with refused("PME_UNSUPPORTED", "another one has begun"):
        in_place(spark, plain, enc)
    assert {file: file.read_bytes() for file in data_files(plain)} == before
    assert sorted(hidden(plain)) == ["manifest.json", "running"]
    assert others.exists()


@pytest.mark.parametrize("other", ["settings", "path"])
def test_at_most_one_of_two_runs_that_begin_at_once_continues(
    spark: SparkSession, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, other: str
) -> None:
    file_systems.load(spark, tmp_path_factory)
    path = tmp_path / "all"
    people(spark, count=200).repartition(4).write.parquet(str(path / "part"))
    expected = rows(spark.read.parquet(str(path / "part")))
    done: list[pme.Copied] = []
    refusals: list[str] = []

    def run(own: Path, enc: pme.Encryption) -> None:
        try:
            done.append(in_place(spark, own, enc, **MEETING))
        except pme.PmeError as refusal:
            refusals.append(str(refusal))

    both = [(path, EXTERNAL), (path, ENC) if other == "settings" else (path / "part", EXTERNAL)]
    # Each has twice found no manifest: when it checked for a run to continue, and before it wrote its own.
    file_systems.meet(spark, MANIFEST.name, times=2)
    runs = [threading.Thread(target=run, args=arguments) for arguments in both]
    for one in runs:
        one.start()
    for one in runs:
        one.join()

    assert file_systems.have_met(spark)
    assert len(done) + len(refusals) == len(runs)
    assert refusals
    assert all("has not ended" in refusal or "another one has begun" in refusal for refusal in refusals)
    assert rows(read(spark, path / "part", plaintextFiles="allow")) == expected
    if not done:
        # Each has ended the other: the run that left its manifest continues.
        for arguments in both:
            run(*arguments)
    assert done
    assert rows(read(spark, path / "part")) == expected
    assert hidden(path) == []
