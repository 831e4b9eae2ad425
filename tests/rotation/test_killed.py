"""A rotation that is killed, wherever that is: every file can be read, and running it again finishes the rest.

Eighty places of rotations, which `make test-all` tries; other runs try a fifth.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import pytest

import pme_parquet as pme
from tests.rotation import file_systems, tables
from tests.rotation.file_systems import NEVER, STOPPING
from tests.rotation.tables import NEW, OLD, Remembering
from tests.support.canary import data_files
from tests.support.frames import people

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

PLACES = 20
WAYS: dict[str, tuple[str, str | None]] = {
    "internal": ("internal", None),
    "external": ("external", None),
    "to external": ("internal", "external"),
    "to internal": ("external", "internal"),
}


class Prepared(NamedTuple):
    """A table that is copied for each test, and how many changes its rotation makes to the disk."""

    path: Path
    kms: pme.PythonKms
    rows: list[str]
    wrapped: list[str]
    changes: int


@pytest.fixture(scope="module", params=list(WAYS.values()), ids=list(WAYS))
def way(request: pytest.FixtureRequest) -> tuple[str, str | None]:
    chosen: tuple[str, str | None] = request.param
    return chosen


@pytest.fixture(scope="module")
def prepared(spark: SparkSession, way: tuple[str, str | None], tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    file_systems.load(spark, tmp_path_factory)
    path = tmp_path_factory.mktemp("killed") / "table"
    client = Remembering()
    kms = pme.PythonKms(client)
    tables.write(people(spark).repartition(4), str(path), kms, key_material=way[0])
    rows = tables.rows(spark, str(path), kms)
    wrapped = list(client.wrapped)
    copy = shutil.copytree(path, path.with_name("counted"))
    with file_systems.stopping(spark, NEVER):
        rotate(spark, copy, kms, way)
        changes = NEVER - file_systems.changes_left(spark)
    return Prepared(path, kms, rows, wrapped, changes)


def rotate(spark: SparkSession, path: Path, kms: pme.PythonKms, way: tuple[str, str | None]) -> pme.RotationReport:
    settings: dict[str, Any] = {"key_material": way[1], "options": STOPPING}
    return pme.rotate(spark, path, kms=kms, master_keys=NEW, **settings)


@pytest.mark.parametrize("number", range(PLACES))
def test_a_killed_rotation_leaves_readable_files_and_goes_on(
    spark: SparkSession, prepared: Prepared, way: tuple[str, str | None], tmp_path: Path, number: int
) -> None:
    after = crc32(f"{way} {number}".encode()) % prepared.changes
    table = shutil.copytree(prepared.path, tmp_path / "table")
    pages = tables.pages(table)
    with file_systems.stopping(spark, after), pytest.raises((pme.PmeError, Exception), match="stopped"):
        rotate(spark, table, prepared.kms, way)
    assert tables.rows(spark, str(table), prepared.kms) == prepared.rows, f"killed after {after} changes"

    with file_systems.stopping(spark, NEVER):
        rotate(spark, table, prepared.kms, way)

    assert tables.rows(spark, str(table), pme.PythonKms(Remembering(lacks=OLD))) == prepared.rows
    assert tables.pages(table) == pages
    assert tables.found(table, prepared.wrapped) == []
    assert [name for name in tables.names(table) if name.startswith((".pme-", "..pme-"))] == []
    external = (way[1] or way[0]) == "external"
    assert {tables.material(file).exists() for file in data_files(table)} == {external}
