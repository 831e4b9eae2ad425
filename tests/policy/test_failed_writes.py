"""A failed write leaves the table as it was, and nothing of its own behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support.expect import refused, untouched
from tests.support.session import TEST_KMS
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.policy.conftest import Table

KEYS = {"kms": TEST_KMS, "footerKey": "footer"}
FAILURES: dict[str, tuple[dict[str, Any], str]] = {
    "no key": ({"footer_key": None, "column_keys": None}, "PME_NO_KEY"),
    "unknown column": ({"column_keys": {"pii": ["sssn"]}}, "PME_UNKNOWN_COLUMN"),
    "unknown key": ({"column_keys": {"pi": ["ssn"]}}, "PME_KEY_NOT_FOUND"),
    "unlisted column": ({"unlisted_columns": "error"}, "PME_UNKNOWN_COLUMN"),
    "bad value": ({"algorithm": "AES_CBC"}, "PME_BAD_OPTION"),
    "denied key": ({"kms": pme.KmsClass(TEST_KMS), "footer_key": "denied-1"}, "PME_KEY_DENIED"),
    "KMS down": ({"kms": pme.KmsClass(TEST_KMS), "footer_key": "down-1"}, "PME_KMS_UNAVAILABLE"),
}
every_failure = pytest.mark.parametrize("failure", FAILURES)


@every_failure
@pytest.mark.parametrize("mode", ["overwrite", "append"])
def test_the_existing_table_stays(
    spark: SparkSession,
    frame: DataFrame,
    columns: pme.Encryption,
    table: Table,
    mode: str,
    failure: str,
) -> None:
    settings, condition = FAILURES[failure]
    options = replace(columns, **settings).options()
    with untouched(table.path), refused(condition):
        frame.write.format("pme-parquet").options(**options).mode(mode).save(str(table.path))
    assert table.read(spark).count() == frame.count()


@every_failure
def test_dynamic_partition_overwrite_keeps_the_existing_partitions(
    frame: DataFrame, columns: pme.Encryption, target: str, failure: str
) -> None:
    parted = frame.selectExpr("*", "id % 2 as half")

    def save(encryption: pme.Encryption) -> None:
        writer = parted.write.format("pme-parquet").options(**encryption.options()).partitionBy("half")
        writer.mode("overwrite").option("partitionOverwriteMode", "dynamic").save(target)

    settings, condition = FAILURES[failure]
    save(columns)
    with untouched(target), refused(condition):
        save(replace(columns, **settings))


@every_failure
def test_a_table_that_could_not_be_created_is_not_in_the_catalog(
    spark: SparkSession, frame: DataFrame, columns: pme.Encryption, failure: str
) -> None:
    settings, condition = FAILURES[failure]
    options = replace(columns, **settings).options()
    warehouse = Path(str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))
    with untouched(warehouse / "refused"), refused(condition):
        frame.write.format("pme-parquet").options(**options).saveAsTable("refused")
    assert not spark.catalog.tableExists("refused")


def test_a_job_that_fails_halfway_leaves_no_data_files(
    spark: SparkSession, frame: DataFrame, columns: pme.Encryption, target: str
) -> None:
    dying = frame.repartition(2).selectExpr("ssn", "salary", "if(id = 20, raise_error('dead'), id) as id")
    with pytest.raises(Exception, match="dead"):
        dying.write.format("pme-parquet").options(**columns.options()).save(target)
    # Spark deletes `_temporary` while it still stops the other task, and that task may create its file there.
    left = [path for path in Path(target).rglob("*") if path.is_file()]
    assert [path.name for path in left if "_temporary" not in path.parts] == []


def test_a_job_whose_only_task_fails_leaves_no_file(
    spark: SparkSession, frame: DataFrame, columns: pme.Encryption, target: str
) -> None:
    dying = frame.coalesce(1).selectExpr("ssn", "salary", "if(id = 20, raise_error('dead'), id) as id")
    with pytest.raises(Exception, match="dead"):
        dying.write.format("pme-parquet").options(**columns.options()).save(target)
    assert [path.name for path in Path(target).rglob("*") if path.is_file()] == []


def test_more_pages_than_a_file_can_number_are_refused_with_advice(spark: SparkSession, target: str) -> None:
    pages = {"parquet.page.row.count.limit": "1", "parquet.page.size.row.check.min": "1"}
    frame = spark.range(0, 40_000, 1, 1)
    with refused("PME_UNSUPPORTED", target, "part-00000", "pages per chunk", "parquet.page.size", "parquet.block.size"):
        frame.write.format(FORMAT).options(**KEYS | pages).save(target)


@pytest.mark.parametrize(
    "setting",
    [
        {"parquet.page.size": "-1"},
        {"parquet.bloom.filter.enabled#id": "true", "parquet.bloom.filter.fpp#id": "7"},
    ],
    ids=str,
)
def test_what_parquet_java_refuses_to_write_becomes_our_error(
    spark: SparkSession, target: str, setting: dict[str, str]
) -> None:
    with refused("PME_UNSUPPORTED", "part-0000", "parquet-java cannot write"):
        spark.range(9).write.format(FORMAT).options(**KEYS | setting).save(target)
