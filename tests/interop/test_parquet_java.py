"""Interchange with Spark's own ``parquet`` source and parquet-java's key tools, in every mode and both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.canary import data_files
from tests.support.expect import refused
from tests.support.interop import modes
from tests.support.interop.modes import FACTORY, MODES, Mode
from tests.support.interop.samples import MAPS, Table, spark_frame, spark_table
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

every_mode = pytest.mark.parametrize("mode", MODES, ids=str)


@pytest.fixture(scope="module")
def expected(spark: SparkSession) -> Table:
    return rows(spark_frame(spark))


def rows(frame: DataFrame) -> Table:
    return spark_table(frame, maps=MAPS)


def write(spark: SparkSession, source: str, options: dict[str, str], target: str) -> None:
    spark_frame(spark).write.format(source).options(**options).save(target)


def read(spark: SparkSession, source: str, options: dict[str, str], target: str) -> DataFrame:
    return spark.read.format(source).options(**options).load(target)


def assert_written_as(mode: Mode, target: str) -> None:
    """Fail unless the file's magic bytes and its material file are those of the mode."""
    [file] = data_files(target)
    assert file.read_bytes()[:4] == (b"PAR1" if mode.plaintext_footer else b"PARE")
    assert (file.parent / f"_KEY_MATERIAL_FOR_{file.name}.json").exists() == mode.external


def test_the_modes_cover_every_pair_of_settings() -> None:
    assert modes.uncovered_pairs() == []


@every_mode
def test_spark_parquet_writes_and_we_read(spark: SparkSession, target: str, expected: Table, mode: Mode) -> None:
    write(spark, "parquet", FACTORY | modes.java_properties(mode, TEST_KMS), target)
    assert_written_as(mode, target)
    assert rows(read(spark, "pme-parquet", modes.our_read_options(mode, TEST_KMS), target)) == expected


@every_mode
def test_we_write_and_spark_parquet_reads(spark: SparkSession, target: str, expected: Table, mode: Mode) -> None:
    write(spark, "pme-parquet", modes.our_options(mode, TEST_KMS), target)
    assert_written_as(mode, target)
    assert rows(read(spark, "parquet", FACTORY | modes.java_read_properties(TEST_KMS), target)) == expected


@every_mode
def test_only_the_name_of_the_format_changes(spark: SparkSession, target: str, expected: Table, mode: Mode) -> None:
    write(spark, "pme-parquet", modes.java_properties(mode, TEST_KMS), target)
    assert_written_as(mode, target)
    properties = modes.java_read_properties(TEST_KMS) | {"parquet.encryption.algorithm": mode.algorithm}
    assert rows(read(spark, "pme-parquet", properties, target)) == expected
    assert rows(read(spark, "parquet", FACTORY | modes.java_read_properties(TEST_KMS), target)) == expected


def test_parquet_javas_properties_work_from_the_hadoop_conf(spark: SparkSession, target: str, expected: Table) -> None:
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    properties = modes.java_properties(MODES[6], TEST_KMS)
    for name, value in properties.items():
        hadoop.set(name, value)
    try:
        write(spark, "pme-parquet", {}, target)
        assert rows(read(spark, "pme-parquet", {}, target)) == expected
    finally:
        for name in properties:
            hadoop.unset(name)
    assert rows(read(spark, "pme-parquet", {"kms": TEST_KMS}, target)) == expected


@pytest.mark.parametrize("algorithm", [modes.GCM, modes.CTR])
def test_v2_pages_of_parquet_java_are_read_only_when_clear_levels_are_allowed(
    spark: SparkSession, target: str, expected: Table, algorithm: str
) -> None:
    mode = MODES[6]._replace(algorithm=algorithm)
    version = {"parquet.writer.version": "v2"}
    write(spark, "parquet", FACTORY | modes.java_properties(mode, TEST_KMS) | version, target)
    options = modes.our_read_options(mode, TEST_KMS)
    with refused("PME_UNSUPPORTED", ".parquet", "clearLevels=allow"):
        read(spark, "pme-parquet", options, target).collect()
    assert rows(read(spark, "pme-parquet", options | {"clearLevels": "allow"}, target)) == expected


def test_v2_pages_under_the_footer_key_are_read_only_when_clear_levels_are_allowed(
    spark: SparkSession, target: str, expected: Table
) -> None:
    uniform = {"parquet.encryption.uniform.key": "everything", "parquet.encryption.kms.client.class": TEST_KMS}
    write(spark, "parquet", FACTORY | uniform | {"parquet.writer.version": "v2"}, target)
    options = {"kms": TEST_KMS}
    with refused("PME_UNSUPPORTED", ".parquet", "clearLevels=allow"):
        read(spark, "pme-parquet", options, target).collect()
    assert rows(read(spark, "pme-parquet", options | {"clearLevels": "allow"}, target)) == expected
