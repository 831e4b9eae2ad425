"""Keys that Vault refuses or does not have, and tokens that have ended: each has its own error."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.kms import answers
from tests.kms.access import FOOTER, PAY, PII, by_token, encryption, place, read, rows, secret
from tests.kms.loopback import Fault
from tests.kms.material import bend_material
from tests.kms.transit_key import TransitKey
from tests.kms.vault_state import LOOK_UP
from tests.support.canary import data_files
from tests.support.expect import refused, save, untouched

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.transit_server import TransitServer

pytestmark = pytest.mark.nightly


def test_a_key_that_the_token_may_not_use_is_denied(
    spark: SparkSession, server: TransitServer, frame: DataFrame, table: str, target: str, tmp_path: Path
) -> None:
    few = by_token(server, tmp_path, [FOOTER, PAY])
    with untouched(target), refused("PME_KEY_DENIED", f"'{PII}'", server.url, never=tuple(server.state.tokens)):
        save(frame, target, encryption(few).options())
    with refused("PME_KEY_DENIED", f"'{PII}'", ".parquet", "ssn", never=tuple(server.state.tokens)):
        read(spark, table, few.options()).collect()


def test_a_misspelt_key_is_denied_to_a_token_that_may_not_create(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = by_token(server, tmp_path, ["fooder"])
    with untouched(target), refused("PME_KEY_DENIED", "'fooder'"):
        save(frame, target, pme.Encryption(kms=keys, footer_key="fooder").options())
    assert "fooder" not in server.keys


def test_a_misspelt_key_is_made_by_a_token_that_may_create(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    # Vault's way, which docs/keys.md warns of: this is what the least policy there is against.
    creator = secret(tmp_path, server.token(["fooder"], may_create=True))
    save(frame, target, pme.Encryption(kms=pme.Vault(**place(server), token=creator), footer_key="fooder").options())
    assert "fooder" in server.keys


def test_a_missing_key_is_not_found(
    spark: SparkSession, server: TransitServer, frame: DataFrame, table: str, target: str, tmp_path: Path
) -> None:
    server.state.upsert = False
    keys = pme.Vault(**place(server), token=secret(tmp_path, server.token()))
    with untouched(target), refused("PME_KEY_NOT_FOUND", "'fooder'", server.url):
        save(frame, target, pme.Encryption(kms=keys, footer_key="fooder").options())
    del server.keys[PII]
    with refused("PME_KEY_NOT_FOUND", f"'{PII}'", ".parquet", "ssn"):
        read(spark, table, keys.options()).collect()


def test_a_key_of_the_same_name_that_is_another_opens_nothing(
    spark: SparkSession, server: TransitServer, table: str, tmp_path: Path
) -> None:
    server.keys[FOOTER] = TransitKey()
    with refused("PME_NOT_AUTHENTIC", f"'{FOOTER}'", ".parquet"):
        read(spark, table, by_token(server, tmp_path).options()).collect()
    assert len(server.calls) == 1


def test_one_altered_key_does_not_take_the_others_with_it(
    spark: SparkSession, server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = by_token(server, tmp_path)
    single: dict[str, Any] = {"double_wrapping": False, "key_material": "external"}
    written = pme.Encryption(kms=keys, footer_key=FOOTER, column_keys={PII: ["ssn", "salary"]}, **single)
    save(frame, target, written.options())
    altered = server.keys[PII].encrypt(b64encode(bytes(16)).decode(), b64encode(b"other").decode())
    bend_material(target, {"wrappedDEK": altered}, PII)

    def attempt(column: str) -> str:
        try:
            read(spark, target, keys.options()).select(column).collect()
        except pme.PmeError as error:
            return error.condition
        return "read"

    assert sorted(map(attempt, ["ssn", "salary"])) == ["PME_NOT_AUTHENTIC", "read"]
    with refused("PME_NOT_AUTHENTIC", f"'{PII}'", ".parquet"):
        read(spark, target, keys.options()).collect()


def test_a_version_that_the_key_no_longer_decrypts_with_is_not_found(
    spark: SparkSession, server: TransitServer, table: str, tmp_path: Path
) -> None:
    kept = server.keys[FOOTER]
    server.keys[FOOTER] = TransitKey([*kept.versions, *TransitKey().versions], min_decryption_version=2)
    with refused("PME_KEY_NOT_FOUND", FOOTER, ".parquet"):
        read(spark, table, by_token(server, tmp_path).options()).collect()


def test_another_mount_than_the_keys_is_named(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    root = secret(tmp_path, server.token())
    wrong = pme.Vault(server.url, token=root, mount="nowhere")
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "'nowhere'"):
        save(frame, target, encryption(wrong).options())
    elsewhere = pme.Vault(server.url, token=root, namespace="nobodys")
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "'transit'"):
        save(frame, target, encryption(elsewhere).options())
    assert [call.status for call in server.calls] == [404, 404]


@pytest.mark.parametrize("names_tokens", [True, False], ids=["newer", "older"])
def test_a_token_that_has_ended_is_refused_once(
    spark: SparkSession,
    server: TransitServer,
    frame: DataFrame,
    table: str,
    target: str,
    tmp_path: Path,
    *,
    names_tokens: bool,
) -> None:
    server.state.names_tokens = names_tokens
    keys = by_token(server, tmp_path)
    server.state.expire()
    for _ in range(2):
        with refused("PME_KMS_UNAVAILABLE", ".parquet", "token", never=tuple(server.state.tokens)):
            read(spark, table, keys.options()).collect()
    asked = [f"transit/decrypt/{FOOTER}"] if names_tokens else [f"transit/decrypt/{FOOTER}", LOOK_UP]
    assert server.paths() == asked
    # A write is a user of its own, with three keys.
    server.calls.clear()
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "token", never=tuple(server.state.tokens)):
        save(frame, target, encryption(keys).options())
    assert len(server.calls) == len(asked)


@pytest.mark.parametrize("names_tokens", [True, False], ids=["newer", "older"])
def test_a_token_that_expires_during_a_job_is_distinguished_from_a_denied_key(
    spark: SparkSession, server: TransitServer, table: str, frame: DataFrame, tmp_path: Path, *, names_tokens: bool
) -> None:
    server.state.names_tokens = names_tokens
    planned = read(spark, table, by_token(server, tmp_path, [FOOTER, PAY]).options())
    assert rows(planned.select("id")) == rows(frame.select("id"))
    server.calls.clear()
    with refused("PME_KEY_DENIED", f"'{PII}'", "ssn"):
        planned.select("ssn").collect()
    assert server.paths() == [f"transit/decrypt/{PII}", LOOK_UP]
    late = read(spark, table, by_token(server, tmp_path, [FOOTER, PAY]).options())
    assert rows(late.select("id")) == rows(frame.select("id"))
    server.state.expire()
    with refused("PME_KMS_UNAVAILABLE", "token", never=tuple(server.state.tokens)):
        late.select("salary").collect()


def test_many_keys_that_are_denied_are_one_look_up(
    spark: SparkSession, server: TransitServer, frame: DataFrame, table: str, tmp_path: Path
) -> None:
    few = read(spark, table, by_token(server, tmp_path, [FOOTER]).options())
    for columns in (["ssn"], ["salary"], ["ssn", "salary"]):
        with refused("PME_KEY_DENIED", ".parquet"):
            few.select(*columns).collect()
    assert rows(few.select("id")) == rows(frame.select("id"))
    assert sorted(server.paths()) == [LOOK_UP, *(f"transit/decrypt/{key}" for key in sorted([FOOTER, PAY, PII]))]


def test_a_token_that_may_not_look_itself_up_is_reported(
    spark: SparkSession, server: TransitServer, table: str, tmp_path: Path
) -> None:
    token = secret(tmp_path, server.token([FOOTER], may_look_up=False))
    few = read(spark, table, pme.Vault(**place(server), token=token).options())
    with refused("PME_KMS_UNAVAILABLE", "look itself up", ".parquet"):
        few.select("ssn").collect()
    assert server.count(LOOK_UP) == 1


def test_a_write_that_vault_refuses_halfway_leaves_no_data_files(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    # The driver tries the three keys before there is a job; then each file asks for its own.
    server.inject(Fault(delay=0.001), times=4)
    server.inject(answers.DENIED, times=None, path="encrypt")
    # Not `refused`, which takes the number of Spark's attempt, part of the file's name, for a secret.
    with pytest.raises(pme.PmeError) as failed:
        save(frame, target, encryption(by_token(server, tmp_path), double_wrapping=False).options())
    assert failed.value.condition == "PME_KEY_DENIED"
    assert server.count("encrypt") == 5
    assert server.count(LOOK_UP) == 1
    assert data_files(target) == []
