"""`pme.hudi.check` of tables that are written here: without Spark, Hudi, or a key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.support.canary import kinds
from tests.support.commands import run
from tests.support.expect import refused
from tests.support.interop import arrow_files
from tests.support.interop.modes import GCM, Mode

if TYPE_CHECKING:
    from pathlib import Path

DIRECTORY = "CANARY-0"
DATA = f"{DIRECTORY}/a.parquet"
COMMIT = b'Obj\x01 "schema" {"fields":[{"name":"id"},{"name":"ssn"},{"name":"part"}]}'
PROPERTIES = {
    "hoodie.table.type": "COPY_ON_WRITE",
    "hoodie.table.version": "9",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.partition.fields": "part:SIMPLE",
}


def put(table: Path, file: str, content: bytes) -> None:
    """Write a file of a table."""
    place = table / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


def properties(table: Path, **more: str) -> None:
    """Write the properties of a table; names have underscores for dots."""
    lines = PROPERTIES | {name.replace("_", "."): value for name, value in more.items()}
    put(table, ".hoodie/hoodie.properties", "\n".join(f"{name}={value}" for name, value in lines.items()).encode())


def encrypted(file: Path, *, uniform: bool = False, plaintext_footer: bool = False) -> None:
    """Write a row whose column ``ssn`` has a key of its own, or all of whose columns have one key."""
    mode = Mode(uniform, plaintext_footer, GCM, 128, external=False, double_wrapping=True)
    arrow_files.write(pa.table({"id": ["0"], "ssn": ["CANARY"]}), file, mode, columns={"pii": ["ssn"]})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a table in which only values of partitions are readable."""
    properties(tmp_path)
    put(tmp_path, ".hoodie/timeline/1_2.commit", COMMIT)
    put(tmp_path, ".hoodie/timeline/1.commit.requested", b"")
    put(tmp_path, ".hoodie/.schema/1.schemacommit", b"{}")
    put(tmp_path, ".hoodie/metadata/files/a.hfile", b"DATABLK*")
    put(tmp_path, f"{DIRECTORY}/.hoodie_partition_metadata", b"#partition metadata")
    put(tmp_path, f"{DIRECTORY}/.a.parquet.crc", b"crc\x00" + bytes(4))
    encrypted(tmp_path / DIRECTORY / "a.parquet", uniform=True)
    return tmp_path


def test_a_table_with_protected_columns_that_nothing_shows_is_ok(table: Path) -> None:
    found = pme.hudi.check(table, "ssn")
    assert kinds(found) == []
    assert (found.ok, found.type, found.version, found.columns) == (True, "COPY_ON_WRITE", 9, ("ssn",))
    assert found.looked_at == {"encrypted": 1, "other": 3, "properties": 1, "timeline": 2}
    assert str(found).splitlines()[0].endswith("Hudi table, version 9: no findings")


def test_without_names_all_columns_are_protected(table: Path) -> None:
    found = pme.hudi.check(table)
    assert kinds(found) == [("high", "partition value", "part"), ("note", "record key", "id")]


def test_columns_are_those_that_readable_footers_show(table: Path) -> None:
    (table / DATA).unlink()
    encrypted(table / "b.parquet", plaintext_footer=True)
    found = pme.hudi.check(table)
    assert found.columns == ("ssn",)
    assert kinds(found) == []


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"#HUDI#" + bytes(40), "log file"), (b"ORC" + bytes(40), "plaintext file"), (b"DATABLK*", "plaintext file")],
    ids=["log", "orc", "hfile"],
)
def test_files_that_are_not_parquet_are_readable(table: Path, content: bytes, kind: str) -> None:
    put(table, f"{DIRECTORY}/.b.log.1_0", content)
    assert kinds(pme.hudi.check(table, "ssn")) == [("high", kind, "*")]


def test_plaintext_files_and_record_keys_in_their_footers_are_found(table: Path) -> None:
    rows = pa.table({"ssn": ["CANARY"], "_hoodie_record_key": ["CANARY"]})
    pq.write_table(rows.replace_schema_metadata({"hoodie_min_record_key": "CANARY"}), table / DIRECTORY / "b.parquet")
    assert kinds(pme.hudi.check(table, ["ssn"])) == [("high", "plaintext file", "ssn")]
    assert kinds(pme.hudi.check(table, ["id"])) == [
        ("high", "plaintext file", "id"),
        ("high", "record keys in a footer", "id"),
        ("note", "record key", "id"),
    ]
    assert kinds(pme.hudi.check(table, ["part"])) == [("high", "partition value", "part")]


