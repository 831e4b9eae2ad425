"""A file with an unreadable page fails the query, also if Spark is configured to skip corrupt files."""

from __future__ import annotations

import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.files import bend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from tests.policy.conftest import Table
    from tests.support.source import Conf

    Wish = Callable[[DataFrameReader, Conf, Path], AbstractContextManager[DataFrame]]

# The modules of the table's first column, in file order.
DICTIONARY_HEADER, DICTIONARY, DATA_PAGE_HEADER, DATA_PAGE = 0, 1, 2, 3

TOLD = ("PME_DAMAGED_FILE", "PME_NOT_AUTHENTIC")


def with_length(length: int) -> Callable[[bytes], bytes]:
    return lambda module: struct.pack("<I", length) + module[bend.LENGTH_BYTES :]


LENGTHS: dict[str, int] = {
    "no length": 0,
    "less than a nonce and a tag": bend.SIGNATURE_BYTES - 1,
    "a nonce and a tag only": bend.SIGNATURE_BYTES,
    "more than the file": 1_000_000,
    "a negative length": 0xFFFFFFF0,
}
CUTS: dict[str, Callable[[bytes], bytes]] = {
    "zeros after its nonce": lambda module: module[:16] + bytes(len(module) - 16),
    "zeros": lambda module: bytes(len(module)),
}


def cut(file: Path, number: int, change: Callable[[bytes], bytes]) -> None:
    """Overwrite one module; everything else, above all the footer, stays what and where it is."""
    content = file.read_bytes()
    at, size = bend.modules(content)[number]
    changed = change(content[at : at + size])
    assert len(changed) == size
    assert changed != content[at : at + size]
    bend.replace(file, content[:at] + changed + content[at + size :])


@pytest.fixture
def two(spark: SparkSession, frame: DataFrame, columns: pme.Encryption, table: Table) -> Table:
    """Return a table of two files: if one were skipped, there would still be rows."""
    frame.write.format("pme-parquet").options(**columns.options()).mode("append").save(str(table.path))
    return table


@contextmanager
def by_option(reader: DataFrameReader, _: Conf, path: Path) -> Iterator[DataFrame]:
    yield reader.option("ignoreCorruptFiles", "true").load(str(path))


@contextmanager
def by_option_in_capitals(reader: DataFrameReader, _: Conf, path: Path) -> Iterator[DataFrame]:
    yield reader.option("IGNORECORRUPTFILES", "true").load(str(path))


@contextmanager
def by_session(reader: DataFrameReader, conf: Conf, path: Path) -> Iterator[DataFrame]:
    with conf({"spark.sql.files.ignoreCorruptFiles": "true"}):
        yield reader.load(str(path))


every_wish = pytest.mark.parametrize("wish", [by_option, by_option_in_capitals, by_session])
every_scan = pytest.mark.parametrize("scan", ["v1", "v2"])


def assert_fails(spark: SparkSession, table: Table, file: Path, conf: Conf, wish: Wish, scan: str) -> None:
    """Fail unless reading the table with this setting ends in an error that names the file."""
    reader = spark.read.format("pme-parquet").options(**table.options, scan=scan)
    with wish(reader, conf, table.path) as frame, pytest.raises(pme.PmeError) as caught:
        frame.collect()
    assert caught.value.condition in TOLD, str(caught.value)
    assert file.name in str(caught.value)


@pytest.mark.parametrize("kind", CUTS)
@every_wish
@every_scan
def test_a_cut_page_is_never_skipped(
    spark: SparkSession, two: Table, conf: Conf, wish: Wish, scan: str, kind: str
) -> None:
    file = data_files(two.path)[0]
    cut(file, DATA_PAGE, CUTS[kind])
    assert_fails(spark, two, file, conf, wish, scan)


@pytest.mark.parametrize("length", LENGTHS)
@every_wish
@every_scan
def test_a_module_with_an_impossible_length_is_never_skipped(
    spark: SparkSession, two: Table, conf: Conf, wish: Wish, scan: str, length: str
) -> None:
    file = data_files(two.path)[0]
    cut(file, DATA_PAGE_HEADER, with_length(LENGTHS[length]))
    assert_fails(spark, two, file, conf, wish, scan)


@pytest.mark.parametrize("kind", CUTS)
@pytest.mark.parametrize("module", [DICTIONARY_HEADER, DICTIONARY, DATA_PAGE_HEADER])
def test_a_damaged_module_before_a_data_page_is_never_skipped(
    spark: SparkSession, two: Table, conf: Conf, module: int, kind: str
) -> None:
    file = data_files(two.path)[0]
    cut(file, module, CUTS[kind])
    assert_fails(spark, two, file, conf, by_session, "v1")


@every_scan
def test_the_row_reader_skips_nothing_either(spark: SparkSession, two: Table, conf: Conf, scan: str) -> None:
    file = data_files(two.path)[0]
    cut(file, DATA_PAGE, CUTS["zeros"])
    with conf({"spark.sql.parquet.enableVectorizedReader": "false"}):
        assert_fails(spark, two, file, conf, by_session, scan)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("reader", ["pages", "spark"])
@every_scan
def test_a_false_length_before_a_page_is_refused(
    spark: SparkSession, two: Table, conf: Conf, scan: str, reader: str, length: str
) -> None:
    # Nothing authenticates this length. parquet-java does not need it for a page, and trusts it for other modules.
    file = data_files(two.path)[0]
    cut(file, DATA_PAGE, with_length(LENGTHS[length]))
    assert_fails(spark, two._replace(options={**two.options, "reader": reader}), file, conf, by_session, scan)


@every_wish
def test_spark_parquet_does_skip_what_it_cannot_read(
    spark: SparkSession, frame: DataFrame, plain: Table, conf: Conf, wish: Wish
) -> None:
    frame.write.mode("append").parquet(str(plain.path))
    file = data_files(plain.path)[0]
    content = file.read_bytes()
    bend.replace(file, content[:4] + bytes(100) + content[104:])
    with wish(spark.read.format("parquet"), conf, plain.path) as left:
        assert sorted(left.collect()) == sorted(frame.collect())
