"""Keys that somebody put into wrong places: nothing makes the KMS wrap them again."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from cryptography.exceptions import InvalidTag

import pme_parquet as pme
from tests.support import tables
from tests.support.canary import data_files
from tests.support.expect import assert_no_secret, untouched
from tests.support.files import bend, thrift
from tests.support.tables import NEW, OLD, Remembering

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.rotation.conftest import Made

SECRET = bytes(range(16))


def plant(path: Path, reference: str, key: str, planted: str, field: str) -> None:
    """Put a wrapped key into the place of another one in the file's key material."""
    beside = tables.material(path)
    entries = json.loads(beside.read_text())
    entry = json.loads(entries[reference])
    entry |= {"masterKeyID": key, field: planted}
    bend.replace(beside, json.dumps(entries | {reference: json.dumps(entry)}).encode())


@pytest.mark.parametrize("double", [True, False], ids=["double wrapping", "single wrapping"])
@pytest.mark.parametrize("reference", ["footerKey", "columnKey0"])
def test_a_planted_wrapped_key_is_not_rewrapped(
    spark: SparkSession, made: Callable[..., Made], reference: str, *, double: bool
) -> None:
    table = made(key_material="external", double_wrapping=double)
    [victim, other] = data_files(table.path)
    planted = Remembering().wrap_key(SECRET, "pay")
    plant(victim, reference, "pay", planted, "wrappedKEK" if double else "wrappedDEK")
    before = victim.read_bytes(), tables.material(victim).read_bytes()

    with pytest.raises(pme.NotAuthenticError, match=victim.name) as caught:
        pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)

    assert_no_secret(str(caught.value), (planted,))
    assert caught.value.report.counts == {"rotated": 1, "failed": 1}
    assert (victim.read_bytes(), tables.material(victim).read_bytes()) == before
    made_since = table.client.wrapped[len(table.wrapped) :]
    assert SECRET not in [key for one in made_since for key in _unwrapped(table.client, one)]
    assert tables.rows(spark, str(other), pme.PythonKms(Remembering(lacks=OLD)))


def _unwrapped(client: Remembering, wrapped: str) -> list[bytes]:
    found = []
    for key in NEW.values():
        with suppress(InvalidTag):
            found.append(client.unwrap_key(wrapped, key))
    return found


def test_a_planted_footer_key_is_not_rewrapped(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    [victim, _] = data_files(table.path)
    planted = Remembering().wrap_key(SECRET, "pay")

    def change(metadata: thrift.Struct) -> thrift.Struct:
        entry = json.loads(thrift.get(metadata, bend.KEY_METADATA)) | {"wrappedKEK": planted, "masterKeyID": "pay"}
        return thrift.put(metadata, bend.KEY_METADATA, thrift.BINARY, json.dumps(entry).encode())

    bend.crypto_metadata(victim, change)
    with pytest.raises(pme.NotAuthenticError, match=victim.name) as caught:
        pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)
    assert caught.value.report.counts == {"rotated": 1, "failed": 1}


def test_an_unused_entry_is_removed(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made(key_material="external")
    [victim, _] = data_files(table.path)
    beside = tables.material(victim)
    entries = json.loads(beside.read_text())
    planted = Remembering().wrap_key(SECRET, "pay")
    entry = json.loads(entries["columnKey0"]) | {"wrappedKEK": planted, "masterKeyID": "pay"}
    bend.replace(beside, json.dumps(entries | {"columnKey77": json.dumps(entry)}).encode())
    pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)
    assert set(json.loads(beside.read_text())) == set(entries)
    assert tables.rows(spark, table.path, pme.PythonKms(Remembering(lacks=OLD))) == table.rows


def test_an_altered_footer_fails_its_own_file_only(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made(plaintext_footer=True)
    [victim, _] = data_files(table.path)
    bend.flip(victim, -bend.TAIL_BYTES - 1)
    before = victim.read_bytes()
    with pytest.raises(pme.NotAuthenticError, match=victim.name) as caught:
        pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)
    assert caught.value.report.counts == {"rotated": 1, "failed": 1}
    assert victim.read_bytes() == before


def test_a_footer_without_its_external_key_material_fails_its_file(
    spark: SparkSession, made: Callable[..., Made]
) -> None:
    table = made(key_material="external")
    for victim in data_files(table.path):
        tables.material(victim).unlink()
    with pytest.raises(pme.KeyMetadataError), untouched(table.path):
        pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)
