"""Levels in the deprecated encoding BIT_PACKED, as writers before 2013 made them: made from a file of PyArrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
ROWS = [*range(32), *[None] * 32]

# Length, and two runs; the same levels packed take as many bytes.
RUNS, PACKED = bytes([4, 0, 0, 0, 64, 1, 64, 0]), b"\xff" * 4 + b"\0" * 4

# In a page header: values in PLAIN, definition levels in RLE or BIT_PACKED, repetition levels in RLE.
IN_RLE, IN_BIT_PACKED = bytes([0x15, 0, 0x15, 6, 0x15, 6]), bytes([0x15, 0, 0x15, 8, 0x15, 6])


def packed(file: Path) -> Path:
    settings = {"use_dictionary": False, "compression": "none", "data_page_version": "1.0", "write_statistics": False}
    pq.write_table(pa.table({"id": pa.array(ROWS, pa.int64())}), file, **settings)
    content = file.read_bytes()
    for old, new in ((RUNS, PACKED), (IN_RLE, IN_BIT_PACKED)):
        assert content.count(old) == 1
        content = content.replace(old, new)
    file.write_bytes(content)
    return file


@pytest.mark.parametrize(
    ("source", "words"), [("pme-parquet", "PME_UNSUPPORTED.* no decoder"), ("parquet", "BIT_PACKED")]
)
def test_packed_levels_are_read_row_by_row_as_by_spark(
    spark: SparkSession, conf: Conf, tmp_path: Path, source: str, words: str
) -> None:
    file = str(packed(tmp_path / "a.parquet"))
    read = spark.read.format(source).options(kms=TEST_KMS, plaintextFiles="allow", reader="pages")
    with conf({VECTORIZED: "false"}):
        assert [row.id for row in read.load(file).collect()] == ROWS
    with conf({VECTORIZED: "true"}), pytest.raises(Exception, match=words):
        read.load(file).collect()
