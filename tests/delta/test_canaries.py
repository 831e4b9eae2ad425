"""Whatever is readable below a table in plaintext is reported: canaries in tables of three writers."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable, write_deltalake

import pme_parquet as pme
from tests.delta import written
from tests.delta.canaries import assert_told, readable
from tests.support.markdown import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SPARK_TABLES = ROOT / "tests" / "data" / "delta" / "spark.zip"
CANARIES = [*(f"CANARY-SSN-{number}" for number in range(8)), "CANARY-MERGED", "CANARY-MATCHED"]
OF_SCHEMA = ["CANARY-DEFAULT", "CANARY-CHECKED"]


@pytest.mark.parametrize("partitioned", [False, True])
def test_a_plaintext_table_by_deltalake(tmp_path: Path, partitioned: bool) -> None:  # noqa: FBT001 a parameter
    table = tmp_path / "table"
    by = ["ssn"] if partitioned else None
    write_deltalake(table, written.rows(*CANARIES[:3]), partition_by=by)
    write_deltalake(table, written.rows(CANARIES[3]), mode="append", partition_by=by)
    of = DeltaTable(table)
    of.delete(f"ssn = '{CANARIES[0]}'")
    of.update({"note": "'new'"}, predicate=f"ssn = '{CANARIES[1]}'")
    of.create_checkpoint()
    found = pme.delta.check(table, columns=["ssn"])
    files = assert_told(table, found, CANARIES)
    assert not found.ok
    assert found.looked_at["files live"] == (3 if partitioned else 2)
    assert "_delta_log/00000000000000000003.checkpoint.parquet" in files
    assert sum(file.endswith(".json") for file in files) == 4


def test_names_of_directories_are_decoded(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "table", written.rows("a b", "c%d", "e/ü"), partition_by=["ssn"])
    found = pme.delta.check(tmp_path / "table", columns=["ssn"])
    assert found.looked_at["files live"] == 3
    assert not [one for one in found.findings if one.severity == "unread"]


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_encrypted_files_among_others(tmp_path: Path, plaintext_footer: bool) -> None:  # noqa: FBT001 as above
    written.encrypted(tmp_path, "a.parquet", CANARIES[0], plaintext_footer=plaintext_footer)
    written.plaintext(tmp_path, "b.parquet", CANARIES[1])
    written.plaintext(tmp_path, "c.parquet", CANARIES[2])
    written.plaintext(tmp_path, "d.parquet", CANARIES[3])
    (tmp_path / "_change_data").mkdir()
    written.plaintext(tmp_path / "_change_data", "e.parquet", CANARIES[4])
    (tmp_path / "f1").mkdir()
    written.plaintext(tmp_path / "f1", "cdc-f.parquet", CANARIES[4])
    stats = {"numRecords": 1, "minValues": {"ssn": CANARIES[0], "id": "0"}, "maxValues": {"ssn": CANARIES[0]}}
    written.commit(tmp_path, 0, written.metadata(), written.add("a.parquet", stats), written.add("b.parquet"))
    written.commit(tmp_path, 1, written.add("c.parquet"), {"cdc": {"path": "_change_data/e.parquet"}})
    # Where Delta 4 has change data of a table with column mapping.
    written.commit(tmp_path, 2, {"cdc": {"path": "f1/cdc-f.parquet"}})
    written.commit(tmp_path, 3, written.remove("c.parquet"))
    found = pme.delta.check(tmp_path, columns=None if plaintext_footer else ["ssn"])
    files = assert_told(tmp_path, found, CANARIES)
    assert files == {"_delta_log/00000000000000000000.json", "b.parquet", "c.parquet", "d.parquet"} | {
        "_change_data/e.parquet",
        "f1/cdc-f.parquet",
    }
    assert found.columns == ("ssn",)
    states = {one.file: one.what.split(":")[0] for one in found.findings if one.kind == "plaintext file"}
    assert states == {
        "b.parquet": "live",
        "c.parquet": "no longer live",
        "d.parquet": "not named by the log",
        "_change_data/e.parquet": "change data",
        "f1/cdc-f.parquet": "change data",
    }


def test_an_encrypted_footer_over_plaintext_columns(tmp_path: Path) -> None:
    # PyArrow's key tools leave columns without a key readable, and hide in the footer which.
    written.encrypted(tmp_path, "a.parquet", "no canary")
    written.commit(tmp_path, 0, written.metadata(), written.add("a.parquet"))
    found = pme.delta.check(tmp_path)
    assert found.columns == ("id", "note", "ssn")
    assert [(one.kind, one.column) for one in found.findings] == [("plaintext in a file", "*")]


def test_nothing_is_found_where_nothing_is_readable(tmp_path: Path) -> None:
    written.encrypted(tmp_path, "a.parquet", *CANARIES, uniform=True)
    written.commit(tmp_path, 0, written.metadata(), written.add("a.parquet", {"numRecords": len(CANARIES)}))
    found = pme.delta.check(tmp_path)
    assert readable(tmp_path, CANARIES) == set()
    assert (found.ok, found.findings, found.columns) == (True, (), ("id", "note", "ssn"))


@pytest.fixture(scope="module")
def spark_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("delta")
    with zipfile.ZipFile(SPARK_TABLES) as tables:
        tables.extractall(directory)
    return directory


@pytest.mark.parametrize("name", ["columns", "mapped", "partitioned", "properties", "uniform"])
def test_tables_by_delta_for_spark(spark_tables: Path, name: str) -> None:
    table = spark_tables / name
    columns = {"mapped": ["tax_id"], "partitioned": ["ssn"]}.get(name)
    found = pme.delta.check(table, columns=columns)
    canaries = CANARIES + (OF_SCHEMA if name == "mapped" else [])
    assert assert_told(table, found, canaries)
    assert not found.ok
    assert (found.version, found.looked_at["commits"]) == {"mapped": (9, 10)}.get(name, (5, 6))
    assert {one.kind for one in found.findings if one.severity != "high"} == {
        "columns": {"missing checkpoint", "null count"},
        "mapped": {"deletion vectors", "null count"},
        "partitioned": {"partition column"},
        "properties": {"hidden columns", "null count"},
        "uniform": {"encrypted checkpoint", "null count"},
    }[name]
