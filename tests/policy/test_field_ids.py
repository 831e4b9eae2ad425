"""Columns matched by field id under other names: readers need the keys of the names in the file."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import StructType

import pme_parquet as pme
from tests.policy.conftest import Table
from tests.support.expect import refused
from tests.support.files import bend
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

WRITING = {"spark.sql.parquet.fieldId.write.enabled": "true"}
READING = {"spark.sql.parquet.fieldId.read.enabled": "true"}
IDS = {"ssn": 1, "salary": 2, "id": 3}
ROWS = [(f"123-45-{number:04d}", number * 1.5, number) for number in range(40)]
KEYS = ("footer", "pii", "pay")
COLUMN_KEYS = {"footerKey": "footer", "columnKeys": "pii: ssn; pay: salary"}
FACTORY = {"parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"}

every_scan = pytest.mark.parametrize("scan", ["v1", "v2"])


def with_ids(frame: DataFrame, ids: dict[str, int]) -> DataFrame:
    for name, number in ids.items():
        frame = frame.withMetadata(name, {"parquet.field.id": number})
    return frame


def schema(spark: SparkSession, **columns: tuple[str, int]) -> StructType:
    """Return a schema of columns by name, each with its type and field id."""
    declared = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    return with_ids(spark.createDataFrame([], declared), {name: number for name, (_, number) in columns.items()}).schema


def numbered(spark: SparkSession) -> DataFrame:
    return with_ids(spark.createDataFrame(ROWS, "ssn string, salary double, id bigint").coalesce(1), IDS)


def holding(names: Iterable[str], scratch: Path) -> dict[str, str]:
    """Return the options of a reader that has only the keys of these names."""
    listed = scratch / "-".join(names)
    keys = {name: hashlib.sha256(f"field ids {name}".encode()).digest() for name in names}
    listed.write_text("".join(f"{name}={base64.b64encode(key).decode()}\n" for name, key in keys.items()))
    return pme.Static(pme.file(str(listed))).options()


@pytest.fixture
def reading(conf: Conf) -> Iterator[None]:
    """Match columns by field id."""
    with conf(READING):
        yield


@pytest.fixture
def ided(spark: SparkSession, conf: Conf, tmp_path: Path) -> Table:
    """Return a table whose columns have field ids, and the options of a reader with all keys."""
    options = holding(KEYS, tmp_path)
    with conf(WRITING):
        numbered(spark).write.format("pme-parquet").options(**options, **COLUMN_KEYS).save(str(tmp_path / "t"))
    return Table(tmp_path / "t", options)


@pytest.fixture
def renamed(spark: SparkSession) -> StructType:
    return schema(spark, social=("string", 1), wage=("double", 2), number=("bigint", 3))


@pytest.fixture
def exchanged(spark: SparkSession) -> StructType:
    """Return a schema with the name of the file's ``ssn`` for its ``id``."""
    return schema(spark, ssn=("bigint", 3), wage=("double", 2))


def read(spark: SparkSession, table: Table, columns: StructType, **options: str) -> DataFrame:
    reader = spark.read.format("pme-parquet").options(**table.options | options)
    return reader.schema(columns).load(str(table.path))


@pytest.mark.usefixtures("reading")
@every_scan
def test_columns_are_read_by_their_ids(spark: SparkSession, ided: Table, renamed: StructType, scan: str) -> None:
    assert sorted(map(tuple, read(spark, ided, renamed, scan=scan).collect())) == ROWS


@pytest.mark.usefixtures("reading")
@every_scan
def test_a_reader_with_the_key_of_the_one_column_reads_it(
    spark: SparkSession, ided: Table, renamed: StructType, tmp_path: Path, scan: str
) -> None:
    limited = read(spark, ided, renamed, **holding(("footer", "pay"), tmp_path), scan=scan)
    assert sorted(limited.select("wage", "number").collect()) == [(number * 1.5, number) for number in range(40)]


@pytest.mark.usefixtures("reading")
@every_scan
def test_a_missing_key_is_reported_with_the_files_name_of_the_column(
    spark: SparkSession, ided: Table, renamed: StructType, tmp_path: Path, scan: str
) -> None:
    limited = read(spark, ided, renamed, **holding(("footer", "pay"), tmp_path), scan=scan)
    with refused("PME_KEY_NOT_FOUND", ided.file.name, "'pii'", "ssn"):
        limited.select("social").collect()


