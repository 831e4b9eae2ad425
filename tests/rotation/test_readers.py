"""Rotated files in every mode, read by Spark's own ``parquet`` source and PyArrow; and files that those wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

import pme_parquet as pme
from tests.support import tables
from tests.support.canary import data_files
from tests.support.interop import arrow_files, modes
from tests.support.interop.modes import FACTORY, MODES, Mode
from tests.support.interop.samples import MAPS, Table, arrow_frame, arrow_table, spark_frame, spark_table
from tests.support.session import TEST_KMS
from tests.support.tables import NEW

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

KMS = pme.KmsClass(TEST_KMS)
every_mode = pytest.mark.parametrize("mode", MODES, ids=str)


@pytest.fixture(scope="module")
def expected(spark: SparkSession) -> Table:
    return spark_table(spark_frame(spark), maps=MAPS)


@every_mode
def test_rotated_files_are_read_by_spark_parquet_and_pyarrow(
    spark: SparkSession, target: str, expected: Table, mode: Mode
) -> None:
    spark_frame(spark).write.format("pme-parquet").options(**modes.our_options(mode, TEST_KMS)).save(target)
    before = tables.pages(target)

    # A file with one key for everything has no keys under other master keys.
    report = pme.rotate(spark, target, kms=KMS, master_keys=NEW, allow_unused=mode.uniform)

    assert report.counts == {"rotated": 1}
    assert tables.pages(target) == before
    theirs = spark.read.format("parquet").options(**FACTORY, **modes.java_read_properties(TEST_KMS)).load(target)
    assert spark_table(theirs, maps=MAPS) == expected
    [file] = data_files(target)
    assert arrow_table(arrow_files.read(file, external=mode.external)) == expected


@pytest.mark.parametrize("mode", [MODES[2], MODES[6]], ids=str)
def test_files_of_pyarrow_are_rotated(spark: SparkSession, tmp_path: Path, expected: Table, mode: Mode) -> None:
    file = tmp_path / "a.parquet"
    arrow_files.write(arrow_frame(), file, mode)

    report = pme.rotate(spark, file, kms=KMS, master_keys=NEW)

    assert report.files[0].master_keys == sorted(NEW.values())
    assert arrow_table(arrow_files.read(file, external=mode.external)) == expected


@pytest.mark.parametrize("mode", [MODES[1], MODES[4]], ids=str)
def test_files_of_spark_parquet_are_rotated(spark: SparkSession, target: str, expected: Table, mode: Mode) -> None:
    spark_frame(spark).write.format("parquet").options(**FACTORY, **modes.java_properties(mode, TEST_KMS)).save(target)

    pme.rotate(spark, target, kms=KMS, master_keys=NEW)

    theirs = spark.read.format("parquet").options(**FACTORY, **modes.java_read_properties(TEST_KMS)).load(target)
    assert spark_table(theirs, maps=MAPS) == expected


@pytest.mark.parametrize("mode", [MODES[4], MODES[6], MODES[8]], ids=str)
def test_key_material_that_moved_is_found_by_other_readers(
    spark: SparkSession, target: str, expected: Table, mode: Mode
) -> None:
    spark_frame(spark).write.format("pme-parquet").options(**modes.our_options(mode, TEST_KMS)).save(target)
    [file] = data_files(target)
    beside = file.with_name(f"_KEY_MATERIAL_FOR_{file.name}.json")
    for external in (not mode.external, mode.external):
        where: Literal["internal", "external"] = "external" if external else "internal"
        report = pme.rotate(spark, target, kms=KMS, master_keys={}, key_material=where)
        assert (report.files[0].status, report.files[0].material) == ("rotated", where)
        assert beside.exists() == external
        assert arrow_table(arrow_files.read(file, external=external)) == expected
        theirs = spark.read.format("parquet").options(**FACTORY, **modes.java_read_properties(TEST_KMS)).load(target)
        assert spark_table(theirs, maps=MAPS) == expected
