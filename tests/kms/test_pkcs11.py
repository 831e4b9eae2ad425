"""``kms=keystore`` with the type ``PKCS11``, on tokens of SoftHSM2 whose keys cannot be taken out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import pme_parquet as pme
from tests.support.canary import assert_encrypted_footers, assert_no_canaries
from tests.support.expect import refused, save, untouched
from tests.support.files.key_material import materials
from tests.support.java import java
from tests.support.kms.access import COLUMNS, FOOTER, PII, read, rows, secret
from tests.support.kms.bend import bend_material
from tests.support.session import SOFTHSM_CONF
from tests.support.stored import assert_not_of_a_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

TOOL = "softhsm2-util"
LIBRARIES = ("/usr/lib/softhsm/libsofthsm2.so", "/usr/lib64/softhsm/libsofthsm2.so", "/usr/lib64/pkcs11/libsofthsm2.so")
PIN, WRONG_PIN = "482913", "482914"
PATH = "spark.datasource.pme-parquet.kms.keystore.path"

pytestmark = pytest.mark.skipif(shutil.which(TOOL) is None, reason="SoftHSM2 is not installed: no softhsm2-util")


class Tokens(NamedTuple):
    """Configurations of SunPKCS11, each for a token of its own, and the folder they are in."""

    folder: Path
    full: Path
    closed: Path


@pytest.fixture(scope="module")
def tokens(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tokens]:
    """Return a token with keys, and one that nobody in this JVM is logged in to."""
    assert spark is not None  # its JVM has been told of the settings
    folder = tmp_path_factory.mktemp("softhsm")
    (folder / "tokens").mkdir()
    SOFTHSM_CONF.write_text(f"directories.tokendir = {folder}/tokens\nobjectstore.backend = file\nlog.level = ERROR\n")
    try:
        made = Tokens(folder, _token(folder, "full"), _token(folder, "closed"))
        for alias in ("footer", "pii", "pay"):
            _generate(made.full, alias)
        yield made
    finally:
        SOFTHSM_CONF.unlink()


def _token(folder: Path, label: str) -> Path:
    pins = ["--pin", PIN, "--so-pin", PIN]
    command = [TOOL, "--init-token", "--free", "--label", label, *pins]
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=_environment()).stdout
    [slot] = re.findall(r"slot (\d+)$", said.strip())
    [library, *_] = [path for path in LIBRARIES if Path(path).exists()]
    configuration = folder / f"{label}.cfg"
    kept = "attributes(*, CKO_SECRET_KEY, CKK_AES) = {\n  CKA_SENSITIVE = true\n  CKA_EXTRACTABLE = false\n}\n"
    configuration.write_text(f"name = {label}\nlibrary = {library}\nslot = {slot}\n{kept}")
    return configuration


def _generate(configuration: Path, alias: str) -> None:
    command = [str(java().with_name("keytool")), "-genseckey", "-keyalg", "AES", "-keysize", "256", "-alias", alias]
    store = ["-storetype", "PKCS11", "-keystore", "NONE", "-providerClass", "sun.security.pkcs11.SunPKCS11"]
    given = ["-providerArg", str(configuration), "-storepass:env", "PIN"]
    subprocess.run([*command, *store, *given], check=True, capture_output=True, env=_environment() | {"PIN": PIN})


def _environment() -> dict[str, str]:
    return dict(os.environ) | {"SOFTHSM2_CONF": str(SOFTHSM_CONF)}


@pytest.fixture
def token(tokens: Tokens, conf: Conf) -> Iterator[pme.Keystore]:
    """Return the token with keys, which the session names."""
    with conf({PATH: str(tokens.full)}):
        yield by_pin(tokens, PIN)


def by_pin(tokens: Tokens, pin: str) -> pme.Keystore:
    return pme.Keystore("", password=secret(tokens.folder, pin), type="PKCS11")


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
    _generate(tokens.full, "later")
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
