"""`pme_seal` and `pme_snapshots`: sealing a table, and its verified history, for users who have only SQL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.snapshots.tables import KMS, ids, load, plant, seal, write
from tests.support.expect import refused, untouched
from tests.support.frames import people
from tests.support.sealing import expected
from tests.support.sql import call

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

HISTORY = ["version", "digest", "created", "creator", "files", "rows", "bytes", "algorithm", "key"]


@pytest.fixture
def table(spark: SparkSession, target: str) -> str:
    """Return a table of 20 people in two files, which is not sealed."""
    write(people(spark).repartition(2), target)
    load(spark, target).schema  # noqa: B018 the session has the functions once it has used the format
    return target


def sealing(path: str, more: str = "", **options: str) -> str:
    """Return a statement that seals the table with the KMS of the tests."""
    given = call("pme_seal", path, options=KMS | options).removesuffix(")")
    return f"SELECT * FROM {given}, expect => '{expected(path)}'{more})"


def history(spark: SparkSession, path: str, **options: str) -> list[Row]:
    return spark.sql(f"SELECT * FROM {call('pme_snapshots', path, options=KMS | options)}").collect()


def test_a_statement_seals_the_table_once(spark: SparkSession, table: str) -> None:
    report = spark.sql(sealing(table))
    [row] = report.collect()
    assert report.collect() == [row]
    [version] = pme.snapshots(table)
    assert (row.version, row.digest, row.files, row.rows, row.bytes) == (1, version.digest, 2, 20, version.bytes)
    assert (row.opened, row.algorithm, row.key) == (2, "HMAC-SHA256", "footer")
    assert Path(row.location.removeprefix("file:")) == Path(table) / "_pme_snapshots"
    assert report.columns == list(pme.Sealed.__dataclass_fields__)
    assert ids(spark, table, snapshot="require") == list(range(20))


def test_only_a_query_that_runs_seals(spark: SparkSession, table: str) -> None:
    with untouched(table):
        spark.sql(f"EXPLAIN {sealing(table)}").collect()
        assert spark.sql(sealing(table)).columns[0] == "version"


def test_indexes_are_an_array(spark: SparkSession, table: str) -> None:
    def indexed(more: str) -> list[tuple[str, ...]]:
        spark.sql(sealing(table, more)).collect()
        return [index.column for index in pme.describe_index(table)]

    assert indexed(", min_max => array('id', 'address.zip')") == [("id",), ("address", "zip")]
    assert indexed("") == [("id",), ("address", "zip")]
    assert indexed(", min_max => array()") == []


@pytest.mark.parametrize(
    ("given", "reason"),
    [("'id'", "an array of strings"), ("array(1)", "an array of strings"), ("array('id', NULL)", "element 2 is NULL")],
)
def test_indexes_of_another_form_are_refused(spark: SparkSession, table: str, given: str, reason: str) -> None:
    with untouched(table), refused("PME_BAD_OPTION", "min_max", reason):
        spark.sql(sealing(table, f", min_max => {given}"))


def test_wrong_options_are_refused_before_the_query_runs(spark: SparkSession, table: str) -> None:
    for function in ("pme_seal", "pme_snapshots"):
        with refused("PME_UNKNOWN_OPTION", "signingKey"):
            spark.sql(f"SELECT * FROM {call(function, table, options={'signingKy': 'x'})}")


def test_the_history_is_that_of_the_manifests_the_newest_first(spark: SparkSession, table: str) -> None:
    assert history(spark, table) == []
    for count in (0, 5):
        if count:
            plant(people(spark, 20, count).coalesce(1), table)
        seal(spark, table)
    rows = history(spark, table)
    versions = reversed(pme.snapshots(table))
    assert [row.asDict() for row in rows] == [
        {name: getattr(version, name) for name in HISTORY} for version in versions
    ]
    pme.expire_snapshots(spark, table, keep=1, options=KMS)
    assert [row.version for row in history(spark, table)] == [2]


@pytest.mark.parametrize("version", [1, 2])
def test_a_history_with_a_forged_version_is_refused(spark: SparkSession, table: str, version: int) -> None:
    seal(spark, table)
    seal(spark, table)
    file = Path(table) / "_pme_snapshots" / f"snapshot-{version:010}.json"
    file.write_bytes(file.read_bytes().replace(b'"rows":20', b'"rows":21'))
    with refused("PME_SNAPSHOT_NOT_AUTHENTIC", file.name, "its HMAC does not match"):
        history(spark, table)


def test_a_history_that_is_older_than_required_is_refused(spark: SparkSession, table: str) -> None:
    with refused("PME_SNAPSHOT_MISMATCH", "the table has no snapshot"):
        history(spark, table, snapshot="require")
    seal(spark, table)
    with refused("PME_SNAPSHOT_NOT_AUTHENTIC", "minSnapshot=2"):
        history(spark, table, minSnapshot="2")
    seal(spark, table)
    assert len(history(spark, table, minSnapshot="2")) == 2
    (Path(table) / "_pme_snapshots" / "snapshot-0000000002.json").unlink()
    with refused("PME_SNAPSHOT_NOT_AUTHENTIC", "this session has read version 2"):
        history(spark, table)
    assert len(history(spark.newSession(), table)) == 1
