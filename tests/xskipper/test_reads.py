"""Reads skip files by a store of Xskipper: exactly those that it proves to hold no row, and rows are never lost."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import pme_parquet as pme
from tests.support.expect import refused
from tests.support.source import FORMAT
from tests.xskipper import stores
from tests.xskipper.cases import BETWEEN, CASES, DATA, FIRST, SAMPLE, SAMPLE1, SECOND, THIRD, Case
from tests.xskipper.stores import Index, Labels
from tests.xskipper.tables import KMS, files_read, id_of, indexes_of, load, make, said

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

pytestmark = pytest.mark.all_rows

STATIC = {"spark.sql.adaptive.enabled": "false"}


def fill(spark: SparkSession, table: Path, store: Path, data: str, indexes: str) -> None:
    """Write a table and its store."""
    schema, files = DATA[data]
    make(table, schema, files)
    found = indexes_of(schema, indexes)
    rows = {
        id_of(table / f"{name}.parquet"): [said(spark, schema, of, one) for one in found] for name, of in files.items()
    }
    stores.write(store, found, rows)


def views(spark: SparkSession, root: Path, case: Case, **options: str) -> DataFrame:
    """Return the query of a case over its tables."""
    for view in case.tables:
        store = {"xskipperStore": str(root / f"store-{view}")} if options.get("with_store") else {}
        load(spark, root / view, **store, scan=options["scan"]).createOrReplaceTempView(view)
    return spark.sql(case.query)


def lines(frame: DataFrame) -> list[str]:
    """Return the rows, sorted."""
    return sorted(str(row) for row in frame.collect())


@pytest.mark.parametrize("case", CASES, ids=[f"case {at + 1}" for at in range(len(CASES))])
def test_a_case_of_xskipper_skips_what_its_store_proves(
    spark: SparkSession, tmp_path: Path, conf: Conf, case: Case
) -> None:
    for view, (data, indexes, _) in case.tables.items():
        fill(spark, tmp_path / view, tmp_path / f"store-{view}", data, indexes)
    with conf(STATIC):
        for scan in ["v1", "v2"] if case is CASES[0] or case is CASES[34] else ["v1"]:
            judge(spark, tmp_path, case, scan, [skipped for _, _, skipped in case.tables.values()])
        if case.updated is not None:
            data, skipped = case.updated
            make(tmp_path / "data", *DATA[data])
            for name in DATA[data][1]:
                os.utime(tmp_path / "data" / f"{name}.parquet", (2_000_000_000, 2_000_000_000))
            # The store states other times now.
            judge(spark, tmp_path, case, "v1", [set()])
            schema, files = DATA[data]
            found = indexes_of(schema, case.tables["data"][1])
            rows = {
                id_of(tmp_path / "data" / f"{name}.parquet"): [said(spark, schema, of, index) for index in found]
                for name, of in files.items()
            }
            stores.write(tmp_path / "store-data", found, rows)
            judge(spark, tmp_path, case, "v1", [skipped])


def judge(spark: SparkSession, root: Path, case: Case, scan: str, skipped: list[set[str]]) -> None:
    """Compare the query with and without its stores."""
    without = views(spark, root, case, scan=scan)
    expected, everything = lines(without), files_read(without)
    read = views(spark, root, case, scan=scan, with_store="yes")
    assert lines(read) == expected
    assert files_read(read) == [all_files - left for all_files, left in zip(everything, skipped, strict=True)]


def sample(spark: SparkSession, tmp_path: Path, **given: Any) -> Path:
    """Write the table of samples and a store of its column temp, and return the store."""
    make(tmp_path / "t", SAMPLE, SAMPLE1)
    store = tmp_path / "store"
    index = Index("minmax", "temp", "double", given.pop("key", None))
    rows = {id_of(tmp_path / "t" / f"{name}.parquet"): [said(spark, SAMPLE, of, index)] for name, of in SAMPLE1.items()}
    stores.write(store, [index], given.pop("rows", rows), **given)
    return store


def small(spark: SparkSession, tmp_path: Path, **options: str) -> set[str]:
    """Return the files that a query for small temperatures reads."""
    frame = load(spark, tmp_path / "t", xskipperStore=str(tmp_path / "store"), **options).where("temp < 10")
    assert sorted(row.temp for row in frame.collect()) == [0.1, 1.1, 2.2]
    (read,) = files_read(frame)
    return read


@pytest.mark.parametrize("version", [None, 0, 1, 2, 3, 4])
def test_stores_of_all_versions_are_used_plaintext_and_encrypted(
    spark: SparkSession, tmp_path: Path, conf: Conf, version: int | None
) -> None:
    with conf(STATIC):
        sample(spark, tmp_path, version=version)
        assert small(spark, tmp_path) == {FIRST}
        for plaintext in (False, True):
            labels = Labels("footer", plaintext_footer=plaintext)
            sample(spark, tmp_path, version=version, key="pii", labels=labels)
            assert small(spark, tmp_path) == {FIRST}


def test_old_bloom_filters_are_used(spark: SparkSession, tmp_path: Path, conf: Conf) -> None:
    make(tmp_path / "t", SAMPLE, SAMPLE1)
    index = Index("bloomfilter", "address", "string")
    rows = {
        id_of(tmp_path / "t" / f"{name}.parquet"): [
            stores.bloom(spark, [str(row[2]) for row in of], stores.OLD_BLOOM_CLASS)
        ]
        for name, of in SAMPLE1.items()
    }
    stores.write(tmp_path / "store", [index], rows, version=0)
    frame = load(spark, tmp_path / "t", xskipperStore=str(tmp_path / "store")).where("address = 'H'")
    with conf(STATIC):
        assert frame.count() == 1
        assert files_read(frame) == [{FIRST}]


def test_only_files_that_are_as_the_store_states_are_evaluated(spark: SparkSession, tmp_path: Path, conf: Conf) -> None:
    sample(spark, tmp_path)
    with conf(STATIC):
        assert small(spark, tmp_path) == {FIRST}
        os.utime(tmp_path / "t" / f"{SECOND}.parquet", (1_900_000_000, 1_900_000_000))
        assert small(spark, tmp_path) == {FIRST, SECOND}
        (tmp_path / "t" / f"{THIRD}.parquet").rename(tmp_path / "t" / "renamed.parquet")
        assert small(spark, tmp_path) == {FIRST, SECOND, "renamed"}


def test_two_rows_of_one_file_must_both_prove_it(spark: SparkSession, tmp_path: Path, conf: Conf) -> None:
    store = sample(spark, tmp_path)
    other = tmp_path / "other"
    rows = {id_of(tmp_path / "t" / f"{THIRD}.parquet"): [{"min": 1.0, "max": 2.0}]}
    stores.write(other, [Index("minmax", "temp", "double")], rows)
    (other / "part-0.parquet").rename(store / "part-1.parquet")
    with conf(STATIC):
        assert small(spark, tmp_path) == {FIRST, THIRD}


def test_a_missing_key_or_a_missing_store_costs_skipping_and_no_row(
    spark: SparkSession, tmp_path: Path, conf: Conf
) -> None:
    with conf(STATIC):
        for key in ("denied", "missing"):
            sample(spark, tmp_path, key=key, labels=Labels("footer"))
            assert small(spark, tmp_path) == {FIRST, SECOND, THIRD}
        (tmp_path / "store" / "part-0.parquet").write_bytes(b"PAR1 and no more")
        assert small(spark, tmp_path) == {FIRST, SECOND, THIRD}
        (tmp_path / "store" / "part-0.parquet").unlink()
        (tmp_path / "store").rmdir()
        assert small(spark, tmp_path) == {FIRST, SECOND, THIRD}


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_a_sealed_table_is_skipped_by_its_own_indexes_and_by_a_store(
    spark: SparkSession, tmp_path: Path, conf: Conf, scan: str
) -> None:
    sample(spark, tmp_path)
    pme.seal(spark, tmp_path / "t", options=KMS, index=[pme.MinMax("lat")], expect="unsealed")
    frame = load(spark, tmp_path / "t", xskipperStore=str(tmp_path / "store"), scan=scan).where("temp < 10")
    with conf(STATIC):
        assert frame.count() == 3
        assert files_read(frame) == [{FIRST}]
        (scanned,) = pme.query_stats(frame).scans
    assert (scanned.version, scanned.files, scanned.files_read) == (1, 3, 1)
    assert [(one.kind, one.column, one.files) for one in scanned.skipped_by] == [("minMax", ("temp",), 2)]


def test_a_read_that_accepts_only_what_is_signed_uses_no_store(spark: SparkSession, tmp_path: Path, conf: Conf) -> None:
    sample(spark, tmp_path)
    options = KMS | {"xskipperStore": str(tmp_path / "store"), "verifyKey": "file:/keys/signer.pem"}
    for scan in ("v1", "v2"):
        with refused("PME_BAD_OPTION", "xskipperStore and verifyKey", "not signed", "snapshot=off"):
            # With a schema, no file is opened before.
            reader = spark.read.format(FORMAT).schema("temp double").options(**options, scan=scan)
            reader.load(str(tmp_path / "t")).where("temp < 10").collect()
        with conf(STATIC | {"spark.datasource.pme-parquet.verifyKey": options["verifyKey"]}):
            assert small(spark, tmp_path, scan=scan, snapshot="off") == {FIRST}


def test_a_type_that_has_changed_proves_nothing(spark: SparkSession, tmp_path: Path, conf: Conf) -> None:
    make(tmp_path / "t", pa.schema([("temp", pa.string())]), {"one": [("9",)], "two": [("10",)]})
    index = Index("minmax", "temp", "integer")
    rows = {id_of(tmp_path / "t" / f"{name}.parquet"): [{"min": 1, "max": 2}] for name in ("one", "two")}
    stores.write(tmp_path / "store", [index], rows)
    frame = load(spark, tmp_path / "t", xskipperStore=str(tmp_path / "store")).where("temp = '9'")
    with conf(STATIC):
        assert frame.count() == 1
        assert files_read(frame) == [{"one", "two"}]


def test_a_table_cannot_name_a_store_and_a_session_can(spark: SparkSession, tmp_path: Path, conf: Conf) -> None:
    store = sample(spark, tmp_path)
    with conf(STATIC | {"spark.datasource.pme-parquet.kms": KMS["kms"]}):
        spark.sql(f"CREATE TABLE stored USING `{FORMAT}` OPTIONS (xskipperStore '{store}') LOCATION '{tmp_path}/t'")
        try:
            with refused("PME_BAD_OPTION", "xskipperStore"):
                spark.table("stored").collect()
        finally:
            spark.sql("DROP TABLE stored")
        with conf({"spark.datasource.pme-parquet.xskipperStore": str(store)}):
            frame = load(spark, tmp_path / "t").where("temp < 10")
            assert frame.count() == 3
            assert files_read(frame) == [{FIRST}]


def test_the_cases_are_those_of_xskipper() -> None:
    assert len(CASES) == 40
    assert [at + 1 for at, case in enumerate(CASES) if case.why] == [6, 10, 11, 38, 40]
    assert all(BETWEEN in case.query for case in CASES if case.updated)
