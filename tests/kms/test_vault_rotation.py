"""Keys in Vault get a new version of their transit key: Vault's ``rewrap`` makes it from the old one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.kms import access
from tests.kms.access import KEYS, ROTATING, by_token
from tests.support import encrypted_orc as orc
from tests.support import tables
from tests.support.expect import save, untouched
from tests.support.frames import people

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.kms.access import Transit
    from tests.kms.transit_server import TransitServer

# The requests of a rotation, per master key: for the old keys, for the new ones, and for the check that they open.
ROUNDS = ("decrypt", "rewrap", "decrypt")


def add(spark: SparkSession, target: str, files: int, encryption: pme.Encryption) -> None:
    """Add files to a table, each by a write job of its own and therefore with its own wrapped keys."""
    for _ in range(files):
        writer = people(spark).coalesce(1).write.format("pme-parquet").options(**encryption.options())
        writer.mode("append").save(target)


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
    # A token for reads and writes may not rewrap.
    with pytest.raises(pme.KeyDeniedError), untouched(target):
        pme.rotate(spark, target, kms=by_token(vault, tmp_path, turning.values()))

    report = pme.rotate(spark, target, kms=kms)

    assert report.counts == {"rotated": len(before)}
    assert tables.pages(target) == before
    assert tables.found(target, ["vault:v1:"]) == []
    for name in turning.values():
        vault.retire(name, before=2)
    assert len(access.rows(access.read(spark, target, by_token(vault, tmp_path, turning.values()).options()))) == 20


def test_an_orc_table_gets_the_newest_version_of_each_key(
    spark: SparkSession, vault: Transit, tmp_path: Path, target: str
) -> None:
    turning = {key: f"orc-turning-{key}" for key in access.COLUMNS}
    vault.create(*turning.values())
    kms = by_token(vault, tmp_path, turning.values(), ROTATING)
    columns = {turning[key]: columns for key, columns in access.COLUMNS.items()}
    frame = people(spark)
    orc.save(frame, target, kms.options(), columnKeys=orc.text(columns), compression="none")
    files = orc.files(target)
    assert tables.found(target, ["vault:v1:"])
    for name in turning.values():
        vault.rotate(name)
    assert pme.rotate(spark, target, kms=kms, dry_run=True).counts == {"rotated": len(files)}
    assert tables.found(target, ["vault:v2:"]) == []

    report = pme.rotate(spark, target, kms=kms)

    assert report.counts == {"rotated": len(files)}
    for name in turning.values():
        vault.retire(name, before=2)
    reader = by_token(vault, tmp_path, turning.values()).options()
    assert orc.rows(orc.read(spark, target, reader)) == orc.rows(frame)
    assert tables.found(target, ["vault:v1:"]) == []
    assert {one.version for one in pme.key_usage(spark, target, kms=kms).collect() if one.kind == "column"} == {2}
    # Another name: the footer of each file states it.
    name = turning[access.PII]
    vault.create("orc-renamed")
    both = by_token(vault, tmp_path, [*turning.values(), "orc-renamed"])
    assert pme.rotate(spark, target, kms=both, master_keys={name: "orc-renamed"}).counts == {"rotated": len(files)}
    assert {one.master_key for one in pme.inspect(files[0]).files[0].column_keys} == {
        "orc-renamed",
        turning[access.PAY],
    }


def test_keys_move_from_a_keystore_to_vault(
    spark: SparkSession, vault: Transit, keys: pme.Keystore, tmp_path: Path, target: str
) -> None:
    encryption = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["ssn"]})
    save(people(spark), target, encryption.options())
    vault.create("footer-in-vault", "pii-in-vault")
    kms = by_token(vault, tmp_path, ["footer-in-vault", "pii-in-vault"])
    mapping = {"footer": "footer-in-vault", "pii": "pii-in-vault"}
    pme.rotate(spark, target, kms=keys, new_kms=kms, master_keys=mapping)
    assert len(access.rows(access.read(spark, target, kms.options()))) == 20
    # A second run finds all of it done.
    again = pme.rotate(spark, target, kms=keys, new_kms=kms, master_keys=mapping)
    assert set(again.counts) == {"unchanged"}


@pytest.mark.rows(2)
@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("material", ["internal", "external"])
@pytest.mark.parametrize("files", [6, 2, 1])
def test_requests_do_not_grow_with_the_files(
    spark: SparkSession, server: TransitServer, tmp_path: Path, target: str, files: int, material: Any, *, double: bool
) -> None:
    kms = by_token(server, tmp_path, KEYS, ROTATING)
    add(spark, target, files, access.encryption(kms, key_material=material, double_wrapping=double))
    before = tables.pages(target)
    server.calls.clear()

    report = pme.rotate(spark, target, kms=kms)

    assert sorted(server.paths()) == sorted(f"transit/{call}/{key}" for call in ROUNDS for key in KEYS)
    assert [len(call.wrapped) for call in server.calls] == [files] * len(server.calls)
    assert report.counts == {"rotated": files}
    assert tables.pages(target) == before
    assert len(access.rows(access.read(spark, target, kms.options()))) == 20 * files


def test_versions_of_vault_s_keys_are_listed(
    spark: SparkSession, server: TransitServer, tmp_path: Path, target: str
) -> None:
    kms = by_token(server, tmp_path)
    encryption = access.encryption(kms, plaintext_footer=True)
    save(people(spark).coalesce(1), f"{target}/a=1", encryption.options())
    server.rotate("pii")
    save(people(spark).coalesce(1), f"{target}/a=2", encryption.options())
    rows = pme.key_usage(spark, target, kms=kms).where("master_key = 'pii'").collect()
    assert sorted((row.version, row.files) for row in rows) == [(1, 1), (2, 1)]
    assert tables.found(target, ["vault:v1:", "vault:v2:"]) == ["vault:v1:", "vault:v2:"]
