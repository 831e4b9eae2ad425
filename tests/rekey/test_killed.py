"""A killed copy does not appear; the next run makes it, and removes what the killed one left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pytest

from tests.rekey.copies import copy, left
from tests.rekey.killed_job import NEW
from tests.support.canary import data_files, files_under, find_canaries
from tests.support.processes import environment
from tests.support.session import ROOT, TEST_KMS
from tests.support.source import rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

FILES = 160
PATIENCE = 120
STAGING = ".table.pme-rekey-*"


@pytest.fixture(scope="module")
def source(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table of many files: one that Spark wrote, and links to it."""
    path = tmp_path_factory.mktemp("killed") / "source"
    frame = spark.range(0, 2000, 1, 1).selectExpr("id", "concat('name-', id) AS name")
    frame.write.format("pme-parquet").options(kms=TEST_KMS, uniformKey="old").save(str(path))
    [file] = data_files(path)
    for number in range(FILES - 1):
        (path / f"more-{number:05d}.parquet").hardlink_to(file)
    return path


def staged(directory: Path) -> int:
    """Return how many files are being written, or are complete."""
    return sum(path.suffix == ".parquet" for run in directory.glob(STAGING) for path in files_under(run))


def wait(what: Callable[[], bool]) -> None:
    deadline = monotonic() + PATIENCE
    while not what():
        assert monotonic() < deadline
        sleep(0.005)


@pytest.mark.nightly
def test_a_killed_copy_does_not_appear_and_the_next_run_makes_it(
    spark: SparkSession, source: Path, tmp_path: Path
) -> None:
    (tmp_path / "source").symlink_to(source)
    job = subprocess.Popen(
        [sys.executable, "-m", "tests.rekey.killed_job", str(tmp_path)],
        env=environment(),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert job.stdout
        with job.stdout as said:
            driver = int(said.readline())
        wait(lambda: staged(tmp_path) >= FILES // 10)
        os.kill(driver, signal.SIGKILL)
    finally:
        job.kill()
        job.wait()
    assert "source" in left(tmp_path)
    assert "table" not in left(tmp_path)
    [staging] = tmp_path.glob(STAGING)
    assert find_canaries(staging, ["name-"]) == []
    copy(spark, tmp_path / "source", tmp_path / "table", NEW)
    assert set(left(tmp_path)) <= {"scratch", "source", "table"}
    assert_copied(spark, tmp_path / "table", source)


def test_a_cancelled_copy_leaves_nothing(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    failures: list[Exception] = []

    def run() -> None:
        try:
            copy(spark, source, tmp_path / "table", NEW)
        except Exception as error:  # noqa: BLE001 - it is cancelled below
            failures.append(error)

    copying = threading.Thread(target=run)
    copying.start()
    try:
        wait(lambda: staged(tmp_path) >= FILES // 10)
    finally:
        spark.sparkContext.cancelAllJobs()
        copying.join()
    assert failures
    wait(lambda: left(tmp_path) == [])


def assert_copied(spark: SparkSession, target: Path, source: Path) -> None:
    """Fail unless every file was copied; each holds the same."""
    files = data_files(target)
    assert [file.name for file in files] == [file.name for file in data_files(source)]
    reader = spark.read.format("pme-parquet").options(kms=TEST_KMS)
    assert rows(reader.load(str(files[-1]))) == rows(reader.load(str(data_files(source)[0])))
    assert reader.load(str(target)).count() == FILES * 2000
