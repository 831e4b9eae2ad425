"""How rotation replaces files: in one step, with their permissions, and not at all if it cannot guarantee that."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support import tables
from tests.support.canary import data_files, files_under
from tests.support.expect import refused, untouched
from tests.support.frames import people
from tests.support.storage import file_systems
from tests.support.tables import NEW, OLD, Remembering

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.rotation.conftest import Made

MODE_BITS = 0o777


@pytest.fixture
def loaded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    file_systems.load(spark, tmp_path_factory)


@pytest.mark.parametrize("material", ["internal", "external"])
def test_files_keep_their_permissions(spark: SparkSession, made: Callable[..., Made], material: str) -> None:
    table = made(key_material=material)
    for file in files_under(table.path):
        file.chmod(0o640)
    pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)
    bits = {file.stat().st_mode & MODE_BITS for file in files_under(table.path) if not file.name.startswith(".")}
    assert bits == {0o640}


def test_no_checksum_of_an_old_file_is_left(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)
    data = {file.name for file in data_files(table.path)}
    assert not {f".{name}.crc" for name in data} & tables.names(table.path)


def test_leftovers_of_a_killed_rotation_are_removed(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made("country")
    left = [Path(table.path, ".pme-rotation-1"), Path(table.path, "country=de", ".pme-rotation-2")]
    for path in left:
        path.write_bytes(b"half a file")
    pme.rotate(spark, table.path, kms=table.kms, master_keys={}, dry_run=True)
    assert all(path.exists() for path in left)
    pme.rotate(spark, table.path, kms=table.kms, master_keys={})
    assert not any(path.exists() for path in left)


def test_a_file_system_without_known_guarantees_is_refused(
    spark: SparkSession, made: Callable[..., Made], loaded: None
) -> None:
    table = made()
    with refused("PME_UNSUPPORTED", "odd", "hdfs"), untouched(table.path):
        pme.rotate(spark, f"odd://{table.path}", kms=table.kms, master_keys=NEW, options=file_systems.store("odd"))


@pytest.mark.parametrize("material", ["internal", "external"])
def test_files_in_an_object_store_are_overwritten_directly(
    spark: SparkSession, made: Callable[..., Made], loaded: None, material: str
) -> None:
    table = made(key_material=material)
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


def test_a_file_written_again_after_it_was_read_is_not_changed(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    [victim, _] = data_files(table.path)

    class Meddling(Remembering):
        def wrap_key(self, key: bytes, master_key_id: str) -> str:
            os.utime(victim, (0, 0))
            return super().wrap_key(key, master_key_id)

    before = victim.read_bytes()
    with pytest.raises(pme.UnsupportedError, match="changed while this ran") as caught:
        pme.rotate(spark, table.path, kms=pme.PythonKms(Meddling()), master_keys=NEW)
    assert caught.value.report.counts == {"failed": 1, "rotated": 1}
    assert victim.name in caught.value.report.failed[0].file
    assert victim.read_bytes() == before
    assert pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW).counts == {"rotated": 1, "unchanged": 1}


def test_readers_meanwhile_see_the_rows_or_fail_cleanly(spark: SparkSession, target: str) -> None:
    kms = pme.PythonKms(Remembering())
    tables.write(people(spark, count=200).repartition(4), target, kms)
    expected = tables.rows(spark, target, kms)
    stop, seen, wrong = threading.Event(), [0], []

    def read() -> None:
        while not stop.is_set():
            try:
                found = tables.rows(spark, target, kms)
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


def test_a_frame_made_before_the_rotation_still_reads(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    frame = spark.read.format("pme-parquet").options(**table.kms.options()).load(table.path)
    pme.rotate(spark, table.path, kms=table.kms, master_keys={"footer": "a-longer-name-than-before"})
    assert sorted(repr(row.asDict(recursive=True)) for row in frame.collect()) == table.rows


@pytest.mark.parametrize(
    ("log", "remedy"),
    [
        ("_spark_metadata", "Rotate a copy"),
        ("_delta_log", "pme.delta.encrypt_table"),
        (".hoodie", "the tools of its table format"),
    ],
)
def test_files_whose_lengths_are_recorded_elsewhere_are_refused(
    spark: SparkSession, made: Callable[..., Made], log: str, remedy: str
) -> None:
    table = made("country")
    Path(table.path, log).mkdir()
    for path in (table.path, f"{table.path}/country=de"):
        with refused("PME_UNSUPPORTED", log, remedy), untouched(table.path):
            pme.rotate(spark, path, kms=table.kms, master_keys=NEW)


def test_files_of_iceberg_are_refused(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made("country")
    metadata = Path(table.path).parent / "metadata"
    metadata.mkdir()
    (metadata / "v1.metadata.json").touch()
    for path in (table.path, f"{table.path}/country=de"):
        with refused("PME_UNSUPPORTED", str(metadata)), untouched(table.path):
            pme.rotate(spark, path, kms=table.kms, master_keys=NEW)


def test_among_several_tables_those_with_recorded_lengths_are_not_changed(
    spark: SparkSession, made: Callable[..., Made], tmp_path: Path
) -> None:
    table = made()
    for name in ("plain", "delta"):
        shutil.copytree(table.path, tmp_path / "all" / name)
    (tmp_path / "all" / "delta" / "_delta_log").mkdir()
    with untouched(str(tmp_path / "all" / "delta")), pytest.raises(pme.UnsupportedError) as failed:
        pme.rotate(spark, str(tmp_path / "all"), kms=table.kms, master_keys=NEW)
    report = failed.value.report
    assert report
    done = {Path(file.file).parent.name: file.status for file in report.files}
    assert done == {"plain": "rotated", "delta": "failed"}


def test_their_external_key_material_is_rotated(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made(key_material="external")
    Path(table.path, "_delta_log").mkdir()
    before = {file: file.read_bytes() for file in data_files(table.path)}
    pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)
    assert {file: file.read_bytes() for file in data_files(table.path)} == before
    with refused("PME_UNSUPPORTED"):
        pme.rotate(spark, table.path, kms=table.kms, master_keys={}, key_material="internal")
