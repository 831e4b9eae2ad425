"""The expected inspection of files in one mode of the key tools, for any writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.interop.modes import COLUMNS
from tests.support.interop.samples import ROWS

if TYPE_CHECKING:
    import pme_parquet as pme
    from pme_parquet._inspect.inspected import InspectedFile, Key
    from tests.support.interop.modes import Mode

OWN_KEY = {column: key for key, columns in COLUMNS.items() for column in columns}
LEAVES = 16


def expect(
    report: pme.Inspection, mode: Mode, *, footer: str, writer: str, kek_bits: int, unlisted: str | None
) -> None:
    """Check every field except ids and sizes; `unlisted` is the key of columns without a key of their own."""
    [file] = report.files
    assert (report.findings, report.drift) == ((), ())
    assert (file.footer, file.algorithm) == (footer, mode.algorithm)
    assert (file.aad_prefix, file.aad_prefix_value) == ("none", None)
    expect_key(file.footer_key, "footer", mode, kek_bits)
    columns = set() if mode.uniform else {*COLUMNS}
    if footer == "encrypted":
        assert (file.columns, file.rows, file.row_groups, file.created_by) == (None, None, None, None)
        assert {key.master_key for key in file.column_keys} == (columns if mode.external else set())
        for key in file.column_keys:
            expect_key(key, str(key.master_key), mode, kek_bits)
        return
    assert {key.master_key for key in file.column_keys} == columns
    assert (file.rows, bool(file.row_groups)) == (ROWS, True)
    assert file.created_by
    assert file.created_by.startswith(writer)
    expect_columns(file, mode, kek_bits, unlisted)


def expect_columns(file: InspectedFile, mode: Mode, kek_bits: int, unlisted: str | None) -> None:
    """Check the columns of a readable footer."""
    assert file.columns
    assert len(file.columns) == LEAVES
    for column in file.columns:
        assert column.compressed_bytes > 0
        if not mode.uniform and column.path in OWN_KEY:
            assert column.encrypted_with == "column key"
            expect_key(column.key, OWN_KEY[column.path], mode, kek_bits)
        else:
            assert column.encrypted_with == unlisted
            assert column.key == (file.footer_key if unlisted else None)


def expect_key(key: Key | None, master_key: str, mode: Mode, kek_bits: int) -> None:
    """Check every field of a wrapped key."""
    assert key
    assert (key.management, key.master_key, key.master_key_version) == ("envelope", master_key, None)
    assert key.material == ("external" if mode.external else "internal")
    assert bool(key.reference) is mode.external
    assert (key.double_wrapping, key.data_key_bits) == (mode.double_wrapping, mode.bits)
    assert (bool(key.kek_id), key.kek_bits) == ((True, kek_bits) if mode.double_wrapping else (False, None))
