"""Indexes of every kind from Python to the connector and back: made, described, used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.snapshots.tables import KMS, load, plant, seal, write
from tests.support.frames import people

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

FPP = {"fpp": "0.001"}


@pytest.fixture
def indexed(spark: SparkSession, target: str) -> str:
    """Return a table of four files of ten ids each, with three kinds of indexes, of which one has a key of its own."""
    write(people(spark, 0, 40).repartitionByRange(4, "id"), target)
    index = [pme.MinMax("id"), pme.Bloom("name", fpp=0.001), pme.MinMax("name"), pme.ValueList("country", max=8)]
    seal(spark, target, index=index, index_keys={"pay": ["name"]})
    return target


def described(table: str) -> list[tuple[str, str, str | None, dict[str, str]]]:
    return [(index.name, index.kind, index.key, index.parameters) for index in pme.describe_index(table)]


def test_indexes_are_described_with_their_keys_and_keep_them(spark: SparkSession, indexed: str, tmp_path: Path) -> None:
    made = [
        ("id", "minMax", "footer", {}),
        ("name", "bloom", "pay", FPP),
        ("name", "minMax", "pay", {}),
        ("country", "valueList", "footer", {"max": "8"}),
    ]
    assert described(indexed) == made
    assert pme.snapshots(indexed).problems == ()
    inspection = pme.inspect(indexed)
    assert inspection.findings == ()
    assert "bloom of name: key 'pay'" in " ".join(str(inspection).split())
    page = pme.report(indexed, tmp_path / "report.html", spark=spark, options=KMS).read_text()
    assert "Verification checked the seal" in page
    assert "There are no findings." in page
    assert "another key: the column is under pii" in page
    plant(people(spark, 40, 10).coalesce(1), indexed)
    [finding] = pme.inspect(indexed).findings
    assert finding.condition == "PME_SNAPSHOT_MISMATCH"
    assert seal(spark, indexed, index_keys={"pay": ["name"]}).opened == 1
    assert described(indexed) == made
    assert pme.inspect(indexed).findings == ()


def test_statistics_of_a_query_say_which_index_spared_which_files(spark: SparkSession, indexed: str) -> None:
    query = load(spark, indexed).where("name = 'name-12' AND id < 30").select("id")
    for _ in range(2):  # before it runs, and after
        [scan] = pme.query_stats(query).scans
        assert (scan.path.removeprefix("file:"), scan.version, scan.files, scan.files_read) == (indexed, 1, 4, 1)
        assert 0 < scan.bytes_read < scan.bytes
        skipped = {(one.kind, ".".join(one.column)) for one in scan.skipped_by}
        assert skipped
        assert skipped <= {("minMax", "id"), ("bloom", "name"), ("minMax", "name")}
        assert [row.id for row in query.collect()] == [12]
    by_list = pme.query_stats(load(spark, indexed).where("country = 'nowhere'"))
    assert (by_list.files_read, by_list.scans[0].skipped_by) == (0, (pme.SkippedFiles("valueList", ("country",), 4),))
    unsealed = pme.query_stats(load(spark, indexed, snapshot="off").where("id = 12"))
    assert [(one.version, one.files, one.files_read, one.skipped_by) for one in unsealed.scans] == [(None, 4, 4, ())]
    both = pme.query_stats(load(spark, indexed).where("id < 10").union(load(spark, indexed).where("id > 25")))
    assert [scan.files_read for scan in both.scans] == [1, 2]
    assert str(both).startswith("3 of 8 files read, in 2 scans\n")
    assert pme.query_stats(spark.range(3)).scans == ()
