"""Files of other writers, newer and older than the cluster's parquet-java, keep their cells and footers in copies."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.support.files import thrift
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WRITERS = Path(__file__).parents[1] / "data" / "writers"
FILES = sorted(path.name for path in WRITERS.glob("*.parquet"))
IEEE_754 = "parquet-java-1.18.1-floats.parquet"
EARLY_CPP = "converted-type-24.parquet"
ENC = pme.Encryption(kms=TEST_KMS, footer_key="footer")
READABLE = pme.Encryption(kms=TEST_KMS, footer_key="footer", plaintext_footer=True)
SCHEMA, COLUMN_ORDERS = 2, 7
TAIL = 8


def test_files_of_other_writers_keep_cells_and_footers(spark: SparkSession, tmp_path: Path) -> None:
    # The schema and the column orders byte for byte.
    for name in FILES:
        for enc in (ENC, READABLE) if name in (IEEE_754, EARLY_CPP) else (ENC,):
            at = tmp_path / f"{name}-{enc.plaintext_footer}"
            source, encrypted, again, target, back = (at / one for one in ("s", "e", "r", "t", "b"))
            source.mkdir(parents=True)
            shutil.copy(WRITERS / name, source)
            pme.encrypt(spark, str(source), str(encrypted), enc)
            pme.rekey(spark, str(encrypted), str(again), enc)
            pme.decrypt(spark, str(again), str(target), kms=TEST_KMS, write_plaintext=True)
            assert_kept(WRITERS / name, target / name)
            if name == IEEE_754:
                pme.encrypt(spark, str(source), enc=enc, in_place=True)
                pme.decrypt(spark, str(source), str(back), kms=TEST_KMS, write_plaintext=True)
                assert_kept(WRITERS / name, back / name)


@pytest.mark.parametrize("reader", ["pages", "spark"])
def test_no_reader_expects_a_dictionary_that_is_listed_and_missing(
    spark: SparkSession, tmp_path: Path, reader: str
) -> None:
    source, target = tmp_path / "s", tmp_path / "t"
    source.mkdir()
    shutil.copy(WRITERS / "impala-1.3.parquet", source)
    pme.encrypt(spark, str(source), str(target), ENC)
    frame = spark.read.format("pme-parquet").options(kms=TEST_KMS, reader=reader).load(str(target))
    assert sorted(map(repr, frame.collect())) == sorted(map(repr, spark.read.parquet(str(source)).collect()))


def assert_kept(before: Path, after: Path) -> None:
    """Compare cells, and what the footer says of the columns."""
    assert carried(after) == carried(before)
    old, new = pq.ParquetFile(before), pq.ParquetFile(after)
    assert new.metadata.schema.equals(old.metadata.schema)
    assert new.metadata.metadata == old.metadata.metadata
    assert statistics(new) == statistics(old)
    # As text, since NaN is not equal to itself, and -0.0 is to 0.0.
    assert str(new.read().to_pylist()) == str(old.read().to_pylist())


def carried(file: Path) -> list[Any]:
    content = file.read_bytes()
    length = int.from_bytes(content[-TAIL:-4], "little")
    footer = thrift.Reader(content[-TAIL - length : -TAIL]).struct()
    return [
        thrift.get(footer, number) for number in (SCHEMA, COLUMN_ORDERS) if number in {one.number for one in footer}
    ]


def statistics(file: pq.ParquetFile) -> list[str]:
    groups = (file.metadata.row_group(index) for index in range(file.metadata.num_row_groups))
    return [str(chunk["statistics"]) for group in groups for chunk in group.to_dict()["columns"]]
