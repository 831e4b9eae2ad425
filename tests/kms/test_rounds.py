"""What a KMS's latency costs a query over a thousand files: three calls after each other at most, counted."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.kms.access import read
from tests.support import needs
from tests.support.kms.counting import FOOTER, Table, column_keys, encryption, frame, linked, log, written

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("counting_kms")

FILES = 1000
JOBS = 4
LATENCIES = 3
# What a call takes, in milliseconds: long enough for calls that are made together to overlap on a busy machine.
PAUSE = 500

Thousand = Callable[[int], Table]

# A thousand files take a while: `make test-all` reads them in every way.


@pytest.fixture(scope="module")
def thousand(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Thousand:
    """Return what gives a table of a thousand files, of one write job, and so many columns with keys of their own."""
    directory = tmp_path_factory.mktemp("thousand")

    @functools.cache
    def table(columns: int) -> Table:
        return linked(written(spark, directory, columns, 1), FILES)

    return table


def checksum(frame: DataFrame) -> int:
    """Return a number that every cell of the frame has a part in."""
    [row] = frame.selectExpr("sum(CAST(hash(*) AS bigint))").collect()
    return int(row[0])


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        pytest.param(3, {}, id="3 keys"),
        pytest.param(3, {"scan": "v2"}, id="3 keys, v2", marks=needs.test_all),
        pytest.param(3, {"reader": "spark"}, id="3 keys, reader=spark", marks=needs.test_all),
        pytest.param(40, {}, id="40 keys", marks=needs.test_all),
    ],
)
def test_a_query_over_a_thousand_files_costs_three_latencies_at_most(
    spark: SparkSession, thousand: Thousand, tmp_path: Path, columns: int, options: dict[str, str]
) -> None:
    table, user = thousand(columns), log(tmp_path)
    content = read(spark, table.path, user.options(pause_millis=PAUSE) | options)
    assert checksum(content) == FILES * checksum(frame(spark, columns, 1))
    assert user.count("unwrap") == table.keys()
    assert user.rounds(PAUSE) <= LATENCIES


@pytest.mark.nightly
def test_files_of_several_write_jobs_cost_two_latencies_for_each(spark: SparkSession, tmp_path: Path) -> None:
    table, user = written(spark, tmp_path, 3, 1), log(tmp_path)
    writer = frame(spark, 3, 1).write.format("pme-parquet").options(**table.written.options(), **encryption(3))
    for _ in range(JOBS - 1):
        writer.mode("append").save(table.path)
    many = linked(table._replace(files=JOBS), FILES)
    content = read(spark, many.path, user.options(pause_millis=PAUSE))
    assert checksum(content) == FILES * checksum(frame(spark, 3, 1))
    assert user.count("unwrap") == table.keys(times=JOBS)
    assert user.rounds(PAUSE) <= 2 * JOBS


def test_a_write_costs_two_latencies_at_most(spark: SparkSession, target: str, tmp_path: Path) -> None:
    user = log(tmp_path)
    writer = frame(spark, 20, 8).write.format("pme-parquet").options(**user.options(pause_millis=PAUSE))
    writer.options(**encryption(20)).save(target)
    assert user.count("wrap") == dict.fromkeys([FOOTER, *column_keys(20)], 1)
    assert user.rounds(PAUSE) <= 2
