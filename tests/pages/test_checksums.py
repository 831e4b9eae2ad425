"""Checksums of pages are compared where the read asks for it: only they cover pages of a column without a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.expect import refused
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

VERIFY = {"parquet.page.verify-checksum.enabled": "true"}
VALUE, CHANGED = 0x0102030405060708, 0x0102030405060709


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_page_that_does_not_match_its_checksum_is_refused_if_the_read_verifies(
    spark: SparkSession, tmp_path: Path, version: str
) -> None:
    file = tmp_path / "a.parquet"
    settings = {"use_dictionary": False, "compression": "none", "write_statistics": False}
    pq.write_table(
        pa.table({"id": [1, VALUE, 3]}), file, write_page_checksum=True, data_page_version=version, **settings
    )
    read = spark.read.format("pme-parquet").options(kms=TEST_KMS, plaintextFiles="allow", reader="pages")
    assert [row.id for row in read.options(**VERIFY).load(str(file)).collect()] == [1, VALUE, 3]
    content = file.read_bytes()
    assert content.count(VALUE.to_bytes(8, "little")) == 1
    file.write_bytes(content.replace(VALUE.to_bytes(8, "little"), CHANGED.to_bytes(8, "little")))
    with refused("PME_DAMAGED_FILE", "checksum"):
        read.options(**VERIFY).load(str(file)).collect()
    read = spark.read.format("pme-parquet").options(kms=TEST_KMS, plaintextFiles="allow", reader="pages")
    assert [row.id for row in read.load(str(file)).collect()] == [1, CHANGED, 3]
