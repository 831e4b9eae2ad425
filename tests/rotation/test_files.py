"""How rotation replaces files: in an object store, on an unknown file system, and while others read."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support import file_systems, tables
from tests.support.canary import files_under
from tests.support.expect import refused, untouched
from tests.support.frames import people
from tests.support.kms.clients import Remembering
from tests.support.tables import NEW, OLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.rotation.conftest import Made


@pytest.fixture
def loaded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    file_systems.load(spark, tmp_path_factory)


@pytest.mark.parametrize("material", ["internal", "external"])
def test_files_in_an_object_store_are_overwritten_directly(
    spark: SparkSession, made: Callable[..., Made], loaded: None, material: str
) -> None:
    table = made(key_material=material)
    with refused("PME_UNSUPPORTED", "odd", "hdfs"), untouched(table.path):
        pme.rotate(spark, f"odd://{table.path}", kms=table.kms, master_keys=NEW, options=file_systems.store("odd"))
    report = pme.rotate(spark, f"s3a://{table.path}", kms=table.kms, master_keys=NEW, options=file_systems.store("s3a"))
    assert report.counts == {"rotated": len(table.pages)}
    for file in files_under(table.path):
        if file.name.endswith(".crc"):
            file.unlink()  # the store keeps none
    assert tables.rows(spark, table.path, pme.PythonKms(Remembering(lacks=OLD))) == table.rows
    assert tables.pages(table.path) == table.pages


def test_a_failed_upload_leaves_the_old_file(spark: SparkSession, made: Callable[..., Made], loaded: None) -> None:
    table = made()
    system = spark._jvm.java.lang.System  # type: ignore[union-attr]
    system.setProperty("store.fails", "true")
    try:
        with pytest.raises(pme.PmeError, match=r"^s3a:.*parquet: .*the upload broke"), untouched(table.path):
            pme.rotate(spark, f"s3a://{table.path}", kms=table.kms, master_keys=NEW, options=file_systems.store("s3a"))
    finally:
        system.clearProperty("store.fails")


def test_readers_meanwhile_see_the_rows_or_fail_cleanly(spark: SparkSession, target: str) -> None:
    client = Remembering()
    # Each use of an object replaces the secret of the use before the last, which may still run.
    kms, of_reader = pme.PythonKms(client), pme.PythonKms(client)
    tables.write(people(spark, count=200).repartition(4), target, kms)
    expected = tables.rows(spark, target, kms)
    stop, seen, wrong = threading.Event(), [0], []

    def read() -> None:
        while not stop.is_set():
            try:
                found = tables.rows(spark, target, of_reader)
            except pme.PmeError:
                continue
            seen[0] += 1
            if found != expected:
                wrong.append(found)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _ in range(3):
            pme.rotate(spark, target, kms=kms)
    finally:
        stop.set()
        reader.join()
    assert wrong == []
    assert seen[0] > 0
