"""A migration killed at any point leaves no target, and the next run continues it.

There are thirty points where the file system stops, and five where the JVM halts. By default the tests try a few.
"""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

import pme_parquet as pme
from tests.orc.halted_migration import migrate
from tests.orc.migrating import COLUMN_KEYS, Keys, write
from tests.support import file_systems
from tests.support.canary import data_files, find_canaries
from tests.support.file_systems import NEVER, STOPPING
from tests.support.frames import people
from tests.support.processes import assert_halts
from tests.support.source import rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

pytestmark = pytest.mark.nightly

STOPS, HALTS = 30, 5
SECRETS = ["name-", "ssn-", "street-", "tag-"]


class Prepared(NamedTuple):
    """A table that each test copies, and the number of changes that its migration makes to the disk."""

    path: Path
    rows: list[str]
    changes: int
    classes: Path

    def copy(self, directory: Path) -> Path:
        return shutil.copytree(self.path, directory / "source")

    def places(self) -> list[int]:
        return Random("orc").sample(range(self.changes), STOPS + HALTS)  # noqa: S311 no secret


@pytest.fixture(scope="module")
def prepared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    classes = file_systems.load(spark, tmp_path_factory)
    directory = tmp_path_factory.mktemp("killed")
    path = write(people(spark).repartition(2), directory / "source", Keys(directory), COLUMN_KEYS, "country")
    expected = rows(spark.read.format("pme-orc").options(**Keys(directory).full).load(str(path)))
    for name, value in STOPPING.items():
        spark.conf.set(name, value)
    try:
        with file_systems.stopping(spark, NEVER):
            migrate(spark, path)
            changes = NEVER - file_systems.changes_left(spark)
    finally:
        for name in STOPPING:
            spark.conf.unset(name)
    return Prepared(path, expected, changes, classes)


@pytest.mark.parametrize("number", range(STOPS))
def test_a_migration_whose_disk_stops_can_continue(
    spark: SparkSession, prepared: Prepared, tmp_path: Path, conf: Conf, number: int
) -> None:
    source = prepared.copy(tmp_path)
    # A failure to remove leftovers does not count as a failure.
    with conf(STOPPING), file_systems.stopping(spark, prepared.places()[number]), suppress(Exception):
        migrate(spark, source)
    assert_goes_on(spark, source, prepared)


@pytest.mark.parametrize("number", range(HALTS))
def test_a_migration_whose_jvm_halts_can_continue(
    spark: SparkSession, prepared: Prepared, tmp_path: Path, number: int
) -> None:
    source = prepared.copy(tmp_path)
    after = prepared.places()[STOPS + number]
    assert_halts("tests.orc.halted_migration", source, prepared.classes, after)
    assert_goes_on(spark, source, prepared)


def assert_goes_on(spark: SparkSession, source: Path, prepared: Prepared) -> None:
    """Fail unless there is no target or a whole one, and another run makes it from what is there."""
    target = source.with_name("target")
    staged = [file for staging in source.parent.glob(".target.pme-migrate-*") for file in data_files(staging / "table")]
    # The target may appear before its staging directory is removed.
    if not target.exists():
        done = migrate(spark, source)
        assert done.already == len(staged)
    keys = Keys(source.parent)
    strict = {**keys.full, "columnKeys": COLUMN_KEYS, "footerKey": "footer"}
    assert rows(spark.read.format("pme-parquet").options(**strict).load(str(target))) == prepared.rows
    assert len(data_files(target)) == len([file for file in source.rglob("*.orc") if not file.name.startswith(".")])
    assert pme.verify(spark, str(target), kms=keys.full).count() == 0
    assert find_canaries(target, SECRETS) == []
    others = {path.name for path in source.parent.iterdir() if not path.name.startswith(".target.pme-migrate-")}
    assert others <= {"source", "target", "scratch", "full.txt"}


def test_a_run_that_begins_meanwhile_ends_the_first(spark: SparkSession, prepared: Prepared, tmp_path: Path) -> None:
    """Of two runs with the same arguments one makes the target, and the other one says so."""
    source = prepared.copy(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(migrate, spark, source) for _ in range(2)]
        failures = [run.exception() for run in runs]
    assert all(isinstance(failure, (pme.PmeError, type(None))) for failure in failures), failures
    assert_goes_on(spark, source, prepared)
