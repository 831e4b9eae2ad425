"""Unfinished files, and what a failed or cancelled job leaves, show no more than finished ones."""

from __future__ import annotations

import threading
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pytest

from tests.leaks.canaries import COLUMN_KEYS, EVERYWHERE, OPEN, PROTECTED, canaries
from tests.support.canary import files_under, find_canaries

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Source

SMALL = {"parquet.block.size": "4096", "parquet.page.size": "512", "parquet.page.size.row.check.min": "5"}
PROTECT = {**EVERYWHERE, **SMALL, "columnKeys": COLUMN_KEYS, "unlistedColumns": "plaintext"}
ENOUGH = 20_000
PATIENCE = 120
GROUP = "unfinished"


def test_a_failed_write_leaves_nothing_readable(spark: SparkSession, ours: Source, tmp_path: Path) -> None:
    frame = canaries(spark).selectExpr("*", "IF(id = 110, raise_error('stop here'), id) AS late")
    with pytest.raises(Exception, match="stop here"):
        ours.write(frame.coalesce(1), **PROTECT)
    assert find_canaries(tmp_path, PROTECTED) == []
    assert [path for path in files_under(tmp_path) if path.suffix == ".parquet"] == []


def part_file(root: Path) -> Path | None:
    """Return a file in ``_temporary`` that already holds some row groups."""
    for path in files_under(root):
        if path.suffix == ".parquet" and "_temporary" in path.parts and path.stat().st_size > ENOUGH:
            return path
    return None


def test_a_file_being_written_shows_nothing(spark: SparkSession, ours: Source, tmp_path: Path) -> None:
    slow = canaries(spark, 50_000).selectExpr("*", "reflect('java.lang.Thread', 'sleep', 1L) AS slept")
    failures: list[Exception] = []

    def write() -> None:
        # Without an interruption the task would go on, and fill the memory of the tests that follow.
        spark.sparkContext.setJobGroup(GROUP, "a slow write", interruptOnCancel=True)
        try:
            ours.write(slow, **PROTECT)
        except Exception as error:  # noqa: BLE001 - the job is cancelled below
            failures.append(error)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        deadline = monotonic() + PATIENCE
        while (part := part_file(tmp_path)) is None and writing.is_alive() and monotonic() < deadline:
            sleep(0.05)
        assert part is not None, failures
        assert find_canaries(tmp_path, [OPEN])
        assert find_canaries(tmp_path, PROTECTED) == []
    finally:
        spark.sparkContext.cancelJobGroup(GROUP)
        writing.join()
    assert failures
    assert find_canaries(tmp_path, PROTECTED) == []
