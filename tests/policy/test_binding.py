"""A read that names column keys accepts no file with columns under other keys, and `verify` finds such files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.policy.conftest import SCHEMA, Table, copied
from tests.support.canary import data_files
from tests.support.expect import refused, untouched
from tests.support.interop import schemas
from tests.support.session import TEST_KMS
from tests.support.sql import call

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

# Files that somebody with the footer's key, or without any column key, may write: each with the key found and required.
ALONE: dict[str, Any] = {"column_keys": None}
PLANTED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "the footer's key for all": (ALONE, ("column 'ssn'", "the footer's key, 'footer'", "requires key 'pii'")),
    "a readable footer": (ALONE | {"plaintext_footer": True}, ("column 'ssn'", "'footer'", "'pii'")),
    "key material beside": (ALONE | {"key_material": "external"}, ("column 'ssn'", "'footer'", "'pii'")),
    "a plaintext column": (
        {"column_keys": {"pii": "ssn", "footer": "id"}, "unlisted_columns": "plaintext"},
        ("column 'salary'", "is plaintext", "columnKeys requires key 'pay'"),
    ),
    "another column's key": (
        {"column_keys": {"pii": ["ssn", "salary"]}},
        ("column 'salary'", "encrypted with key 'pii'", "columnKeys requires key 'pay'"),
    ),
    "an unlisted column in plaintext": (
        {"unlisted_columns": "plaintext"},
        ("column 'id'", "is plaintext", "unlistedColumns=footerKey requires the footer's key"),
    ),
    "another footer key": ({"footer_key": "other"}, ("footer", "'other'", "footerKey requires key 'footer'")),
}
WAYS = [{"scan": "v1"}, {"scan": "v2"}, {"reader": "spark"}, {"reader": "spark", "scan": "v2"}]


def plant(frame: DataFrame, table: Table, enc: pme.Encryption) -> Path:
    """Append a file and return it."""
    before = data_files(table.path)
    frame.write.format("pme-parquet").options(**enc.options()).mode("append").save(str(table.path))
    [planted] = [file for file in data_files(table.path) if file not in before]
    return planted


@pytest.fixture
def bound(table: Table, columns: pme.Encryption) -> Table:
    """Return the table with the options of its write, which bind its columns to their keys."""
    return Table(table.path, columns.options())


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_file_is_refused_by_every_reader(
    spark: SparkSession, frame: DataFrame, bound: Table, columns: pme.Encryption, planted: str
) -> None:
    settings, mentions = PLANTED[planted]
    file = plant(frame, bound, replace(columns, **settings))
    for way in WAYS:
        reader = spark.read.format("pme-parquet").options(**bound.options | way).schema(SCHEMA)
        # This column is as it should be.
        with refused("PME_KEY_METADATA", file.name, *mentions):
            reader.load(str(bound.path)).select("id").collect()


def by_count(spark: SparkSession, bound: Table, _: Path) -> None:
    bound.read(spark).count()


def by_filter(spark: SparkSession, bound: Table, _: Path) -> None:
    bound.read(spark).where("id = -1").collect()


def by_denied_columns(spark: SparkSession, bound: Table, _: Path) -> None:
    bound.read(spark, deniedColumns="null").collect()


def by_merged_schemas(spark: SparkSession, bound: Table, _: Path) -> None:
    bound.read(spark, mergeSchema="true")


def by_stream(spark: SparkSession, bound: Table, scratch: Path) -> None:
    stream = spark.readStream.format("pme-parquet").options(**bound.options).schema(SCHEMA).load(str(bound.path))
    writer = stream.writeStream.format("noop").option("checkpointLocation", str(scratch / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()


@pytest.mark.parametrize("query", [by_count, by_filter, by_denied_columns, by_merged_schemas, by_stream])
def test_a_planted_file_is_refused_by_every_query(
    spark: SparkSession,
    frame: DataFrame,
    bound: Table,
    columns: pme.Encryption,
    tmp_path: Path,
    query: Callable[[SparkSession, Table, Path], None],
) -> None:
    file = plant(frame, bound, replace(columns, column_keys=None))
    with refused("PME_KEY_METADATA", file.name, "'pii'"):
        query(spark, bound, tmp_path)


def test_a_planted_file_answers_no_aggregate_and_is_not_copied(
    spark: SparkSession, frame: DataFrame, bound: Table, columns: pme.Encryption, conf: Conf, tmp_path: Path
) -> None:
    file = plant(frame, bound, replace(columns, column_keys=None))
    options = {"spark.sql.parquet.aggregatePushdown": "true"}
    with conf(options), refused("PME_KEY_METADATA", file.name, "'pii'"):
        spark.read.format("pme-parquet").options(**bound.options).schema(SCHEMA).load(str(bound.path)).groupBy().max(
            "id"
        ).collect()
    target = str(tmp_path / "copy")
    with untouched(target), refused("PME_KEY_METADATA", file.name, "'pii'"):
        pme.rekey(spark, str(bound.path), target, replace(columns, footer_key="other"), options=bound.options)


@pytest.mark.parametrize("planted", PLANTED)
def test_verify_finds_each_column_that_is_protected_differently_once(
    spark: SparkSession, frame: DataFrame, bound: Table, columns: pme.Encryption, planted: str
) -> None:
    settings, mentions = PLANTED[planted]
    file = plant(frame, bound, replace(columns, **settings))
    rows = pme.verify(spark, bound.path, kms=columns).collect()
    assert {(row.file.rpartition("/")[2], row.condition) for row in rows} == {(file.name, "PME_KEY_METADATA")}
    found = [row.column for row in rows]
    assert len(set(found)) == len(found)
    assert any(all(words in row.message for words in mentions) for row in rows)
    # A reader that names only the KMS requires no keys; different readable columns in files are reported all the same.
    rows = pme.verify(spark, bound.path, options=table_options(bound)).collect()
    assert {row.condition for row in rows} == ({"PME_PLAINTEXT_FILE"} if "plaintext" in planted else set())


def table_options(table: Table) -> dict[str, str]:
    """Return the options of its KMS."""
    return {name: value for name, value in table.options.items() if name.startswith("kms")}


def test_verify_in_sql_finds_it_too(
    spark: SparkSession, frame: DataFrame, bound: Table, columns: pme.Encryption
) -> None:
    plant(frame, bound, replace(columns, column_keys=None))
    rows = spark.sql(f"SELECT * FROM {call('pme_verify', str(bound.path), options=bound.options)}").collect()
    assert sorted(row["column"] for row in rows) == ["salary", "ssn"]


WRITTEN: dict[str, dict[str, Any]] = {
    "footer key for the rest": {},
    "plaintext for the rest": {"unlisted_columns": "plaintext"},
    "a readable footer": {"plaintext_footer": True},
    "key material beside": {"key_material": "external"},
    "single wrapping": {"double_wrapping": False},
    "direct keys": {"key_management": "direct"},
    "one key": {"column_keys": None, "footer_key": None, "uniform_key": "pii"},
    "every column listed": {"column_keys": {"pii": "s*", "footer": "id"}, "unlisted_columns": "error"},
    "columns in other letters": {"column_keys": {"pii": "SSN", "pay": "Salary"}},
}


@pytest.mark.parametrize("written", WRITTEN)
def test_a_table_is_read_with_the_options_that_it_was_written_with(
    spark: SparkSession, frame: DataFrame, columns: pme.Encryption, target: str, written: str
) -> None:
    options = replace(columns, **WRITTEN[written]).options()
    frame.write.format("pme-parquet").options(**options).save(target)
    for way in WAYS[0], WAYS[2]:
        rows = spark.read.format("pme-parquet").options(**options | way).load(target).collect()
        assert sorted(rows) == sorted(frame.collect())
    assert pme.verify(spark, target, options=options).collect() == []


def test_a_file_written_before_a_column_was_added_is_read(
    spark: SparkSession, frame: DataFrame, columns: pme.Encryption, target: str
) -> None:
    older = pme.Encryption(kms=columns.kms, footer_key="footer", column_keys={"pii": "ssn"})
    frame.drop("salary").write.format("pme-parquet").options(**older.options()).save(target)
    frame.write.format("pme-parquet").options(**columns.options()).mode("append").save(target)
    read = spark.read.format("pme-parquet").options(**columns.options()).schema(SCHEMA).load(target)
    assert read.where("salary is null").count() == frame.count()


def test_a_misspelt_column_is_refused(spark: SparkSession, bound: Table) -> None:
    with refused("PME_KEY_METADATA", "column 'salary'", "encrypted with key 'pay'", "unlistedColumns=footerKey"):
        bound.read(spark, columnKeys="pii: ssn; pay: salry").collect()


def test_an_unlisted_column_is_refused_if_unlisted_columns_are_an_error(spark: SparkSession, bound: Table) -> None:
    with refused("PME_KEY_METADATA", "column 'id'", "'footer'", "unlistedColumns=error"):
        bound.read(spark, unlistedColumns="error").collect()


def test_a_planted_column_in_another_letter_case_is_the_same_column(
    spark: SparkSession, frame: DataFrame, bound: Table, columns: pme.Encryption
) -> None:
    other = frame.withColumnRenamed("salary", "SALARY").withColumnRenamed("ssn", "sSn")
    file = plant(other, bound, replace(columns, column_keys=None))
    with refused("PME_KEY_METADATA", file.name, "column 'sSn'", "'pii'"):
        spark.read.format("pme-parquet").options(**bound.options).schema(SCHEMA).load(str(bound.path)).collect()


def test_a_uniform_key_is_required_of_every_column(
    spark: SparkSession, frame: DataFrame, table: Table, keys: pme.Keystore
) -> None:
    with refused("PME_KEY_METADATA", "column 'ssn'", "encrypted with key 'pii'", "uniformKey requires key 'footer'"):
        table.read(spark, uniformKey="footer").collect()
    with refused("PME_KEY_METADATA", "footer", "uniformKey requires key 'pay'"):
        table.read(spark, uniformKey="pay").collect()
    with refused("PME_BAD_OPTION", "uniformKey"):
        table.read(spark, uniformKey="footer", columnKeys="pii: ssn").collect()


def test_a_plaintext_file_is_read_where_it_is_allowed(
    spark: SparkSession, frame: DataFrame, bound: Table, originals: dict[str, Path], keys: pme.Keystore, tmp_path: Path
) -> None:
    plain = copied(originals["plain"], tmp_path / "plain", keys)
    plain.file.rename(bound.path / "part-plain.parquet")
    with refused("PME_PLAINTEXT_FILE", "part-plain"):
        bound.read(spark).collect()
    assert bound.read(spark, plaintextFiles="allow").count() == 2 * frame.count()


def test_columns_that_are_read_by_number_are_bound_to_no_key(
    spark: SparkSession, bound: Table, frame: DataFrame, conf: Conf
) -> None:
    numbered = frame
    for number, name in enumerate(frame.columns):
        numbered = numbered.withMetadata(name, {"parquet.field.id": number})
    setting = "spark.sql.parquet.fieldId.read.enabled"
    reader = spark.read.format("pme-parquet").schema(numbered.schema)
    with conf({setting: "true", "spark.sql.parquet.fieldId.read.ignoreMissing": "true"}):
        for way in WAYS:
            with refused("PME_UNSUPPORTED", "columnKeys", setting):
                reader.options(**bound.options | way).load(str(bound.path)).collect()


def test_values_of_a_map_are_bound_whatever_the_file_calls_the_map(
    spark: SparkSession, conf: Conf, tmp_path: Path
) -> None:
    schemas.write(spark, tmp_path, "optional group m { repeated group e { required int32 k; optional int32 v; } }")
    # This field makes readers match maps by position.
    with conf({"spark.sql.parquet.enableVectorizedReader": "false"}):
        reader = spark.read.format("pme-parquet").schema("m map<int, int>")
        reader = reader.options(kms=TEST_KMS, footerKey="footer", columnKeys="pii: m.value")
        with refused("PME_KEY_METADATA", "'footer'", "columnKeys requires key 'pii'"):
            reader.load(str(tmp_path)).collect()
