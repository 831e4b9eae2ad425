"""Other readers read a copy as they read its source: PyArrow, and Spark's own ``parquet`` source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

import pme_parquet as pme
from tests.rekey.content import CRC, assert_places_are_true, content, copied
from tests.rekey.copies import copy, encryption
from tests.support.canary import data_files
from tests.support.files import thrift
from tests.support.files.anatomy import COMPRESSED_SIZE, PAGE_HEADERS, PAGES, Anatomy
from tests.support.interop import arrow_files, modes
from tests.support.interop.modes import FACTORY, MODES, Mode
from tests.support.interop.samples import MAPS, Table, arrow_frame, arrow_table, spark_frame, spark_table
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

UNIFORM = pme.Encryption(kms=TEST_KMS, uniform_key="other")
COPIED_CODECS = ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]


@pytest.fixture(scope="module")
def expected() -> Table:
    return arrow_table(arrow_frame())


@pytest.fixture(scope="module")
def source(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a table of every shape that we encrypted in other ways than any copy of it."""
    path = str(tmp_path_factory.mktemp("source") / "table")
    options = {"kms": TEST_KMS, "uniformKey": "other"}
    spark_frame(spark).write.format("pme-parquet").options(**options).save(path)
    return path


def of_arrow(path: Path, **settings: Any) -> Path:
    """Write PyArrow's file of the same table, and return its directory."""
    path.mkdir()
    arrow_files.write_layout(arrow_frame(), path / "a.parquet", row_group_size=25, **settings)
    return path


def single(directory: Path | str) -> Path:
    [file] = data_files(directory)
    return file


def ours(spark: SparkSession, target: str, **options: str) -> Table:
    reader = spark.read.format("pme-parquet").options(kms=TEST_KMS, **options)
    return spark_table(reader.load(target), maps=MAPS)


def theirs(spark: SparkSession, target: str) -> Table:
    properties = FACTORY | modes.java_read_properties(TEST_KMS)
    return spark_table(spark.read.format("parquet").options(**properties).load(target), maps=MAPS)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_copy_in_every_mode_is_read_by_all(
    spark: SparkSession, source: str, target: str, expected: Table, mode: Mode
) -> None:
    copy(spark, source, target, encryption(mode))
    file = single(target)
    assert file.read_bytes()[:4] == (b"PAR1" if mode.plaintext_footer else b"PARE")
    assert arrow_table(arrow_files.read(file, external=mode.external)) == expected
    assert theirs(spark, target) == expected
    assert ours(spark, target, algorithm=mode.algorithm) == expected


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", COPIED_CODECS)
def test_pages_of_every_codec_are_copied(
    spark: SparkSession, tmp_path: Path, target: str, expected: Table, codec: str, version: str
) -> None:
    source = of_arrow(tmp_path / "arrow", compression=codec, data_page_version=version, write_page_index=True)
    copy(spark, source, target, UNIFORM)
    before, after = Anatomy(single(source).read_bytes()), Anatomy(single(target).read_bytes())
    assert content(after) == copied(before)
    assert_places_are_true(after)
    assert arrow_table(arrow_files.read(single(target), external=False)) == expected


def test_a_table_without_rows_is_copied(spark: SparkSession, tmp_path: Path, target: str) -> None:
    source = tmp_path / "empty"
    source.mkdir()
    empty = arrow_frame().slice(0, 0)
    arrow_files.write_layout(empty, source / "a.parquet")
    config = pe.EncryptionConfiguration(footer_key="footer", uniform_encryption=True)
    factory = pe.CryptoFactory(lambda _: arrow_files.LocalKms())
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
    with pq.ParquetWriter(source / "b.parquet", empty.schema, encryption_properties=properties) as writer:
        for rows in (empty, arrow_frame(), empty):
            writer.write_table(rows)
    copy(spark, source, target, UNIFORM)
    assert len(ours(spark, target)) == arrow_frame().num_rows
    for name in ("a.parquet", "b.parquet"):
        read = arrow_files.read(tmp_path / "table" / name, external=False)
        assert read.equals(arrow_files.read(source / name, external=False))


def test_checksums_are_computed_again(spark: SparkSession, tmp_path: Path, target: str) -> None:
    source = of_arrow(tmp_path / "arrow", write_page_checksum=True)
    copy(spark, source, target, UNIFORM)
    file = Anatomy(single(target).read_bytes())
    modules = [module for chunk in file.chunks for module in chunk.pages]
    headers = [file.parsed(module) for module in modules if module.kind in PAGE_HEADERS]
    bodies = [file.bytes_of(module) for module in modules if module.kind in PAGES]
    for header, body in zip(headers, bodies, strict=True):
        assert thrift.get(header, COMPRESSED_SIZE) == len(body)
        assert thrift.get(header, CRC) % 2**32 == crc32(body)