@pytest.mark.usefixtures("reading")
@every_scan
def test_a_missing_key_is_reported_before_a_page_is_read(
    spark: SparkSession, ided: Table, renamed: StructType, tmp_path: Path, scan: str
) -> None:
    # The pages of ssn are first in the file: if they were read before salary's key is missed, they would not open.
    for module in range(4):
        bend.flip_in_module(ided.file, module)
    limited = read(spark, ided, renamed, **holding(("footer", "pii"), tmp_path), scan=scan)
    with refused("PME_NOT_AUTHENTIC", ided.file.name):
        limited.select("social").collect()
    with refused("PME_KEY_NOT_FOUND", ided.file.name, "'pay'", "salary"):
        limited.select("social", "wage").collect()


@pytest.mark.usefixtures("reading")
@every_scan
def test_a_column_renamed_to_the_name_of_another_does_not_need_the_others_key(
    spark: SparkSession, ided: Table, exchanged: StructType, tmp_path: Path, scan: str
) -> None:
    limited = read(spark, ided, exchanged, **holding(("footer", "pay"), tmp_path), scan=scan)
    assert sorted(limited.collect()) == [(number, number * 1.5) for number in range(40)]


def person(name: str, pay: str, outer: str) -> StructType:
    """Return a schema of one struct with the id 10 whose fields have the ids 11 and 12."""
    inner = StructType()
    inner.add(name, "string", metadata={"parquet.field.id": 11})
    inner.add(pay, "double", metadata={"parquet.field.id": 12})
    return StructType().add(outer, inner, metadata={"parquet.field.id": 10})


@pytest.mark.usefixtures("reading")
@every_scan
def test_nested_fields_are_matched_by_their_ids_too(spark: SparkSession, conf: Conf, tmp_path: Path, scan: str) -> None:
    options = holding(KEYS, tmp_path)
    keys = {"footerKey": "footer", "columnKeys": "pii: person.name; pay: person.pay"}
    frame = spark.createDataFrame([((ssn, salary),) for ssn, salary, _ in ROWS], person("name", "pay", "person"))
    with conf(WRITING):
        frame.coalesce(1).write.format("pme-parquet").options(**options, **keys).save(str(tmp_path / "t"))
    table = Table(tmp_path / "t", options)
    # Whole structs: if Spark prunes fields within one, it loses their ids, in its own source, too.
    whole = read(spark, table, person("social", "wage", "who"), scan=scan)
    assert sorted((row.who.social, row.who.wage) for row in whole.collect()) == [row[:2] for row in ROWS]
    limited = read(spark, table, person("social", "wage", "who"), **holding(("footer", "pay"), tmp_path), scan=scan)
    with refused("PME_KEY_NOT_FOUND", table.file.name, "'pii'", "person.name"):
        limited.collect()


@pytest.mark.usefixtures("reading")
@every_scan
def test_clear_levels_of_a_column_under_another_name_are_refused(
    spark: SparkSession, conf: Conf, tmp_path: Path, renamed: StructType, scan: str
) -> None:
    properties = {
        "parquet.encryption.kms.client.class": TEST_KMS,
        "parquet.encryption.footer.key": "footer",
        "parquet.encryption.column.keys": "pii: ssn; pay: salary",
        "parquet.encryption.complete.columns": "true",
        "parquet.writer.version": "v2",
    }
    with conf(WRITING):
        numbered(spark).write.options(**FACTORY, **properties).parquet(str(tmp_path / "t"))
    table = Table(tmp_path / "t", {"kms": TEST_KMS})
    with refused("PME_UNSUPPORTED", table.file.name, "ssn", "clearLevels=allow"):
        read(spark, table, renamed, scan=scan).select("social").collect()
    allowed = read(spark, table, renamed, scan=scan, clearLevels="allow")
    assert sorted(map(tuple, allowed.collect())) == ROWS


def test_without_field_ids_columns_are_matched_by_name(spark: SparkSession, ided: Table, tmp_path: Path) -> None:
    limited = read(spark, ided, schema(spark, ssn=("string", 3)), **holding(("footer", "pay"), tmp_path))
    with refused("PME_KEY_NOT_FOUND", ided.file.name, "'pii'", "ssn"):
        limited.collect()
