"""A rotation killed at any point leaves every file readable, and the next run finishes it.

There are eighty points where the file system stops and forty where the JVM halts: `make test-all` tries them all.
"""

from __future__ import annotations

import shutil
from random import Random
from typing import TYPE_CHECKING, Literal, NamedTuple

import pytest

import pme_parquet as pme
from tests.rotation.killed_job import rotate
from tests.support import file_systems, tables
from tests.support.canary import data_files
from tests.support.file_systems import NEVER
from tests.support.frames import people
from tests.support.kms.clients import Remembering
from tests.support.processes import assert_halts
from tests.support.tables import OLD

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    Material = Literal["internal", "external"]

PLACES = 20


class Way(NamedTuple):
    """The place of the key material, and its new place if it moves."""

    written: Material
    moved: Material | None = None


WAYS = {
    "internal": Way("internal"),
    "external": Way("external"),
    "to external": Way("internal", "external"),
    "to internal": Way("external", "internal"),
}


class Prepared(NamedTuple):
    """A table that each test copies, and the number of changes that its rotation makes to the disk."""

    path: Path
    kms: pme.PythonKms
    rows: list[str]
    wrapped: list[str]
    changes: int
    classes: Path

    def copy(self, directory: Path) -> Path:
        return shutil.copytree(self.path, directory / "table")


@pytest.fixture(scope="module", params=list(WAYS))
def way(request: pytest.FixtureRequest) -> Way:
    return WAYS[request.param]


@pytest.fixture(scope="module")
def prepared(spark: SparkSession, way: Way, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    classes = file_systems.load(spark, tmp_path_factory)
    path = tmp_path_factory.mktemp("killed") / "table"
    client = Remembering()
    kms = pme.PythonKms(client)
    tables.write(people(spark).repartition(4), str(path), kms, key_material=way.written)
    rows = tables.rows(spark, str(path), kms)
    wrapped = list(client.wrapped)
    copy = shutil.copytree(path, path.with_name("counted"))
    with file_systems.stopping(spark, NEVER):
        rotate(spark, copy, kms, way.moved)
        changes = NEVER - file_systems.changes_left(spark)
    return Prepared(path, kms, rows, wrapped, changes, classes)


@pytest.mark.parametrize("number", range(PLACES))
def test_a_killed_rotation_leaves_readable_files_and_can_continue(
    spark: SparkSession, prepared: Prepared, way: Way, tmp_path: Path, number: int
) -> None:
    # The last change removes the mark. If it fails, that is only logged: the rotation itself is finished.
    after = Random(f"{way} {number}").randrange(prepared.changes - 1)  # noqa: S311 no secret
    table = prepared.copy(tmp_path)
    with file_systems.stopping(spark, after), pytest.raises((pme.PmeError, Exception), match="stopped"):
        rotate(spark, table, prepared.kms, way.moved)
    assert_goes_on(spark, table, prepared, way)


@pytest.mark.parametrize("number", range(PLACES))
@pytest.mark.parametrize("way", ["internal", "external"], indirect=True)
def test_a_rotation_whose_jvm_halts_leaves_readable_files_and_can_continue(
    spark: SparkSession, prepared: Prepared, way: Way, tmp_path: Path, number: int
) -> None:
    after = Random(way.written).sample(range(prepared.changes), PLACES)[number]  # noqa: S311 no secret
    table = prepared.copy(tmp_path)
    assert_halts("tests.rotation.killed_job", table, prepared.classes, after)
    assert_goes_on(spark, table, prepared, way)


def assert_goes_on(spark: SparkSession, table: Path, prepared: Prepared, way: Way) -> None:
    """Fail unless the remains of a killed rotation can be read, and another rotation finishes it."""
    pages = tables.pages(prepared.path)
    assert tables.pages(table) == pages
    assert tables.rows(spark, str(table), prepared.kms) == prepared.rows

    with file_systems.stopping(spark, NEVER):
        rotate(spark, table, prepared.kms, way.moved)

    assert tables.rows(spark, str(table), pme.PythonKms(Remembering(lacks=OLD))) == prepared.rows
    assert tables.pages(table) == pages
    assert tables.found(table, prepared.wrapped) == []
    assert [name for name in tables.names(table) if name.startswith((".pme-", "..pme-"))] == []
    external = (way.moved or way.written) == "external"
    assert {tables.material(file).exists() for file in data_files(table)} == {external}
