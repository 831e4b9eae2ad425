"""V2 pages with only nulls: some writers put an empty frame of the codec behind their levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.support.files import anatomy, forge, thrift
from tests.support.files.anatomy import Anatomy
from tests.support.interop import arrow_files
from tests.support.interop.modes import CTR, GCM
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.files.thrift import Struct
    from tests.support.source import Conf

ROWS = 50
V2_HEADER, IS_COMPRESSED = 8, 7
# PyArrow's name for the codec of a file, and the codec of that file's pages.
CODECS = {"snappy": "snappy", "zstd": "zstd", "gzip": "gzip", "lz4": "lz4_raw"}
# Each codec, and each algorithm with each reader.
CASES = [("snappy", GCM, "true"), ("zstd", GCM, "false"), ("gzip", CTR, "true"), ("lz4", CTR, "false")]


def compressed(page: Struct) -> Struct:
    return thrift.put(page, IS_COMPRESSED, thrift.TRUE, value=True)


def with_empty_frame(file: Anatomy, column: str, codec: str) -> bytes:
    """Return the file with its only page of the column followed by the codec's output for zero bytes."""
    chunk = file.named(column)
    header, page = chunk.pages
    frame = pa.compress(b"", codec=codec, asbytes=True)
    sealed = page.seal.seal(page.seal.open(file.bytes_of(page)) + frame)
    fields = forge.put_int(file.parsed(header), anatomy.COMPRESSED_SIZE, len(sealed))
    fields = thrift.put(fields, V2_HEADER, thrift.STRUCT, compressed(thrift.get(fields, V2_HEADER)))
    return forge.with_chunk(file, chunk, header.seal.seal(thrift.write_struct(fields)) + sealed)


@pytest.mark.newest
def test_a_page_of_nulls_with_an_empty_frame_is_read(spark: SparkSession, conf: Conf, tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array(range(ROWS), pa.int64()), "none": pa.array([None] * ROWS, pa.int64())})
    for codec, algorithm, vectorized in CASES:
        path = tmp_path / codec / "a.parquet"
        path.parent.mkdir()
        settings: dict[str, Any] = {"data_page_version": "2.0", "use_dictionary": False, "compression": codec}
        arrow_files.write_layout(rows, path, algorithm=algorithm, **settings)
        path.write_bytes(with_empty_frame(Anatomy(path.read_bytes()), "none", CODECS[codec]))
        options = {"kms": TEST_KMS, "algorithm": CTR, "reader": "pages"}
        with conf({"spark.sql.parquet.enableVectorizedReader": vectorized}):
            read = spark.read.format("pme-parquet").options(**options).load(str(path.parent)).collect()
        assert sorted(map(tuple, read)) == [(number, None) for number in range(ROWS)], codec
