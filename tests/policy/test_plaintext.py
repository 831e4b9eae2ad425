"""Files without encryption, and Spark's settings to skip unreadable files."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.support.expect import refused
from tests.support.files import bend, thrift

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.policy.conftest import Table

INTRUDER = "part-00000-intruder.snappy.parquet"
SKIPPING = {"spark.sql.files.ignoreCorruptFiles": "true"}


@pytest.fixture
def invaded(table: Table, plain: Table) -> Table:
    """Return an encrypted table with a plaintext file that somebody put into its directory."""
    shutil.copy(plain.file, table.path / INTRUDER)
    return table


def test_a_plaintext_table_is_refused(spark: SparkSession, plain: Table) -> None:
    with refused("PME_PLAINTEXT_FILE", plain.file.name, "plaintextFiles=allow"):
        plain.read(spark).collect()


def test_a_plaintext_table_is_read_where_plaintext_is_allowed(
    spark: SparkSession, frame: DataFrame, plain: Table
) -> None:
    rows = plain.read(spark, plaintextFiles="allow").collect()
    assert sorted(rows) == sorted(frame.collect())


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_each_query_of_a_frame_follows_the_session_as_it_is_then(
    spark: SparkSession,
    frame: DataFrame,
    plain: Table,
    conf: Callable[..., AbstractContextManager[None]],
    scan: str,
) -> None:
    allowed = {"spark.datasource.pme-parquet.plaintextFiles": "allow"}
    with conf(allowed):
        read = plain.read(spark, scan=scan)
        assert read.where("id >= 0").count() == frame.count()
    with refused("PME_PLAINTEXT_FILE", plain.file.name):
        read.where("id >= 0").collect()
    with conf(allowed):
        assert sorted(read.where("id >= 0").collect()) == sorted(frame.collect())


def test_a_planned_query_follows_the_session_as_it_is_when_it_runs(
    spark: SparkSession, frame: DataFrame, plain: Table, conf: Callable[..., AbstractContextManager[None]]
) -> None:
    query = spark.read.format("pme-parquet").options(**plain.options).schema(frame.schema).load(str(plain.path))
    query.explain()
    with conf({"spark.datasource.pme-parquet.plaintextFiles": "allow"}):
        assert sorted(query.collect()) == sorted(frame.collect())


def test_a_plaintext_intruder_is_refused(spark: SparkSession, frame: DataFrame, invaded: Table) -> None:
    with refused("PME_PLAINTEXT_FILE", INTRUDER):
        invaded.read(spark).collect()
    with refused("PME_PLAINTEXT_FILE", INTRUDER):
        spark.read.format("pme-parquet").options(**invaded.options).schema(frame.schema).load(
            str(invaded.path)
        ).collect()
    assert invaded.read(spark, plaintextFiles="allow").count() == 2 * frame.count()


@pytest.mark.parametrize("scan", ["v1", "v2"])
@pytest.mark.parametrize("query", ["id", "count(*)", "max(id)"])
def test_a_plaintext_intruder_is_refused_whatever_is_selected(
    spark: SparkSession,
    frame: DataFrame,
    invaded: Table,
    conf: Callable[..., AbstractContextManager[None]],
    scan: str,
    query: str,
) -> None:
    reader = spark.read.format("pme-parquet").options(**invaded.options, scan=scan).schema(frame.schema)
    pushing = conf({"spark.sql.parquet.aggregatePushdown": "true"})
    with pushing, refused("PME_PLAINTEXT_FILE", INTRUDER):
        reader.load(str(invaded.path)).selectExpr(query).collect()


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_ignoring_corrupt_files_does_not_skip_a_plaintext_intruder(
    spark: SparkSession,
    frame: DataFrame,
    invaded: Table,
    conf: Callable[..., AbstractContextManager[None]],
    scan: str,
) -> None:
    with conf(SKIPPING):
        reader = spark.read.format("pme-parquet").options(**invaded.options, scan=scan)
        with refused("PME_PLAINTEXT_FILE", INTRUDER):
            reader.load(str(invaded.path)).collect()
        with refused("PME_PLAINTEXT_FILE", INTRUDER):
            reader.schema(frame.schema).load(str(invaded.path)).collect()


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_ignoring_corrupt_files_does_not_skip_a_file_whose_key_is_missing(
    spark: SparkSession,
    frame: DataFrame,
    table: Table,
    conf: Callable[..., AbstractContextManager[None]],
    tmp_path: Path,
    scan: str,
) -> None:
    listed = tmp_path / "keys"
    listed.write_text("nothing=MDEyMzQ1Njc4OWFiY2RlZg==\n")
    options = {"kms": "static", "kms.static.keys": f"file:{listed}", "scan": scan}
    with conf(SKIPPING):
        reader = spark.read.format("pme-parquet").options(**options)
        with refused("PME_KEY_NOT_FOUND", table.file.name):
            reader.load(str(table.path)).collect()
        with refused("PME_KEY_NOT_FOUND", table.file.name):
            reader.schema(frame.schema).load(str(table.path)).collect()


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_ignoring_corrupt_files_does_not_skip_an_altered_page(
    spark: SparkSession,
    table: Table,
    conf: Callable[..., AbstractContextManager[None]],
    scan: str,
) -> None:
    bend.flip_in_module(table.file, 1)
    with conf(SKIPPING), refused("PME_NOT_AUTHENTIC", table.file.name):
        table.read(spark, scan=scan).collect()


def test_a_footer_stripped_of_algorithm_and_signature_is_refused(spark: SparkSession, signed: Table) -> None:
    fields = (bend.FOOTER_ALGORITHM, bend.FOOTER_SIGNING_KEY_METADATA)
    bend.plain_footer(signed.file, lambda footer: thrift.drop(footer, *fields), signature=False)
    with refused("PME_NOT_AUTHENTIC", signed.file.name, "no signature"):
        signed.read(spark).collect()
    # The file's id column has no key of its own, so parquet-java would take it for plaintext.
    with refused("PME_NOT_AUTHENTIC", signed.file.name, "no signature"):
        signed.read(spark, plaintextFiles="allow").select("id").collect()
