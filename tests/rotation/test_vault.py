"""Keys in Vault go under a new version of their transit key: Vault makes it of the old one, by ``rewrap``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.kms import access
from tests.kms.transit_server import TransitServer
from tests.policy.expect import save
from tests.rotation import tables
from tests.support.frames import people

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_vault_rewraps_keys_under_its_newest_version(spark: SparkSession, tmp_path: Path, target: str) -> None:
    with TransitServer() as server:
        server.create(*access.KEYS)
        kms = access.by_token(server, tmp_path)
        save(people(spark), target, access.encryption(kms, key_material="external").options())
        before = tables.pages(target)
        for key in access.KEYS:
            server.rotate(key)
        written = len(server.calls)

        report = pme.rotate(spark, target, kms=kms)

        asked = [path.rpartition("/")[0] for path in server.paths()[written:]]
        assert sorted(asked) == sorted(["transit/decrypt", "transit/rewrap", "transit/decrypt"] * len(access.KEYS))
        assert report.counts == {"rotated": len(before)}
        assert tables.pages(target) == before
        assert tables.found(target, ["vault:v1:"]) == []
        for key in access.KEYS:
            server.keys[key].min_decryption_version = 2
        assert len(access.rows(access.read(spark, target, kms.options()))) == 20


def test_keys_go_from_a_keystore_to_vault(spark: SparkSession, keys: pme.Keystore, tmp_path: Path, target: str) -> None:
    encryption = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["ssn"]})
    save(people(spark), target, encryption.options())
    with TransitServer() as server:
        server.create("footer", "pii-in-vault")
        kms = access.by_token(server, tmp_path, ["footer", "pii-in-vault"])
        mapping = {"footer": "footer", "pii": "pii-in-vault"}
        pme.rotate(spark, target, kms=keys, new_kms=kms, master_keys=mapping)
        assert len(access.rows(access.read(spark, target, kms.options()))) == 20
        # Beginning again finds all of it done.
        again = pme.rotate(spark, target, kms=keys, new_kms=kms, master_keys=mapping)
        assert set(again.counts) == {"unchanged"}
