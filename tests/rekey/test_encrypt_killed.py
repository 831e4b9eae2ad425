"""An encryption killed at any point leaves every cell readable, and the next run finishes it.

There are twenty points where the JVM halts and twenty where the file system stops for each way to encrypt. By default
the tests try only a few of them.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

import pme_parquet as pme
from tests.rekey.copies import left
from tests.rekey.halted_job import WAYS, copy_of
from tests.support import file_systems
from tests.support.canary import data_files, files_under, find_canaries
from tests.support.file_systems import NEVER, STOPPING
from tests.support.frames import people
from tests.support.processes import assert_halts
from tests.support.session import TEST_KMS
from tests.support.source import rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

PLACES = 20
SECRETS = ["name-", "ssn-"]


class Prepared(NamedTuple):
    """A table that each test copies, and the number of changes that its encryption makes to the disk."""

    way: str
    path: Path
    rows: list[str]
    changes: int
    classes: Path

    def copy(self, directory: Path) -> Path:
        return shutil.copytree(self.path, directory / "table")

    def places(self) -> list[int]:
        return Random(self.way).sample(range(self.changes), PLACES)  # noqa: S311 no secret


@pytest.fixture(scope="module", params=list(WAYS))
def prepared(spark: SparkSession, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    classes = file_systems.load(spark, tmp_path_factory)
    path = tmp_path_factory.mktemp("killed") / "table"
    people(spark).repartition(4).write.partitionBy("country").parquet(str(path))
    expected = rows(spark.read.parquet(str(path)))
    counted = shutil.copytree(path, tmp_path_factory.mktemp("counted") / "table")
    for name, value in STOPPING.items():
        spark.conf.set(name, value)
    try:
        with file_systems.stopping(spark, NEVER):
            WAYS[request.param](spark, counted)
            changes = NEVER - file_systems.changes_left(spark)
    finally:
        for name in STOPPING:
            spark.conf.unset(name)
    return Prepared(request.param, path, expected, changes, classes)


@pytest.mark.parametrize("number", range(PLACES))
def test_an_encryption_whose_disk_stops_loses_nothing_and_can_continue(
    spark: SparkSession, prepared: Prepared, tmp_path: Path, conf: Conf, number: int
) -> None:
    table = prepared.copy(tmp_path)
    # A failure to remove leftovers does not count as a failure.
    with conf(STOPPING), file_systems.stopping(spark, prepared.places()[number]), suppress(Exception):
        WAYS[prepared.way](spark, table)
    assert_goes_on(spark, table, prepared)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(PLACES))
def test_an_encryption_whose_jvm_halts_loses_nothing_and_can_continue(
    spark: SparkSession, prepared: Prepared, tmp_path: Path, number: int
) -> None:
    table = prepared.copy(tmp_path)
    after = prepared.places()[number]
    assert_halts("tests.rekey.halted_job", prepared.way, table, prepared.classes, after)
    assert_goes_on(spark, table, prepared)


def assert_goes_on(spark: SparkSession, table: Path, prepared: Prepared) -> None:
    """Fail unless the remains can be read, and another run finishes the encryption."""
    reader = spark.read.format("pme-parquet").options(kms=TEST_KMS)
    assert rows(reader.option("plaintextFiles", "allow").load(str(table))) == prepared.rows
    goal = copy_of(table) if prepared.way == "copy" else table
    names = [file.relative_to(prepared.path) for file in data_files(prepared.path)]
    # The copy may appear before its staging directory is removed.
    if goal == table or not goal.exists():
        WAYS[prepared.way](spark, table)
    strict = spark.read.format("pme-parquet").options(kms=TEST_KMS)
    assert rows(strict.load(str(goal))) == prepared.rows
    assert [file.relative_to(goal) for file in data_files(goal)] == names
    assert pme.verify(spark, str(goal), options={"kms": TEST_KMS}).count() == 0
    assert find_canaries(goal, SECRETS) == []
    if goal == table:
        assert [file for file in files_under(table) if ".pme-" in str(file.relative_to(table))] == []
    else:
        assert rows(spark.read.parquet(str(table))) == prepared.rows
        others = {name for name in left(table.parent) if not name.startswith(".copy.pme-rekey-")}
        assert others <= {"table", "copy", "scratch"}
