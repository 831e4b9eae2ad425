"""`inspect`, `snapshots` and `report` on Google Cloud Storage, through gcsfs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.storage.clouds.google import TOKEN, Google
from tests.storage.clouds.inspecting import OF_SESSION, Twins, only_the_store
from tests.storage.clouds.place import reached
from tests.support import needs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

pytestmark = [needs.s3a, needs.test_all, needs.package("gcsfs")]


@pytest.fixture(scope="module")
def store(spark: SparkSession) -> Iterator[Google]:
    with Google() as made, reached(spark, made):
        yield made


@pytest.fixture
def twins(store: Google, request: pytest.FixtureRequest, tmp_path: Path) -> Twins:
    return Twins.of(request, store, "gs://places", tmp_path / "people")


def logins(store: Google, since: int) -> set[str]:
    return {asked.login for asked in store.requests[since:]}


def key_file(path: Path, token_uri: str) -> Path:
    """Write the key of a service account, which asks for its tokens at an address."""
    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    about = {"type": "service_account", "client_email": "me@acme-data.example", "token_uri": token_uri}
    path.write_text(json.dumps(about | {"private_key": key.decode()}), encoding="utf-8")
    return path


def test_as_the_session_reaches_it(
    spark: SparkSession, store: Google, twins: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://nobody.example")
    how = f"{OF_SESSION}endpoint {store.url}, no credentials (anonymous)"
    before = len(store.requests)
    with only_the_store():
        twins.assert_same_page(how)
        twins.assert_same(how, spark=spark)
    assert logins(store, before) == {""}


def test_with_the_key_of_a_service_account(
    spark: SparkSession, store: Google, twins: Twins, tmp_path: Path, conf: Conf
) -> None:
    file = key_file(tmp_path / "account.json", f"{store.url}/token")
    setting = "fs.gs.auth.service.account.json.keyfile"
    before = len(store.requests)
    with conf({"fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE", setting: str(file)}):
        twins.assert_same(f"{OF_SESSION}endpoint {store.url}, credentials of {setting}", spark=spark)
    assert logins(store, before) == {"", f"Bearer {TOKEN}"}
    assert {asked.operation for asked in store.requests[before:] if not asked.login} == {"token"}


def test_with_options(store: Google, twins: Twins) -> None:
    how = f"storage_options: endpoint_url {store.url}, token, retry_timeout"
    with only_the_store():
        twins.assert_same(how, storage_options={"endpoint_url": store.url, "token": "anon", "retry_timeout": 0})
