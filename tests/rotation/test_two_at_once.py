"""Of two different rotations of a table at once, the second fails and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support import file_systems, tables
from tests.support.canary import data_files
from tests.support.expect import refused, untouched
from tests.support.file_systems import STOPPING
from tests.support.frames import call
from tests.support.kms.clients import Remembering, Waiting, during
from tests.support.tables import NEW, OLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.rotation.conftest import Made

MARK = ".pme-rotating-"
# The table is marked, and one file written next to another.
ON_THE_WAY = 4


def marks(table: Made) -> list[str]:
    return [name for name in tables.names(table.path) if MARK in name]


def test_a_rotation_refuses_to_run_next_to_one_that_does_something_else(
    spark: SparkSession, made: Callable[..., Made]
) -> None:
    # It has marked the table before it wraps a key.
    table, client = made("country", key_material="external"), Waiting(unwraps=False)
    slow: dict[str, Any] = {"kms": pme.PythonKms(client), "master_keys": NEW, "key_material": "internal"}

    def quick() -> None:
        with untouched(table.path):
            for other in ({"key_material": "external"}, {"master_keys": {"pii": "pii-3"}}):
                given: dict[str, Any] = {"master_keys": NEW} | other
                with refused("PME_UNSUPPORTED", table.path, MARK, "has not ended"):
                    pme.rotate(spark, table.path, kms=table.kms, **given)
            # A part of the table counts as the same table.
            part = call("pme_rotate", f"{table.path}/country=de", options=table.kms.options())
            with refused("PME_UNSUPPORTED", MARK):
                spark.sql(f"SELECT * FROM {part}").collect()
            pme.rotate(spark, table.path, kms=table.kms, dry_run=True)

    assert during(client, lambda: pme.rotate(spark, table.path, **slow), quick) == []
    assert marks(table) == []
    assert not [path for path in data_files(table.path) if tables.material(path).exists()]
    assert tables.rows(spark, table.path, pme.PythonKms(Remembering(lacks=OLD))) == table.rows


def test_a_stopped_rotation_must_be_finished_before_another_begins(
    spark: SparkSession, made: Callable[..., Made], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file_systems.load(spark, tmp_path_factory)
    table = made()
    keys: dict[str, Any] = {"kms": table.kms, "master_keys": NEW}
    with file_systems.stopping(spark, ON_THE_WAY), pytest.raises((pme.PmeError, Exception), match="stopped"):
        pme.rotate(spark, table.path, **keys, options=STOPPING)
    [mark] = marks(table)

    with untouched(table.path), refused("PME_UNSUPPORTED", mark):
        pme.rotate(spark, table.path, **keys, key_material="external")

    pme.rotate(spark, table.path, **keys)
    assert marks(table) == []
    pme.rotate(spark, table.path, **keys, key_material="external")
    assert tables.rows(spark, table.path, pme.PythonKms(Remembering(lacks=OLD))) == table.rows


def test_a_rotation_that_fails_leaves_no_mark(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    with untouched(table.path), pytest.raises(pme.KeyNotFoundError):
        pme.rotate(spark, table.path, kms=pme.PythonKms(Remembering(lacks=["pii-2"])), master_keys=NEW)
