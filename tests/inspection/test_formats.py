"""`inspect` says of which format a table is, and what it did not look at."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

import pme_parquet as pme
from tests.support.commands import run

if TYPE_CHECKING:
    from pathlib import Path

ROWS = pa.table({"id": [1, 2], "ssn": ["078-05-1120", "219-09-9999"]})
METADATA = ("v1.metadata.json", "snap-1.avro", "1-stats.puffin", "version-hint.text")


def delta(path: Path) -> Path:
    write_deltalake(str(path), ROWS)
    write_deltalake(str(path), ROWS, mode="overwrite")
    return path


def iceberg(path: Path) -> Path:
    (path / "data" / "day=1").mkdir(parents=True)
    (path / "metadata").mkdir()
    pq.write_table(ROWS, path / "data" / "day=1" / "a.parquet")
    for name in METADATA:
        (path / "metadata" / name).write_text("{}")
    return path


def hudi(path: Path) -> Path:
    (path / ".hoodie").mkdir(parents=True)
    (path / ".hoodie" / "hoodie.properties").write_text("hoodie.table.name=t")
    pq.write_table(ROWS, path / "a.parquet")
    return path


def formats(path: Path | str) -> list[tuple[str, str, int]]:
    return [(table.table, table.format, table.metadata_files) for table in pme.inspect(path).tables]


def test_a_delta_table_is_called_one_and_its_check_is_named(tmp_path: Path) -> None:
    found = pme.inspect(delta(tmp_path / "t"))
    assert len(found.files) == 2
    assert "Delta table. pme.delta.check says what its log shows." in str(found)
    assert "version 1: 1 of these files live, 1 not (by deltalake)" in str(found)
    shown = run("inspect", tmp_path / "t")
    assert "pme-parquet delta-check says what its log shows" in shown.out


def test_files_of_a_delta_table_below_random_prefixes_belong_to_it(tmp_path: Path) -> None:
    (delta(tmp_path / "t") / "xY").mkdir()
    pq.write_table(ROWS, tmp_path / "t" / "xY" / "a.parquet")
    assert formats(tmp_path / "t") == [("", "Delta", 0)]


def test_a_partition_belongs_to_the_delta_table_above_it(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), ROWS, partition_by=["id"])
    assert formats(tmp_path / "t" / "id=1") == [(str(tmp_path / "t"), "Delta", 0)]


def test_metadata_of_iceberg_is_counted_and_not_inspected(tmp_path: Path) -> None:
    found = pme.inspect(iceberg(tmp_path / "t"))
    assert [file.file for file in found.files] == ["data/day=1/a.parquet"]
    assert found.findings == ()
    assert formats(tmp_path / "t") == [("", "Iceberg", len(METADATA))]
    assert "Iceberg table, and 4 files of metadata." in str(found)
    assert "no column has a key of its own" in str(found)
    assert "metadata.json stays readable, and was not read: pme.iceberg.check says what it shows." in str(found)


@pytest.mark.parametrize("name", ["hidden.parquet", "snap-2.avro", "v2.metadata.json"])
def test_parquet_among_the_metadata_of_iceberg_is_inspected_whatever_its_name(tmp_path: Path, name: str) -> None:
    pq.write_table(ROWS, iceberg(tmp_path / "t") / "metadata" / name)
    found = pme.inspect(tmp_path / "t")
    assert [file.footer for file in found.files] == ["plaintext", "plaintext"]
    assert f"metadata/{name}" in {file.file for file in found.files}


def test_a_link_among_the_metadata_of_iceberg_is_a_finding(tmp_path: Path) -> None:
    (iceberg(tmp_path / "t") / "metadata" / "snap-2.avro").symlink_to("nowhere")
    assert [finding.file for finding in pme.inspect(tmp_path / "t").findings] == ["metadata/snap-2.avro"]


@pytest.mark.parametrize("name", ["a.avro", "metadata.json", "metadata/a.json"])
def test_without_metadata_of_a_table_such_files_are_inspected(tmp_path: Path, name: str) -> None:
    (tmp_path / "metadata").mkdir()
    (tmp_path / name).write_text("{}")
    assert [file.file for file in pme.inspect(tmp_path).files] == [name]
    assert formats(tmp_path)[0][1] == ""


def test_each_table_below_a_path_has_its_format(tmp_path: Path) -> None:
    delta(tmp_path / "d")
    iceberg(tmp_path / "i")
    hudi(tmp_path / "h")
    (tmp_path / "bare").mkdir()
    pq.write_table(ROWS, tmp_path / "bare" / "a.parquet")
    assert formats(tmp_path) == [("bare", "", 0), ("d", "Delta", 0), ("h", "Hudi", 0), ("i", "Iceberg", len(METADATA))]
    shown = str(pme.inspect(tmp_path))
    for words in ("Delta tables (d).", "Hudi tables (h).", "Iceberg tables (i), and 4 files of metadata."):
        assert words in shown
    tables = json.loads(json.dumps(pme.inspect(tmp_path).to_dict()))["tables"]
    assert [table["format"] for table in tables] == ["", "Delta", "Hudi", "Iceberg"]


def test_a_directory_with_two_logs_is_a_finding(tmp_path: Path) -> None:
    hudi(delta(tmp_path / "d"))
    found = pme.inspect(tmp_path / "d")
    assert [table.format for table in found.tables] == [""]
    [finding] = [one for one in found.findings if one.condition == "PME_UNSUPPORTED"]
    assert "the logs of several tables (_delta_log, .hoodie)" in finding.message


def test_a_format_is_found_in_other_storage(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    try:
        memory.put(str(delta(tmp_path / "d")), "/lake/d", recursive=True)
        memory.put(str(iceberg(tmp_path / "i")), "/lake/i", recursive=True)
        assert formats("memory://lake/d") == [("", "Delta", 0)]
        assert formats("memory://lake/i") == [("", "Iceberg", len(METADATA))]
    finally:
        memory.rm("/lake", recursive=True)


def test_the_report_says_what_is_next_to_the_files(tmp_path: Path) -> None:
    pme.report(delta(tmp_path / "t"), out=tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "What Delta keeps beside the files" in page
    assert "pme.delta.check looks at it" in page
