"""Keys get other master keys: readers find the same rows, and nothing of the old keys is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support import tables
from tests.support.canary import data_files
from tests.support.expect import refused, save, untouched
from tests.support.frames import people
from tests.support.tables import NEW, OLD, Remembering

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.rotation.conftest import Made

MODES: dict[str, dict[str, Any]] = {
    "internal": {},
    "external": {"key_material": "external"},
    "plaintext footer": {"plaintext_footer": True},
    "external, plaintext footer": {"key_material": "external", "plaintext_footer": True},
}
FEW = [{"footer": "footer-2"}, {"pii": "pii-2"}]


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_all_keys_are_wrapped_with_new_master_keys(
    spark: SparkSession, made: Callable[..., Made], mode: dict[str, Any]
) -> None:
    table = made("country", **mode)

    report = pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)

    assert report.counts == {"rotated": len(table.pages)}
    assert {(*file.master_keys,) for file in report.files} == {(*sorted(NEW.values()),)}
    assert tables.pages(table.path) == table.pages
    assert tables.found(table.path, table.wrapped) == []
    assert tables.rows(spark, table.path, pme.PythonKms(Remembering(lacks=OLD))) == table.rows


def test_the_kms_is_called_once_for_each_distinct_key(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made("country")
    pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)
    # The new wrapped key is unwrapped too, to check it.
    assert table.client.count("unwrap") == dict.fromkeys([*OLD, *NEW.values()], 1)
    assert table.client.count("wrap") == dict.fromkeys(NEW.values(), 1)


def test_each_single_wrapped_key_is_rewrapped(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made(double_wrapping=False)
    keys = len(table.pages) * (1 + len(tables.COLUMNS["pii"]) + len(tables.COLUMNS["pay"]))
    report = pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)
    assert sum(file.rewrapped for file in report.files) == keys
    assert sum(table.client.count("wrap").values()) == keys
    assert sum(table.client.count("unwrap").values()) == 2 * keys
    assert tables.rows(spark, table.path, pme.PythonKms(Remembering(lacks=OLD))) == table.rows


@pytest.mark.parametrize(("mode", "mapping"), list(zip(MODES.values(), FEW * 2, strict=True)), ids=list(MODES))
def test_keys_under_other_master_keys_are_not_changed(
    spark: SparkSession, made: Callable[..., Made], mode: dict[str, Any], mapping: dict[str, str]
) -> None:
    table = made(**mode)
    report = pme.rotate(spark, table.path, kms=table.kms, master_keys=mapping)
    assert {(*file.left,) for file in report.files} == {tuple(sorted(set(OLD) - set(mapping)))}
    assert f"unchanged: keys under {', '.join(report.files[0].left)}" in str(report)
    assert tables.rows(spark, table.path, pme.PythonKms(Remembering(lacks=mapping))) == table.rows


def test_unchanged_keys_need_no_kms_except_the_footer_key(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    denied = pme.PythonKms(Remembering(lacks=["pii"]))
    pme.rotate(spark, table.path, kms=denied, master_keys={"pay": "pay-2"})
    assert tables.rows(spark, table.path, pme.PythonKms(Remembering(lacks=["pay"]))) == table.rows


def test_finished_work_is_not_repeated(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)
    table.client.calls.clear()
    with untouched(table.path):
        report = pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)
    assert report.counts == {"unchanged": len(table.pages)}
    assert table.client.count("wrap") == {}


def test_without_names_keys_are_rewrapped_with_their_own_master_keys(
    spark: SparkSession, made: Callable[..., Made]
) -> None:
    table = made()
    pme.rotate(spark, table.path, kms=table.kms)
    assert tables.found(table.path, table.wrapped) == []
    assert table.client.count("wrap") == dict.fromkeys(OLD, 1)
    assert tables.rows(spark, table.path, table.kms) == table.rows


def test_a_dry_run_says_what_would_be_done_and_does_nothing(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made("country")
    with untouched(table.path):
        report = pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW, dry_run=True)
    assert report.counts == {"rotated": len(table.pages)}
    assert "dry run" in str(report)
    assert table.client.count("wrap") == {}


def test_keys_move_to_another_kms(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    other = pme.PythonKms(Remembering(realm="elsewhere"))
    pme.rotate(spark, table.path, kms=table.kms, new_kms=other)
    assert tables.rows(spark, table.path, other) == table.rows
    with refused("PME_KMS_UNAVAILABLE"):
        tables.rows(spark, table.path, table.kms)


def test_an_interrupted_move_to_another_kms_continues(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made("country")
    other = pme.PythonKms(Remembering(realm="elsewhere"))
    [first, *_] = data_files(table.path)
    pme.rotate(spark, first, kms=table.kms, new_kms=other)
    report = pme.rotate(spark, table.path, kms=table.kms, new_kms=other)
    assert report.counts == {"unchanged": 1, "rotated": len(table.pages) - 1}
    assert tables.rows(spark, table.path, other) == table.rows


def test_a_table_with_half_of_its_keys_in_another_kms_can_continue(
    spark: SparkSession, made: Callable[..., Made]
) -> None:
    table = made()
    other = pme.PythonKms(Remembering(realm="elsewhere"))
    pme.rotate(spark, table.path, kms=table.kms, new_kms=other, master_keys={"pii": "pii", "pay": "pay"})
    pme.rotate(spark, table.path, kms=table.kms, new_kms=other)
    report = pme.rotate(spark, table.path, kms=table.kms, new_kms=other, key_material="external")
    assert report.counts == {"rotated": len(table.pages)}
    assert tables.rows(spark, table.path, other) == table.rows
    assert tables.pages(table.path) == table.pages


def test_a_key_that_has_the_new_name_already_moves_too(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    other = pme.PythonKms(Remembering(realm="elsewhere"))
    pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)
    pme.rotate(spark, table.path, kms=table.kms, new_kms=other, master_keys=NEW)
    assert tables.rows(spark, table.path, other) == table.rows


def test_files_without_wrapped_keys_are_reported_and_not_changed(
    spark: SparkSession, keys: pme.Keystore, enc: pme.Encryption, target: str
) -> None:
    save(people(spark), f"{target}/a=1", enc.options())
    people(spark).coalesce(1).write.parquet(f"{target}/a=2")
    save(people(spark).coalesce(1), f"{target}/a=3", enc.options() | {"keyManagement": "direct"})
    left = [*Path(target, "a=2").iterdir(), *Path(target, "a=3").iterdir()]
    before = {path: path.read_bytes() for path in left}

    report = pme.rotate(spark, target, kms=keys, master_keys={"footer": "other"})

    assert report.counts == {"rotated": 2, "skipped": 2}
    assert "it is not encrypted" in str(report)
    assert "it has no wrapped key" in str(report)
    assert {path: path.read_bytes() for path in left} == before


def test_an_aad_prefix_that_files_do_not_store_is_an_option(spark: SparkSession, target: str) -> None:
    client = Remembering()
    kms = pme.PythonKms(client)
    tables.write(people(spark), target, kms, aad_prefix="orders", store_aad_prefix=False)
    with refused("PME_AAD_PREFIX"), untouched(target):
        pme.rotate(spark, target, kms=kms, master_keys=NEW)
    pme.rotate(spark, target, kms=kms, master_keys=NEW, options={"aadPrefix": "orders"})
    assert len(tables.rows(spark, target, pme.PythonKms(Remembering(lacks=OLD)), aadPrefix="orders")) > 0


def test_files_without_rows_lose_their_old_keys_too(spark: SparkSession, target: str) -> None:
    client = Remembering()
    kms = pme.PythonKms(client)
    tables.write(people(spark).where("id < 0").coalesce(1), target, kms, key_material="external")
    assert tables.found(target, client.wrapped) == client.wrapped
    wrapped = list(client.wrapped)
    pme.rotate(spark, target, kms=kms, master_keys=NEW)
    assert tables.found(target, wrapped) == []
    assert tables.rows(spark, target, pme.PythonKms(Remembering(lacks=OLD))) == []


def test_a_chain_of_master_keys_is_refused(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    with refused("PME_BAD_OPTION", "'footer'", "'pii'"), untouched(table.path):
        pme.rotate(spark, table.path, kms=table.kms, master_keys={"footer": "pii", "pii": "pii-2"})


def test_over_spark_connect_it_is_refused() -> None:
    class ConnectSession:
        """Has no JVM."""

    with refused("PME_UNSUPPORTED", "Spark Connect"):
        pme.rotate(ConnectSession(), "table", kms=pme.KmsClass("a.B"))  # type: ignore[arg-type]
