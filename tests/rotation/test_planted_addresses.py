"""Operations call the KMS that the configuration names, and never an address that somebody planted.

Such an address is in key material or in a table's definition. The tests plant the address of a server that records
connections. Options of a call come from the caller, and may name any address.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

import pme_parquet as pme
from tests.support import tables
from tests.support.canary import data_files
from tests.support.expect import refused, save, untouched
from tests.support.files import bend, thrift
from tests.support.frames import people
from tests.support.kms import access
from tests.support.kms.bend import bend_material
from tests.support.kms.transit_server import TransitServer
from tests.support.source import FORMAT
from tests.support.sql import call
from tests.support.tables import Remembering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

CLIENT = "io.pmeparquet.kms.VaultKmsClient"
CLIENT_URL = "parquet.encryption.kms.instance.url"
CLIENT_TOKEN = "parquet.encryption.key.access.token"


@pytest.fixture
def home() -> Iterator[TransitServer]:
    """Return the Vault with the keys of the tables."""
    with TransitServer() as made:
        made.create(*access.KEYS)
        yield made


@contextmanager
def uncalled() -> Iterator[str]:
    """Return the address of a Vault, and fail if anybody connected to it."""
    with TransitServer() as planted:
        yield planted.url
        assert planted.connections == 0


def write(spark: SparkSession, target: str, kms: pme.Vault, **fields: Any) -> None:
    """Write a table of one file."""
    save(people(spark).coalesce(1), target, access.encryption(kms, **fields).options())


def of_session(options: dict[str, str]) -> dict[str, str]:
    return {f"spark.datasource.{FORMAT}.{name}": value for name, value in options.items()}


# ---- in key material


def beside(target: str, planted: dict[str, str]) -> None:
    """Alter the material beside the table's file, as anyone can who can write files."""
    for master_key in (None, *access.COLUMNS):
        bend_material(target, planted, master_key)


def in_footer(target: str, planted: dict[str, str]) -> None:
    """Alter the readable part before an encrypted footer."""

    def change(metadata: thrift.Struct) -> thrift.Struct:
        entry = json.loads(thrift.get(metadata, bend.KEY_METADATA)) | planted
        return thrift.put(metadata, bend.KEY_METADATA, thrift.BINARY, json.dumps(entry).encode())

    [file] = data_files(target)
    bend.crypto_metadata(file, change)


PLACES = {"external": beside, "internal": in_footer}


def rotate(spark: SparkSession, target: str, kms: pme.Vault) -> str:
    assert pme.rotate(spark, target, kms=kms).counts == {"rotated": 1}
    return target


def rotate_to_another_kms(spark: SparkSession, target: str, kms: pme.Vault) -> str:
    assert pme.rotate(spark, target, kms=kms, new_kms=pme.PythonKms(Remembering())).counts == {"rotated": 1}
    return target


def rotate_in_sql(spark: SparkSession, target: str, kms: pme.Vault) -> str:
    rows = spark.sql(f"SELECT status FROM {call('pme_rotate', target, options=kms.options())}").collect()
    assert rows == [("rotated",)]
    return target


def rekey(spark: SparkSession, target: str, kms: pme.Vault) -> str:
    copy = f"{target}-copy"
    pme.rekey(spark, target, copy, access.encryption(kms), kms=kms)
    assert access.read(spark, copy, kms.options()).count() == 20
    return copy


def key_usage(spark: SparkSession, target: str, kms: pme.Vault) -> None:
    told = pme.key_usage(spark, target, kms=kms).collect()
    assert {(row.master_key, *row.problems) for row in told} == {(key,) for key in access.KEYS}


def key_usage_in_sql(spark: SparkSession, target: str, kms: pme.Vault) -> None:
    told = spark.sql(f"SELECT * FROM {call('pme_key_usage', target, options=kms.options())}").collect()
    assert {(row.master_key, *row.problems) for row in told} == {(key,) for key in access.KEYS}


WAYS: list[Callable[[SparkSession, str, pme.Vault], str | None]] = [
    rotate,
    rotate_to_another_kms,
    rotate_in_sql,
    rekey,
    key_usage,
    key_usage_in_sql,
]


@pytest.mark.parametrize("material", ["external", "internal"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_an_address_in_key_material_is_never_called(
    spark: SparkSession,
    home: TransitServer,
    target: str,
    tmp_path: Path,
    way: Callable[[SparkSession, str, pme.Vault], str | None],
    material: str,
) -> None:
    kms = access.by_token(home, tmp_path, operations=access.ROTATING)
    write(spark, target, kms, key_material=material)
    with uncalled() as url:
        PLACES[material](target, {"kmsInstanceURL": url, "kmsInstanceID": "planted"})
        assert tables.found(target, [url]) == [url]
        written = way(spark, target, kms)
    assert written is None or tables.found(written, [url, '"planted"']) == []


@pytest.mark.parametrize("way", [rotate, rekey, key_usage], ids=lambda way: way.__name__)
def test_an_address_in_key_material_does_not_replace_one_that_is_missing(
    spark: SparkSession, home: TransitServer, target: str, tmp_path: Path, way: Callable[..., object]
) -> None:
    # parquet-java passes the address in a file to such a client.
    kms = access.by_token(home, tmp_path, operations=access.ROTATING)
    write(spark, target, kms, key_material="external")
    token = access.secret(tmp_path, home.token(access.KEYS))
    right, without = pme.KmsClass(CLIENT, instance_url=home.url, token=token), pme.KmsClass(CLIENT, token=token)
    with uncalled() as url:
        beside(target, {"kmsInstanceURL": url, "kmsInstanceID": "planted"})
        with untouched(tmp_path), refused("PME_BAD_OPTION", "kms.vault.url"):
            way(spark, target, without)
        way(spark, target, right)


# ---- in a table's definition


def test_an_address_in_a_table_s_definition_is_never_called(
    spark: SparkSession, home: TransitServer, target: str, tmp_path: Path, conf: Conf
) -> None:
    kms = access.by_token(home, tmp_path, operations=access.ROTATING)
    write(spark, target, kms)
    table = f"planted_{uuid4().hex[:8]}"
    with uncalled() as url, conf(of_session(kms.options())):
        planted = f"('kms' 'vault', 'kms.vault.url' '{url}', '{CLIENT_URL}' '{url}')"
        definition = f"(id BIGINT) USING `{FORMAT}` OPTIONS {planted} LOCATION '{target}'"
        with refused("PME_BAD_OPTION", "TBLPROPERTIES", "kms.vault.url"):
            spark.sql(f"CREATE TABLE {table} {definition} TBLPROPERTIES {planted}")
        spark.sql(f"CREATE TABLE {table} {definition}")
        try:
            with refused("PME_BAD_OPTION", "definition of table"):
                spark.table(table).collect()
            assert pme.rotate(spark, target).counts == {"rotated": 1}
            rows = spark.sql(f"SELECT status FROM {call('pme_rotate', target)}").collect()
            assert rows == [("rotated",)]
            for told in (pme.key_usage(spark, target), spark.sql(f"SELECT * FROM {call('pme_key_usage', target)}")):
                assert {(row.master_key, *row.problems) for row in told.collect()} == {(key,) for key in access.KEYS}
            assert pme.rekey(spark, target, f"{target}-copy", pme.Encryption(footer_key=access.FOOTER)).rows == 20
        finally:
            spark.sql(f"DROP TABLE {table}")
