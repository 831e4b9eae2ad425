"""Tables of TPC-H and of every type, by three writers: encrypted, they keep their cells and pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.files import thrift
from tests.support.files.anatomy import Anatomy
from tests.support.frames import INTERVALS, SIMPLE
from tests.support.session import SPARK_VERSION, TEST_KMS
from tests.support.source import rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENC = pme.Encryption(kms=TEST_KMS, uniform_key="footer")
# For every table: one page per hundred rows.
SMALL = {"parquet.page.row.count.limit": "100"}
ARROW = {"data_page_size": 1000, "write_page_index": True, "coerce_timestamps": "us"}
COMPRESSED_SIZE = 3
MOST_OF_HEADER = 64 * 1024


@pytest.fixture(scope="module")
def sources(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return tables by the name of their content and their writer."""
    root = tmp_path_factory.mktemp("equal")
    generated = root / "lineitem, arrow-rs"
    generator = Path(sys.executable).with_name("tpchgen-cli")
    size = ["--scale-factor=0.002", "--tables=lineitem", f"--output-dir={generated}"]
    subprocess.run([generator, "parquet", *size], check=True, capture_output=True)
    every = spark.range(0, 1000, 1, 1).selectExpr("id % 9 AS id").selectExpr(*typed())
    frames = {"lineitem": spark.read.parquet(str(generated)), "every type": every}
    found = {generated.name: generated}
    for name, frame in frames.items():
        written = root / f"{name}, Spark"
        frame.coalesce(1).write.options(**SMALL).parquet(str(written))
        again = root / f"{name}, PyArrow"
        again.mkdir()
        [file] = data_files(written)
        pq.write_table(pq.read_table(file), again / "0.parquet", **ARROW)
        found |= {written.name: written, again.name: again}
    return found


@pytest.mark.parametrize("in_place", [False, True], ids=["copy", "in place"])
@pytest.mark.parametrize(
    "name", ["lineitem, arrow-rs", "lineitem, Spark", "lineitem, PyArrow", "every type, Spark", "every type, PyArrow"]
)
def test_cells_and_pages_stay_the_same(
    spark: SparkSession, sources: dict[str, Path], tmp_path: Path, name: str, *, in_place: bool
) -> None:
    source, target = sources[name], tmp_path / "target"
    expected = cells(spark.read.parquet(str(source)))
    pages = sum(plain_pages(file) for file in data_files(source))
    assert pages > len(spark.read.parquet(str(source)).columns)
    if in_place:
        target.mkdir()
        for file in data_files(source):
            (target / file.name).write_bytes(file.read_bytes())
        done = pme.encrypt(spark, str(target), enc=ENC, in_place=True)
    else:
        done = pme.encrypt(spark, str(source), str(target), ENC)
    assert cells(spark.read.format("pme-parquet").options(kms=TEST_KMS).load(str(target))) == expected
    assert done.rows == len(expected)
    assert done.pages == pages
    assert sum(encrypted_pages(file) for file in data_files(target)) == pages


def cells(frame: DataFrame) -> list[str]:
    """Return the rows; intervals as text, because PySpark does not have all of them."""
    told = [f"CAST({one} AS STRING)" if "interval" in kind else one for one, kind in frame.dtypes]
    return rows(frame.selectExpr(*told))


def typed() -> list[str]:
    """Return a column of each type, with nulls. Timestamps are INT96, Spark's default."""
    decimals = {f"decimal_{width}": f"CAST(id / 7 AS DECIMAL({width}, {width // 3}))" for width in (9, 18, 38)}
    fixed = {"char": "CAST('a' AS CHAR(5))", "varchar": "CAST('b' AS VARCHAR(5))"}
    new = {"variant": "parse_json(concat('{\"a\": ', id, '}'))"} if SPARK_VERSION >= (4, 0) else {}
    every = SIMPLE | INTERVALS | decimals | fixed | new
    return [f"IF(id = 4, NULL, {sql}) AS {name}" for name, sql in every.items()]


def plain_pages(file: Path) -> int:
    """Count the pages of a plaintext file by walking over their headers."""
    content, metadata = file.read_bytes(), pq.read_metadata(file)
    count = 0
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(column)
            at = min(chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset)
            end = at + chunk.total_compressed_size
            while at < end:
                reader = thrift.Reader(content[at : at + MOST_OF_HEADER])
                at += thrift.get(reader.struct(), COMPRESSED_SIZE) + reader.at
                count += 1
    return count


def encrypted_pages(file: Path) -> int:
    """Count the pages of an encrypted file, each a module for its header and one for its body."""
    return sum(len(chunk.pages) for chunk in Anatomy(file.read_bytes()).chunks) // 2
