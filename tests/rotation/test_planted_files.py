"""Somebody who can write to a table's directory puts links where a rotation keeps files: nothing elsewhere changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support import tables
from tests.support.canary import data_files
from tests.support.expect import refused, snapshot, untouched
from tests.support.tables import NEW, Remembering

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.rotation.conftest import Made

PRECIOUS = "what nobody may touch"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    path = tmp_path / "elsewhere"
    path.mkdir()
    (path / "file").write_text(PRECIOUS)
    return path


@pytest.fixture
def mark(spark: SparkSession, made: Callable[..., Made], tmp_path: Path) -> Path:
    """Return the path of the mark of a rotation of the table: the same arguments give the same name."""
    table = made()
    seen: list[str] = []

    class Looking(Remembering):
        def wrap_key(self, key: bytes, master_key_id: str) -> str:
            seen.extend(path.name for path in Path(table.path).glob(".pme-rotating-*"))
            return super().wrap_key(key, master_key_id)

    pme.rotate(spark, table.path, kms=pme.PythonKms(Looking()), master_keys={"pii": "pii-1"})
    pme.rotate(spark, table.path, kms=pme.PythonKms(Looking()), master_keys={"pii-1": "pii"})
    return Path(table.path, seen[0])


@pytest.mark.parametrize("plant", ["link", "dangling", "directory", "content"])
def test_a_mark_that_somebody_planted_is_not_written_to(
    spark: SparkSession, mark: Path, elsewhere: Path, plant: str
) -> None:
    if plant == "directory":
        mark.mkdir()
    elif plant == "content":
        mark.write_text(PRECIOUS)
    else:
        mark.symlink_to(elsewhere / ("file" if plant == "link" else "not-there"))
    kms = pme.PythonKms(Remembering())
    with untouched(elsewhere), untouched(mark.parent), refused("PME_UNSUPPORTED", mark.name, "put it there"):
        pme.rotate(spark, mark.parent, kms=kms, master_keys={"pii": "pii-1"})


def test_files_behind_a_linked_directory_are_not_rotated(
    spark: SparkSession, made: Callable[..., Made], tmp_path: Path
) -> None:
    table = made("country")
    other = tmp_path / "other"
    Path(table.path, "country=de").rename(other)
    Path(table.path, "country=de").symlink_to(other)
    before = snapshot(other)
    for dry_run in (False, True):
        with untouched(table.path), refused("PME_UNSUPPORTED", "country=de", "symbolic link"):
            pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW, dry_run=dry_run)
    assert snapshot(other) == before


def test_a_table_that_a_link_names_is_rotated(spark: SparkSession, made: Callable[..., Made], tmp_path: Path) -> None:
    table = made("country")
    link = tmp_path / "link"
    link.symlink_to(table.path)
    one = link / data_files(table.path)[0].relative_to(table.path)
    assert pme.rotate(spark, one, kms=table.kms, master_keys=NEW).counts == {"rotated": 1}
    pme.rotate(spark, link, kms=table.kms, master_keys=NEW)
    assert tables.rows(spark, table.path, pme.PythonKms(Remembering(lacks=tables.OLD))) == table.rows
