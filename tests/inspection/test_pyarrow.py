"""PyArrow's files, in every mode of its key tools and of its low-level API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

import pme_parquet as pme
from tests.inspection.expect import expect
from tests.support.interop import arrow_files
from tests.support.interop.modes import MODES, Mode
from tests.support.interop.samples import ROWS, arrow_frame

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_key_tools(tmp_path: Path, mode: Mode) -> None:
    arrow_files.write(arrow_frame(), tmp_path / "a.parquet", mode)
    # PyArrow's key tools ignore plaintext_footer in uniform mode, leave other columns readable, and use 128-bit
    # key-encryption keys.
    footer = "signed" if mode.plaintext_footer and not mode.uniform else "encrypted"
    report = pme.inspect(tmp_path)
    expect(report, mode, footer=footer, writer="parquet-cpp-arrow version", kek_bits=128, unlisted=None)


@pytest.mark.parametrize("algorithm", ["AES_GCM_V1", "AES_GCM_CTR_V1"])
@pytest.mark.parametrize(
    ("prefix", "store"), [(None, True), (b"table/part-0", True), (b"\xff\x00", True), (b"t", False)]
)
@pytest.mark.parametrize("plaintext_footer", [True, False])
def test_low_level_api(
    tmp_path: Path,
    algorithm: str,
    prefix: bytes | None,
    store: bool,  # noqa: FBT001 a parameter of the matrix
    plaintext_footer: bool,  # noqa: FBT001 as above
) -> None:
    properties = pe.create_encryption_properties(
        bytes(16),
        aad_prefix=prefix,
        store_aad_prefix=store,
        encryption_algorithm=algorithm,
        plaintext_footer=plaintext_footer,
    )
    pq.write_table(arrow_frame(), tmp_path / "a.parquet", encryption_properties=properties)
    [file] = pme.inspect(tmp_path).files
    assert file.findings == ()
    assert (file.footer, file.algorithm) == ("signed" if plaintext_footer else "encrypted", algorithm)
    assert file.aad_prefix == ("none" if prefix is None else "stored" if store else "required")
    told = {b"table/part-0": "table/part-0", b"\xff\x00": "0xff00"}
    assert file.aad_prefix_value == (told.get(prefix) if prefix and store else None)
    assert file.footer_key
    assert file.footer_key.management == "none"
    if plaintext_footer:
        assert {column.encrypted_with for column in file.columns or ()} == {"footer key"}


def test_a_plaintext_file(tmp_path: Path) -> None:
    pq.write_table(arrow_frame(), tmp_path / "a.parquet", row_group_size=25)
    [file] = pme.inspect(tmp_path / "a.parquet").files
    assert (file.footer, file.rows, file.row_groups, file.keys) == ("plaintext", ROWS, 3, ())
    footer = pq.read_metadata(tmp_path / "a.parquet")
    sizes: dict[str, int] = {}
    for group in map(footer.row_group, range(footer.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            sizes[column.path_in_schema] = sizes.get(column.path_in_schema, 0) + column.total_compressed_size
    assert {column.path: column.compressed_bytes for column in file.columns or ()} == sizes
