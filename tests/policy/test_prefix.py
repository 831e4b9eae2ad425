"""The AAD prefix, which binds files to a table: missing, wrong, moved, or with its boundary shifted."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.policy.conftest import Table
from tests.support.canary import data_files
from tests.support.expect import refused, untouched
from tests.support.files import bend, thrift

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.files.thrift import Struct


def written(frame: DataFrame, columns: pme.Encryption, path: Path, **settings: object) -> Table:
    encryption = replace(columns, **settings)  # type: ignore[arg-type] # settings of the one prefix
    frame.write.format("pme-parquet").options(**encryption.options()).save(str(path))
    return Table(path, columns.kms.options())  # type: ignore[union-attr] # a Keystore in these tests


def test_a_stored_prefix_needs_no_option_and_is_checked_where_one_is_given(
    spark: SparkSession, frame: DataFrame, columns: pme.Encryption, tmp_path: Path
) -> None:
    table = written(frame, columns, tmp_path / "t", aad_prefix="orders")
    assert table.read(spark).count() == table.read(spark, aadPrefix="orders").count() == frame.count()
    with refused("PME_AAD_PREFIX", table.file.name, "aadPrefix"):
        table.read(spark, aadPrefix="invoices").collect()


def test_a_prefix_that_is_not_stored_must_be_supplied(
    spark: SparkSession, frame: DataFrame, columns: pme.Encryption, tmp_path: Path
) -> None:
    table = written(frame, columns, tmp_path / "t", aad_prefix="orders", store_aad_prefix=False)
    assert b"orders" not in table.file.read_bytes()
    assert table.read(spark, aadPrefix="orders").count() == frame.count()
    with refused("PME_AAD_PREFIX", table.file.name, "aadPrefix"):
        table.read(spark).collect()
    with refused("PME_NOT_AUTHENTIC", table.file.name, "aadPrefix"):
        table.read(spark, aadPrefix="invoices").collect()


def test_a_file_without_prefix_is_refused_where_one_is_expected(spark: SparkSession, table: Table) -> None:
    with refused("PME_AAD_PREFIX", table.file.name):
        table.read(spark, aadPrefix="orders").collect()


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_a_file_moved_to_another_table_does_not_open(
    spark: SparkSession,
    frame: DataFrame,
    columns: pme.Encryption,
    tmp_path: Path,
    plaintext_footer: bool,  # noqa: FBT001 -- a parameter of the test
) -> None:
    settings = {"aad_prefix": "{table}", "store_aad_prefix": False, "plaintext_footer": plaintext_footer}
    table = written(frame, columns, tmp_path / "salaries", **settings)
    shutil.move(table.path, tmp_path / "archive")
    moved = Table(tmp_path / "archive", table.options)
    with refused("PME_NOT_AUTHENTIC", moved.file.name):
        moved.read(spark, aadPrefix="{table}").collect()
    assert moved.read(spark, aadPrefix="salaries").count() == frame.count()


def test_swapped_files_do_not_open_where_the_prefix_names_the_file(
    spark: SparkSession, frame: DataFrame, columns: pme.Encryption, tmp_path: Path
) -> None:
    encryption = replace(columns, aad_prefix="{table}/{file}", store_aad_prefix=False)
    halves = frame.repartition(2)
    halves.write.format("pme-parquet").options(**encryption.options()).save(str(tmp_path / "t"))
    table = Table(tmp_path / "t", columns.kms.options())  # type: ignore[union-attr] # a Keystore
    assert table.read(spark, aadPrefix="{table}/{file}").count() == frame.count()

    first, second = sorted(table.path.glob("part-*.parquet"))
    one, other = first.read_bytes(), second.read_bytes()
    bend.replace(first, other)
    bend.replace(second, one)
    with refused("PME_NOT_AUTHENTIC", "part-"):
        table.read(spark, aadPrefix="{table}/{file}").collect()


def test_partition_directories_are_not_part_of_the_tables_name(
    spark: SparkSession, frame: DataFrame, columns: pme.Encryption, tmp_path: Path
) -> None:
    encryption = replace(columns, aad_prefix="{table}", store_aad_prefix=False)
    parted = frame.selectExpr("*", "id % 2 as half")
    writer = parted.write.format("pme-parquet").options(**encryption.options())
    writer.partitionBy("half").save(str(tmp_path / "salaries"))
    table = Table(tmp_path / "salaries", columns.kms.options())  # type: ignore[union-attr] # a Keystore
    assert table.read(spark, aadPrefix="{table}").count() == frame.count()
    assert table.read(spark, aadPrefix="salaries").count() == frame.count()


def test_an_unknown_name_in_a_template_is_refused(frame: DataFrame, columns: pme.Encryption, target: str) -> None:
    encryption = replace(columns, aad_prefix="{tabel}")
    with refused("PME_BAD_OPTION", "aadPrefix", "{table}"):
        frame.write.format("pme-parquet").options(**encryption.options()).save(target)


def test_the_boundary_between_prefix_and_file_part_cannot_be_shifted(
    spark: SparkSession, frame: DataFrame, columns: pme.Encryption, tmp_path: Path
) -> None:
    table = written(frame, columns, tmp_path / "t", aad_prefix="orders-2026")

    def shifted(algorithm: Struct) -> Struct:
        prefix, unique = thrift.get(algorithm, bend.AAD_PREFIX), thrift.get(algorithm, bend.AAD_FILE_UNIQUE)
        shorter = thrift.put(algorithm, bend.AAD_PREFIX, thrift.BINARY, prefix[:-5])
        return thrift.put(shorter, bend.AAD_FILE_UNIQUE, thrift.BINARY, prefix[-5:] + unique)

    bend.crypto_metadata(table.file, lambda metadata: bend.aad(metadata, shifted))
    with refused("PME_AAD_PREFIX", table.file.name, "aad_file_unique"):
        table.read(spark).collect()
    with refused("PME_AAD_PREFIX", table.file.name, "aad_file_unique"):
        table.read(spark, aadPrefix="orders").collect()


@pytest.mark.parametrize("unique", [b"", b"1234567", b"123456789", b"x" * 100_000])
def test_a_file_part_that_is_not_eight_bytes_is_refused(spark: SparkSession, table: Table, unique: bytes) -> None:
    def changed(algorithm: Struct) -> Struct:
        return thrift.put(algorithm, bend.AAD_FILE_UNIQUE, thrift.BINARY, unique)

    bend.crypto_metadata(table.file, lambda metadata: bend.aad(metadata, changed))
    with refused("PME_AAD_PREFIX", table.file.name, "aad_file_unique"):
        table.read(spark).collect()


def test_a_signed_footer_with_a_longer_file_part_is_refused(spark: SparkSession, signed: Table) -> None:
    def changed(footer: Struct) -> Struct:
        [(number, kind, algorithm)] = thrift.get(footer, bend.FOOTER_ALGORITHM)
        longer = thrift.put(algorithm, bend.AAD_FILE_UNIQUE, thrift.BINARY, b"123456789")
        return thrift.put(footer, bend.FOOTER_ALGORITHM, thrift.STRUCT, [thrift.Field(number, kind, longer)])

    bend.plain_footer(signed.file, changed)
    with refused("PME_AAD_PREFIX", signed.file.name, "aad_file_unique"):
        signed.read(spark).collect()


@pytest.mark.parametrize("prefix", ["x", "abc", "orders!", "{table}"])
def test_single_wrapping_with_an_ambiguous_prefix_is_refused_before_anything_is_deleted(
    frame: DataFrame, columns: pme.Encryption, tmp_path: Path, prefix: str
) -> None:
    table = written(frame, columns, tmp_path / "t")
    unfit = replace(columns, aad_prefix=prefix, store_aad_prefix=False, double_wrapping=False).options()
    with untouched(table.path), refused("PME_BAD_OPTION", "aadPrefix", prefix):
        frame.write.format("pme-parquet").options(**unfit).mode("overwrite").save(str(table.path))


@pytest.mark.parametrize("stored", [True, False])
def test_double_wrapping_accepts_a_prefix_of_any_length(
    spark: SparkSession, frame: DataFrame, columns: pme.Encryption, tmp_path: Path, *, stored: bool
) -> None:
    table = written(frame, columns, tmp_path / "payroll", aad_prefix="{table}", store_aad_prefix=stored)
    for reader in ("pages", "spark"):
        assert table.read(spark, aadPrefix="payroll", reader=reader).count() == frame.count()


@pytest.mark.parametrize("in_place", [True, False])
def test_a_copy_is_refused_before_anything_is_written_if_no_file_may_have_its_prefix(
    spark: SparkSession, columns: pme.Encryption, frame: DataFrame, tmp_path: Path, *, in_place: bool
) -> None:
    frame.write.parquet(str(tmp_path / "plain"))
    [file] = data_files(tmp_path / "plain")
    file.rename(file.with_name("abcdefg"))
    enc = replace(columns, aad_prefix="{file}", double_wrapping=False)
    with untouched(tmp_path), refused("PME_BAD_OPTION", "aadPrefix", "abcdefg"):
        if in_place:
            pme.encrypt(spark, str(tmp_path / "plain"), None, enc, in_place=True)
        else:
            pme.encrypt(spark, str(tmp_path / "plain"), str(tmp_path / "copy"), enc)
