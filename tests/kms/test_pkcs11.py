"""``kms=keystore`` with the type ``PKCS11``, on tokens of SoftHSM2 whose keys cannot be taken out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms import tokens as tokens_of
from tests.kms.tokens import PATH, PIN, by_pin
from tests.support.canary import assert_encrypted_footers, assert_no_canaries
from tests.support.expect import refused, save, untouched
from tests.support.files.key_material import materials
from tests.support.kms.access import COLUMNS, FOOTER, PII, read, rows
from tests.support.kms.bend import bend_material
from tests.support.stored import assert_not_of_a_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.tokens import Tokens
    from tests.support.source import Conf

WRONG_PIN = "482914"

pytestmark = tokens_of.installed


def encryption(token: pme.Keystore) -> pme.Encryption:
    return pme.Encryption(kms=token, footer_key=FOOTER, column_keys=COLUMNS, key_material="external")


def test_a_table_is_written_and_read(spark: SparkSession, token: pme.Keystore, frame: DataFrame, target: str) -> None:
    save(frame, target, encryption(token).options())
    assert_encrypted_footers(target)
    assert_no_canaries(target, ["ssn-7", "salary"])
    assert rows(read(spark, target, token.options())) == rows(frame)


def test_executors_can_open_the_token_themselves(
    spark: SparkSession, token: pme.Keystore, frame: DataFrame, target: str
) -> None:
    here = {"kms.callFrom": "executor"}
    save(frame, target, encryption(token).options() | here)
    assert rows(read(spark, target, token.options() | here)) == rows(frame)


def test_a_key_does_not_leave_its_token(token: pme.Keystore, frame: DataFrame, target: str) -> None:
    direct = pme.Encryption(kms=token, footer_key=FOOTER, key_management="direct")
    with untouched(target), refused("PME_UNSUPPORTED", "keyManagement=envelope"):
        save(frame, target, direct.options())


def test_a_key_that_the_token_does_not_have_is_not_found(token: pme.Keystore, frame: DataFrame, target: str) -> None:
    with untouched(target), refused("PME_KEY_NOT_FOUND", "'other'", "full.cfg"):
        save(frame, target, pme.Encryption(kms=token, footer_key="other").options())


def test_a_key_that_is_made_later_is_found(tokens: Tokens, token: pme.Keystore, frame: DataFrame, target: str) -> None:
    tokens_of.generate(tokens.full, "later")
    save(frame, target, pme.Encryption(kms=token, footer_key="later").options())


def test_a_wrong_pin_opens_no_token(tokens: Tokens, frame: DataFrame, target: str, conf: Conf) -> None:
    wrong = by_pin(tokens, WRONG_PIN)
    told = refused("PME_KMS_UNAVAILABLE", "PIN", never=(WRONG_PIN,))
    with conf({PATH: str(tokens.closed)}), untouched(target), told:
        save(frame, target, encryption(wrong).options())


def test_a_wrong_pin_is_refused_where_the_process_is_logged_in(
    spark: SparkSession, tokens: Tokens, token: pme.Keystore, frame: DataFrame, target: str
) -> None:
    save(frame, target, encryption(token).options())
    with refused("PME_KMS_UNAVAILABLE", "PIN", never=(PIN, WRONG_PIN)):
        read(spark, target, by_pin(tokens, WRONG_PIN).options()).collect()
    assert rows(read(spark, target, token.options())) == rows(frame)


def test_another_configuration_of_the_token_needs_its_pin_as_well(
    spark: SparkSession, tokens: Tokens, token: pme.Keystore, frame: DataFrame, target: str, conf: Conf
) -> None:
    save(frame, target, encryption(token).options())
    other = tokens.folder / "other.cfg"
    other.write_text(tokens.full.read_text().replace("name = full", "name = other"))
    with conf({PATH: str(other)}), refused("PME_KMS_UNAVAILABLE", "PIN"):
        read(spark, target, by_pin(tokens, WRONG_PIN).options()).collect()


def test_the_configuration_is_not_taken_from_a_table(
    spark: SparkSession, tokens: Tokens, token: pme.Keystore, frame: DataFrame, target: str, conf: Conf
) -> None:
    save(frame, target, encryption(token).options())
    planted = {"kms.keystore.path": str(tokens.folder / "planted.cfg")}
    assert_not_of_a_table(spark, conf, target, token.options() | planted, "kms.keystore.path")


@pytest.mark.parametrize("configuration", ["library = /no/such/library.so\nname = absent\n", "something else", ""])
def test_a_configuration_that_leads_to_no_token_is_refused(
    tokens: Tokens, frame: DataFrame, target: str, conf: Conf, configuration: str
) -> None:
    other = tokens.folder / "useless.cfg"
    other.write_text(configuration)
    with conf({PATH: str(other)}), untouched(target), refused("PME_KMS_UNAVAILABLE", "SunPKCS11"):
        save(frame, target, encryption(by_pin(tokens, PIN)).options())


def test_without_a_configuration_the_provider_must_be_installed(frame: DataFrame, target: str) -> None:
    bare = pme.Keystore("", password=pme.env("PME_TEST_PASSWORD"), type="PKCS11")
    with untouched(target), refused("PME_UNSUPPORTED", "SunPKCS11", PATH):
        save(frame, target, encryption(bare).options())


def test_an_altered_wrapped_key_does_not_open(
    spark: SparkSession, token: pme.Keystore, frame: DataFrame, target: str
) -> None:
    save(frame, target, encryption(token).options())
    text = next(one["wrappedKEK"] for one in materials(Path(target)) if one["masterKeyID"] == FOOTER)
    bend_material(target, {"wrappedKEK": ("B" if text[0] == "A" else "A") + text[1:]})
    with refused("PME_NOT_AUTHENTIC", f"'{FOOTER}'"):
        read(spark, target, token.options()).collect()


def test_a_key_wrapped_by_one_master_key_does_not_pass_for_anothers(
    spark: SparkSession, token: pme.Keystore, frame: DataFrame, target: str
) -> None:
    save(frame, target, encryption(token).options())
    bend_material(target, {"masterKeyID": PII})
    with refused("PME_NOT_AUTHENTIC", f"'{PII}'"):
        read(spark, target, token.options()).collect()


def test_a_keystore_without_a_file_makes_no_keys() -> None:
    with refused("PME_BAD_OPTION", "keytool"):
        pme.Keystore("", password=pme.env("PME_TEST_PASSWORD"), type="PKCS11").create(["footer"])
