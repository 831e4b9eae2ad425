"""Readers and other runs while a table is encrypted in place, and two copies to one target."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.rekey.copies import left
from tests.rekey.places import ENC, EXTERNAL, MANIFEST, hidden, in_place, read
from tests.support import file_systems
from tests.support.canary import data_files
from tests.support.expect import snapshot
from tests.support.file_systems import MEETING
from tests.support.frames import people
from tests.support.kms.clients import Waiting, at_once, during
from tests.support.source import rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


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


def test_the_first_finished_of_two_copies_to_one_target_wins(spark: SparkSession, plain: Path, tmp_path: Path) -> None:
    # One file, and so one task: while it waits, the other copy has a core.
    source, target = str(data_files(plain)[0]), tmp_path / "target"
    # It opens nothing that was written before: the copy is staged then.
    client = Waiting(wraps=False)
    slow = pme.Encryption(kms=pme.PythonKms(client), uniform_key="slow")

    def quick() -> None:
        [staging] = [name for name in left(tmp_path) if "pme-rekey" in name]
        staged = snapshot(tmp_path / staging)
        pme.encrypt(spark, source, str(target), ENC)
        assert snapshot(tmp_path / staging).keys() >= staged.keys()

    [failure] = during(client, lambda: pme.encrypt(spark, source, str(target), slow), quick)
    assert isinstance(failure, pme.PmeError), failure
    assert failure.condition == "PME_BAD_OPTION", failure
    assert "it is not empty" in str(failure)
    assert rows(read(spark, target)) == rows(spark.read.parquet(source))
    assert left(tmp_path) == ["plain", "target"]
