"""What a rotation writes shows nothing protected: neither when it is finished, nor when it is stopped before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support import file_systems, tables
from tests.support.canary import data_files, files_under, find_canaries
from tests.support.file_systems import STOPPING
from tests.support.files.anatomy import Anatomy, data_key, data_keys_of
from tests.support.tables import NEW

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.rotation.conftest import Made

CANARIES = ["name-", "ssn-", "street-", "tag-"]
# The table is marked, and one file is written next to another, but not yet moved into its place.
ON_THE_WAY = 4
WAYS = [("internal", None), ("external", None), ("internal", "external"), ("external", "internal")]


def data_keys(path: Path) -> set[bytes]:
    """Return the data keys of a file, whether its key material is in it or beside it."""
    beside = tables.material(path)
    entries = json.loads(beside.read_text()) if beside.exists() else {}

    def key_of(metadata: bytes) -> bytes:
        told = json.loads(metadata)
        return data_key(metadata if told["internalStorage"] else entries[told["keyReference"]].encode())

    return data_keys_of(Anatomy(path.read_bytes(), key_of))


def assert_nothing_is_readable(table: Made, keys: set[bytes]) -> None:
    assert find_canaries(table.path, CANARIES) == []
    contents = {path: path.read_bytes() for path in files_under(table.path)}
    assert [path for path, content in contents.items() for key in keys if key in content] == []


@pytest.mark.parametrize(("written", "moved"), WAYS)
def test_no_value_and_no_key_is_readable(
    spark: SparkSession,
    made: Callable[..., Made],
    tmp_path_factory: pytest.TempPathFactory,
    written: str,
    moved: str | None,
) -> None:
    file_systems.load(spark, tmp_path_factory)
    table = made(key_material=written)
    keys = {key for path in data_files(table.path) for key in data_keys(path)} | set(table.client.keys)
    assert len(keys) > len(table.wrapped)
    before = tables.names(table.path)

    def rotate() -> None:
        pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW, key_material=moved, options=STOPPING)  # type: ignore[arg-type]

    with file_systems.stopping(spark, ON_THE_WAY), pytest.raises(pme.PmeError):
        rotate()
    assert tables.names(table.path) - before
    assert_nothing_is_readable(table, keys)

    with file_systems.stopping(spark, file_systems.NEVER):
        rotate()
    assert_nothing_is_readable(table, keys | set(table.client.keys))
