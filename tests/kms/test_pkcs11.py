"""``kms=keystore`` with the type ``PKCS11``, on tokens of SoftHSM2 whose keys cannot be taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.kms.access import COLUMNS, FOOTER, read, rows
from tests.support import needs
from tests.support.canary import assert_encrypted_footers, assert_no_canaries
from tests.support.expect import refused, save, untouched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


pytestmark = needs.softhsm


def encryption(token: pme.Keystore) -> pme.Encryption:
    return pme.Encryption(kms=token, footer_key=FOOTER, column_keys=COLUMNS, key_material="external")


def test_a_table_is_written_and_read(spark: SparkSession, token: pme.Keystore, frame: DataFrame, target: str) -> None:
    for place in ("driver", "executor"):
        here, path = {"kms.callFrom": place}, f"{target}-{place}"
        save(frame, path, encryption(token).options() | here)
        assert_encrypted_footers(path)
        assert_no_canaries(path, ["ssn-7", "salary"])
        assert rows(read(spark, path, token.options() | here)) == rows(frame)


def test_a_key_does_not_leave_its_token(token: pme.Keystore, frame: DataFrame, target: str) -> None:
    direct = pme.Encryption(kms=token, footer_key=FOOTER, key_management="direct")
    with untouched(target), refused("PME_UNSUPPORTED", "keyManagement=envelope"):
        save(frame, target, direct.options())


def test_a_keystore_without_a_file_makes_no_keys() -> None:
    with refused("PME_BAD_OPTION", "keytool"):
        pme.Keystore("", password=pme.env("PME_TEST_PASSWORD"), type="PKCS11").create(["footer"])