@pytest.mark.parametrize(
    ("index", "severity", "kind", "column"),
    [
        ("metadata/record_index", "high", "record keys", "id"),
        ("metadata/secondary_index_x", "high", "index", "id"),
        ("metadata/secondary_index_unknown", "high", "index", "*"),
        ("metadata/expr_index_unknown", "high", "index", "*"),
        ("metadata/bloom_filters", "low", "Bloom filters", "id"),
        ("metadata/column_stats", "high", "statistics", "id"),
        ("metadata/partition_stats", "high", "statistics", "id"),
        (".metadata_column_stats_20261125190133981", "high", "statistics", "id"),
        ("metadata/something", "unread", "not looked at", ""),
    ],
)
def test_parts_of_the_metadata_table_are_found(table: Path, index: str, severity: str, kind: str, column: str) -> None:
    fields = {"column_stats": ["_hoodie_record_key", "name"], "secondary_index_x": []}
    defined = {"indexDefinitions": {name: {"sourceFields": some} for name, some in fields.items()}}
    put(table, ".hoodie/.index_defs/index.json", json.dumps(defined).encode())
    put(table, f".hoodie/{index}/a.hfile", b"DATABLK*")
    assert kinds(pme.hudi.check(table, "id")) == [(severity, kind, column), ("note", "record key", "id")]
    # Of other columns these show nothing, but what was in the statistics earlier is not known.
    others = {"statistics": [("unread", "not looked at", "")]} if "unknown" not in index else {}
    expected = others.get(kind, [] if column == "id" else [(severity, kind, column)])
    assert kinds(pme.hudi.check(table, "ssn")) == expected


def test_statistics_without_definitions_count_for_all_columns(table: Path) -> None:
    put(table, ".hoodie/metadata/column_stats/a.hfile", b"DATABLK*")
    assert kinds(pme.hudi.check(table, "ssn")) == [("high", "statistics", "*")]


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("hoodie_table_type", "MERGE_ON_READ", "table type"),
        ("hoodie_table_cdc_enabled", "true", "change data"),
        ("hoodie_table_base_file_format", "ORC", "file format"),
    ],
)
def test_what_the_next_write_will_show_is_found(table: Path, name: str, value: str, kind: str) -> None:
    properties(table, **{name: value})
    assert kinds(pme.hudi.check(table, "ssn")) == [("low", kind, "")]


@pytest.mark.parametrize("content", [b"hoodie.table.type=x", b"a line", b"hoodie.table.type=COPY_ON_WRITE\nx\\=y=z"])
def test_properties_that_are_not_understood_are_not_looked_at(table: Path, content: bytes) -> None:
    put(table, ".hoodie/hoodie.properties", content)
    found = pme.hudi.check(table, "ssn")
    # Then any column may be in names of directories.
    assert kinds(found) == [("high", "partition value", "*"), ("unread", "not looked at", "")]
    assert (found.type, found.version) == (None, None)


TWICE = b'{"indexDefinitions": {}, "indexDefinitions": {"column_stats": {"sourceFields": ["id"]}}}'


@pytest.mark.parametrize("content", [b"[]", b"{", b'{"indexDefinitions": {"x": 1}}', b"[" * 100_000, TWICE])
def test_definitions_that_are_not_understood_are_not_looked_at(table: Path, content: bytes) -> None:
    put(table, ".hoodie/.index_defs/index.json", content)
    assert kinds(pme.hudi.check(table, "ssn")) == [("unread", "not looked at", "")]


def test_strange_files_are_not_looked_at(table: Path) -> None:
    put(table, f"{DIRECTORY}/b.txt", b"CANARY")
    put(table, ".hoodie/strange", b"CANARY")
    put(table, ".hoodie/.temp/1/CANARY-1/MARKERS0", b"CANARY")
    put(table, f"{DIRECTORY}/c.parquet", b"PAR1" + bytes(20))
    (table / "link.parquet").symlink_to(table / DATA)
    found = pme.hudi.check(table, "ssn")
    assert kinds(found) == [("unread", "not looked at", "")] * 5
    assert {one.file for one in found.findings} >= {"…/b.txt", "…/MARKERS0", "link.parquet"}


def test_plaintext_behind_an_encrypted_footer_is_found(table: Path) -> None:
    content = (table / DATA).read_bytes()
    (table / DATA).write_bytes(content[:4] + b"CANARY" * 9 + content[4:])
    assert kinds(pme.hudi.check(table, "ssn")) == [("high", "plaintext file", "*")]


def test_a_name_that_no_commit_has_is_not_looked_at(table: Path) -> None:
    assert kinds(pme.hudi.check(table, ["snn", "ssn"])) == [("unread", "not looked at", "")]
    # As versions before 1.0 write commits.
    put(table, ".hoodie/timeline/2_3.commit", b'{"schema": "{\\"name\\":\\"snn\\"}"}')
    assert kinds(pme.hudi.check(table, ["SNN", "ssn"])) == []


def test_a_path_without_a_table_and_no_columns_are_errors(table: Path) -> None:
    with refused("PME_BAD_OPTION", "not a Hudi table"):
        pme.hudi.check(table / DIRECTORY)
    with refused("PME_BAD_OPTION", "columns is empty"):
        pme.hudi.check(table, [])


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_the_command_exits_with_1_for_a_finding(table: Path, arguments: list[str]) -> None:
    assert run("hudi-check", table, "--column", "ssn", *arguments).code == 0
    put(table, "b.log.1", b"#HUDI#")
    done = run("hudi-check", table, "--column", "ssn", *arguments)
    assert (done.code, done.err) == (1, "")
    assert "log file" in done.out
    assert "CANARY" not in done.out
