"""Interchange with PyArrow's key tools, in every mode PyArrow has, and both directions."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.expect import refused
from tests.support.interop import arrow_files, modes
from tests.support.interop.modes import MODES, Mode
from tests.support.interop.samples import ARROW_SCHEMA, MAPS, Table, arrow_frame, arrow_table, spark_frame, spark_table
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.each_spark

every_mode = pytest.mark.parametrize("mode", MODES, ids=str)

# PyArrow 26's key tools ignore plaintext_footer in uniform mode: the footer is encrypted.
ARROW_MODES = [mode for mode in MODES if not (mode.uniform and mode.plaintext_footer)]


@pytest.fixture(scope="module")
def expected() -> Table:
    return arrow_table(arrow_frame())


def rows(frame: DataFrame) -> Table:
    return spark_table(frame, maps=MAPS)


@pytest.mark.parametrize("mode", ARROW_MODES, ids=str)
def test_pyarrow_writes_and_we_read(spark: SparkSession, tmp_path: Path, expected: Table, mode: Mode) -> None:
    arrow_files.write(arrow_frame(), tmp_path / "a.parquet", mode)
    assert (tmp_path / "a.parquet").read_bytes()[:4] == (b"PAR1" if mode.plaintext_footer else b"PARE")
    options = modes.our_read_options(mode, TEST_KMS)
    assert rows(spark.read.format("pme-parquet").options(**options).load(str(tmp_path))) == expected


@every_mode
def test_we_write_and_pyarrow_reads(spark: SparkSession, target: str, expected: Table, mode: Mode) -> None:
    options = modes.our_options(mode, TEST_KMS)
    spark_frame(spark).write.format("pme-parquet").options(**options).save(target)
    [file] = data_files(target)
    table = arrow_files.read(file, external=mode.external)
    assert table.column_names == ARROW_SCHEMA.names
    assert arrow_table(table) == expected


@pytest.mark.parametrize("mode", [MODES[6], MODES[8]], ids=str)
def test_static_keys_wrap_as_the_key_tools_do(
    spark: SparkSession, tmp_path: Path, target: str, expected: Table, mode: Mode
) -> None:
    lines = [f"{name}={base64.b64encode(arrow_files.master_key(name)).decode()}" for name in ("footer", "pii", "pay")]
    (tmp_path / "keys").write_text("\n".join(lines))
    static = pme.Static(pme.file(tmp_path / "keys")).options()

    spark_frame(spark).write.format("pme-parquet").options(**modes.our_options(mode, "static") | static).save(target)
    [file] = data_files(target)
    assert arrow_table(arrow_files.read(file, external=mode.external)) == expected

    arrow_files.write(arrow_frame(), tmp_path / "a.parquet", mode)
    back = spark.read.format("pme-parquet").options(**static).load(str(tmp_path / "a.parquet"))
    assert rows(back) == expected


def test_plaintext_columns_of_pyarrow_are_read_next_to_encrypted_ones(
    spark: SparkSession, tmp_path: Path, expected: Table
) -> None:
    arrow_files.write(arrow_frame(), tmp_path / "a.parquet", MODES[6], use_dictionary=False, compression="zstd")
    frame = spark.read.format("pme-parquet").option("kms", TEST_KMS).load(str(tmp_path))
    plain = [{"id": row["id"], "note": row["note"]} for row in expected]
    assert spark_table(frame.select("id", "note")) == plain


def test_v2_pages_of_pyarrow_are_read_by_the_page_pipeline(
    spark: SparkSession, tmp_path: Path, expected: Table
) -> None:
    arrow_files.write(arrow_frame(), tmp_path / "a.parquet", MODES[6], data_page_version="2.0")
    reader = spark.read.format("pme-parquet").options(kms=TEST_KMS, reader="pages")
    assert rows(reader.load(str(tmp_path))) == expected


@pytest.mark.parametrize("levels", ["error", "allow"])
def test_spark_s_reader_refuses_v2_pages_of_pyarrow_and_names_the_reader_to_use(
    spark: SparkSession, tmp_path: Path, levels: str
) -> None:
    # parquet-java reads the levels of V2 pages outside the ciphertext, where PyArrow writes none. PyArrow's encoding
    # stats do not say that pages are V2.
    arrow_files.write(arrow_frame(), tmp_path / "a.parquet", MODES[6], data_page_version="2.0")
    reader = spark.read.format("pme-parquet").options(kms=TEST_KMS, reader="spark", clearLevels=levels)
    with refused("PME_UNSUPPORTED", "a.parquet", "PyArrow", "Set reader=pages"):
        reader.load(str(tmp_path)).collect()


@pytest.mark.parametrize("reader", ["pages", "spark"])
def test_an_altered_v2_page_of_pyarrow_does_not_open(spark: SparkSession, tmp_path: Path, reader: str) -> None:
    file = tmp_path / "a.parquet"
    numbers = pa.table({"n": [1, None, 3]})
    arrow_files.write_layout(numbers, file, data_page_version="2.0", use_dictionary=False, compression="none")
    frame = spark.read.format("pme-parquet").options(kms=TEST_KMS, reader=reader).load(str(tmp_path))
    data = bytearray(file.read_bytes())
    header = int.from_bytes(data[4:8], "little")
    data[4 + 4 + header + 20] ^= 1
    file.write_bytes(data)
    with refused("PME_NOT_AUTHENTIC", "a.parquet"):
        frame.collect()
