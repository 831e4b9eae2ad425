"""Apache's encrypted files: every field of the inspection agrees with their manifest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.support.session import ROOT

if TYPE_CHECKING:
    from pme_parquet._inspect.inspected import InspectedFile

FILES = ROOT / "tests" / "data" / "parquet-testing"
MANIFEST: list[dict[str, Any]] = json.loads((FILES / "MANIFEST.json").read_text())["files"]
every_file = pytest.mark.parametrize("entry", MANIFEST, ids=lambda entry: entry["file"])


def inspected(name: str) -> InspectedFile:
    report = pme.inspect(FILES / name)
    [file] = report.files
    assert (report.findings, report.drift, file.findings) == ((), (), ())
    assert (file.file, file.bytes) == (name.rsplit("/", 1)[-1], (FILES / name).stat().st_size)
    return file


@every_file
def test_footer_algorithm_and_prefix(entry: dict[str, Any]) -> None:
    file = inspected(entry["file"])
    assert file.footer == {"encrypted": "encrypted", "plaintext+signed": "signed"}[entry["footer"]]
    assert file.encrypted
    assert file.algorithm == entry["algorithm"]
    stored, needed = entry["stored_aad_prefix"], entry["aad_prefix_needed"]
    assert file.aad_prefix == ("stored" if stored else "required" if needed else "none")
    assert file.aad_prefix_value == stored


@every_file
def test_the_footer_key(entry: dict[str, Any]) -> None:
    key = inspected(entry["file"]).footer_key
    assert key
    assert key.master_key == "kf"
    external = entry["file"].startswith("external")
    assert (key.management, key.material) == (("envelope", "external") if external else ("direct", None))


@every_file
def test_columns_and_their_keys_where_the_footer_is_readable(entry: dict[str, Any]) -> None:
    file = inspected(entry["file"])
    if entry["footer"] == "encrypted":
        assert (file.columns, file.rows, file.row_groups, file.created_by) == (None, None, None, None)
        return
    assert (file.rows, file.created_by) == (entry["num_rows"], entry["created_by"])
    assert file.columns
    assert {column.path: column.key and column.key.master_key for column in file.columns} == entry["columns"]
    for column in file.columns:
        assert column.encrypted_with == ("column key" if entry["columns"][column.path] else None)
    assert {key.master_key for key in file.column_keys} == {key for key in entry["columns"].values() if key}


def test_external_key_material_of_parquet_java() -> None:
    file = inspected("external_key_material_java.parquet.encrypted")
    assert file.footer_key
    assert file.footer_key.kek_id == "NFkiTmDXYzZMTb+O3b9nSA=="
    assert (file.footer_key.kms_instance_id, file.footer_key.kms_instance_url) == ("DEFAULT", "DEFAULT")
    assert [(key.reference, key.master_key) for key in file.column_keys] == [
        ("columnKey1", "kc2"),
        ("columnKey0", "kc1"),
    ]
    for key in file.keys:
        assert (key.double_wrapping, key.data_key_bits, key.kek_bits) == (True, 128, 128)


@every_file
def test_the_plaintext_twin(entry: dict[str, Any]) -> None:
    file = inspected(entry["plaintext_twin"])
    assert (file.footer, file.encrypted, file.keys, file.algorithm) == ("plaintext", False, (), None)
    footer = pq.read_metadata(FILES / entry["plaintext_twin"])
    assert (file.rows, file.row_groups) == (footer.num_rows, footer.num_row_groups)
    group = footer.row_group(0)
    sizes = {group.column(n).path_in_schema: group.column(n).total_compressed_size for n in range(group.num_columns)}
    assert footer.num_row_groups == 1
    assert {column.path: column.compressed_bytes for column in file.columns or ()} == sizes
