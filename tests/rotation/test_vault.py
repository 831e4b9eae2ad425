"""Keys in Vault go under a new version of their transit key: Vault makes it of the old one, by ``rewrap``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms import access
from tests.kms.access import KEYS, ROTATING, by_token
from tests.policy.expect import save, untouched
from tests.rotation import tables
from tests.support.frames import people

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.kms.access import Transit
    from tests.kms.transit_server import TransitServer


def test_vault_rewraps_keys_under_its_newest_version(
    spark: SparkSession, vault: Transit, tmp_path: Path, target: str
) -> None:
    turning = {key: f"turning-{key}" for key in KEYS}
    vault.create(*turning.values())
    kms = by_token(vault, tmp_path, turning.values(), ROTATING)
    columns = {turning[key]: columns for key, columns in access.COLUMNS.items()}
    save(people(spark), target, pme.Encryption(kms=kms, footer_key=turning["footer"], column_keys=columns).options())
    before = tables.pages(target)
    for name in turning.values():
        vault.rotate(name)

    report = pme.rotate(spark, target, kms=kms)

    assert report.counts == {"rotated": len(before)}
    assert tables.pages(target) == before
    assert tables.found(target, ["vault:v1:"]) == []
    for name in turning.values():
        vault.retire(name, before=2)
    assert len(access.rows(access.read(spark, target, by_token(vault, tmp_path, turning.values()).options()))) == 20


def test_keys_go_from_a_keystore_to_vault(
    spark: SparkSession, vault: Transit, keys: pme.Keystore, tmp_path: Path, target: str
) -> None:
    encryption = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["ssn"]})
    save(people(spark), target, encryption.options())
    vault.create("footer-in-vault", "pii-in-vault")
    kms = by_token(vault, tmp_path, ["footer-in-vault", "pii-in-vault"])
    mapping = {"footer": "footer-in-vault", "pii": "pii-in-vault"}
    pme.rotate(spark, target, kms=keys, new_kms=kms, master_keys=mapping)
    assert len(access.rows(access.read(spark, target, kms.options()))) == 20
    # Beginning again finds all of it done.
    again = pme.rotate(spark, target, kms=keys, new_kms=kms, master_keys=mapping)
    assert set(again.counts) == {"unchanged"}


def test_who_may_read_and_write_may_not_rewrap(
    spark: SparkSession, server: TransitServer, tmp_path: Path, target: str
) -> None:
    kms = by_token(server, tmp_path)
    save(people(spark), target, access.encryption(kms).options())
    with pytest.raises(pme.KeyDeniedError), untouched(target):
        pme.rotate(spark, target, kms=kms)
