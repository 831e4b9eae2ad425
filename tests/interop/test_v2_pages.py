"""Who reads V2 pages whose levels are inside the ciphertext: why our writes have none (decision 0074)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

if TYPE_CHECKING:
    from pathlib import Path

KEY = b"0123456789012345"

# Levels say which values are null.
TABLE = pa.table({"a": pa.array([None if i % 3 == 0 else i for i in range(1000)], pa.int64())})


def written(path: Path, version: str, codec: str) -> Path:
    properties = pe.create_encryption_properties(KEY)
    settings = {"data_page_version": version, "compression": codec, "use_dictionary": False}
    pq.write_table(TABLE, path, encryption_properties=properties, **settings)
    return path


def by_duckdb(file: Path) -> list[int | None]:
    with duckdb.connect() as connection:
        connection.execute(f"PRAGMA add_parquet_key('k', '{KEY.decode()}')")
        found = connection.execute(f"select a from read_parquet('{file}', encryption_config = {{footer_key: 'k'}})")
        return [a for (a,) in found.fetchall()]


@pytest.mark.parametrize("codec", ["none", "snappy"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pyarrow_and_polars_read_levels_inside_of_v2_pages_and_duckdb_does_not(
    tmp_path: Path, version: str, codec: str
) -> None:
    file = written(tmp_path / "a.parquet", version, codec)
    expected = TABLE["a"].to_pylist()
    arrow = pq.read_table(file, decryption_properties=pe.create_decryption_properties(KEY))
    assert arrow["a"].to_pylist() == expected
    polars = pl.read_parquet(file, decryption=pl.ParquetDecryptionProperties(footer_key=KEY))
    assert polars["a"].to_list() == expected
    if version == "1.0":
        assert by_duckdb(file) == expected
    else:
        with pytest.raises(duckdb.Error):
            by_duckdb(file)
