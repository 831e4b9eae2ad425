"""Keys of clouds that sign, as far as `kms=gcp` and `kms=azure` are alike; another library verifies the signatures."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from tests.kms.access import FOOTER, KEYS
from tests.kms.answers import Answer
from tests.kms.client.opened import SIGNED
from tests.kms.cloud_server import User
from tests.kms.clouds import reading
from tests.kms.loopback import DROPPED, Fault
from tests.support.expect import refused

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kms.client.opened import ClientJvm, Opened
    from tests.kms.cloud_server import CloudServer

PUBLISHER, USED = "publisher", (*KEYS, "publisher", "absent")
MOST_ATTEMPTS = 6
EXPIRED = Answer(401, {"error": {"code": "Unauthorized", "status": "UNAUTHENTICATED"}})
STRANGE_IDS = ["../publisher", "publisher/../../x", "publisher?x=y", "publisher#", "p ublisher", "publisher:sign", "."]

NO_VALUES = {"kid": 7, "value": {}, "key": [], "signature": 7, "pem": [], "algorithm": 5, "verifiedDigestCrc32c": True}
FINAL = {
    "a web page": (Fault(Answer(200, b"<html>It works!</html>")), "gave an answer"),
    "values that are none": (Fault(Answer(200, NO_VALUES)), "gave an answer"),
    "a web page that refuses": (Fault(Answer(404, b"<html>")), "status 404"),
    "sent on elsewhere": (Fault(Answer(307, b"", {"Location": "https://localhost:1/v1"})), "redirects"),
}


@pytest.fixture
def key(cloud: CloudServer) -> str:
    """Return the id of a key that signs."""
    return cloud.signer(PUBLISHER)[0]


@pytest.fixture
def client(clients: ClientJvm, cloud: CloudServer, tmp_path: Path) -> Opened:
    """Return the client of a user who may use every key."""
    return clients.open(reading(cloud, tmp_path, USED))


def test_a_p256_key_signs(cloud: CloudServer, client: Opened) -> None:
    key, pem = cloud.signer(PUBLISHER)
    found = client.signing_key(key)
    assert found.public() == load_pem_public_key(pem)
    found.assert_signs()
    assert (cloud.count(cloud.sign), cloud.count(cloud.login)) == (1, 1)
    # Key Vault is asked for the newest version first.
    assert len(cloud.calls) <= 4
    found.assert_signs()
    assert cloud.count(cloud.sign) == 2


def test_a_signature_is_of_the_version_whose_public_key_was_looked_up(cloud: CloudServer, client: Opened) -> None:
    key, pem = cloud.signer(PUBLISHER)
    found = client.signing_key(key)
    cloud.rotate(PUBLISHER)
    found.assert_signs()
    assert found.public() == load_pem_public_key(pem)


def test_a_key_that_the_user_may_not_use_is_denied(
    clients: ClientJvm, cloud: CloudServer, key: str, tmp_path: Path
) -> None:
    other = clients.open(reading(cloud, tmp_path, KEYS))
    with refused("PME_KEY_DENIED", f"'{key}'", SIGNED, never=cloud.secrets):
        other.signing_key(key)
    assert (cloud.count(cloud.look_up), cloud.count(cloud.sign)) == (1, 0)


def test_a_user_who_may_look_but_not_sign_is_denied(cloud: CloudServer, client: Opened, key: str) -> None:
    found = client.signing_key(key)
    cloud.tokens = {token: User(frozenset()) for token in cloud.tokens}
    with refused("PME_KEY_DENIED", f"'{key}'", SIGNED, never=cloud.secrets):
        found.sign()
    assert cloud.count(cloud.sign) == 1


def test_a_disabled_key_does_not_sign(cloud: CloudServer, client: Opened, key: str) -> None:
    found = client.signing_key(key)
    cloud.disable(PUBLISHER)
    for attempt in (found.sign, lambda: client.signing_key(key)):
        with refused("PME_KEY_NOT_FOUND", f"'{key}'", "abled", never=cloud.secrets):
            attempt()


def test_a_missing_key_is_not_found(cloud: CloudServer, client: Opened, key: str) -> None:
    with refused("PME_KEY_NOT_FOUND", "absent", "does not have it", never=cloud.secrets):
        client.signing_key(key.replace(PUBLISHER, "absent"))
    assert cloud.count(cloud.look_up) == 1


def test_a_key_that_wraps_does_not_sign(cloud: CloudServer, client: Opened, key: str) -> None:
    with refused("PME_KEY_NOT_FOUND", FOOTER, never=cloud.secrets):
        client.signing_key(key.replace(PUBLISHER, FOOTER))
    assert cloud.count(cloud.sign) == 0


@pytest.mark.parametrize("name", STRANGE_IDS)
def test_an_id_that_would_change_the_address_is_refused_unasked(cloud: CloudServer, client: Opened, name: str) -> None:
    for id_ in (name, f"{name}/cryptoKeyVersions/1", f"publisher/cryptoKeyVersions/{name}", f"publisher/{name}"):
        with refused("PME_KEY_NOT_FOUND", "of the form"):
            client.signing_key(id_)
    assert cloud.calls == []


@pytest.mark.parametrize("name", FINAL)
@pytest.mark.parametrize("what", ["look_up", "sign"])
def test_an_answer_of_no_use_is_asked_for_once(
    cloud: CloudServer, client: Opened, key: str, what: str, name: str
) -> None:
    fault, mention = FINAL[name]
    found = client.signing_key(key)
    cloud.calls.clear()
    cloud.inject(fault, times=None, path=getattr(cloud, what))
    with refused("PME_KMS_UNAVAILABLE", cloud.url, mention, SIGNED, never=cloud.secrets):
        client.signing_key(key) if what == "look_up" else found.sign()
    assert len(cloud.calls) == 1


@pytest.mark.parametrize("what", ["look_up", "sign"])
def test_a_failure_that_passes_is_not_seen(cloud: CloudServer, client: Opened, key: str, what: str) -> None:
    cloud.inject(DROPPED, times=2, path=getattr(cloud, what))
    client.signing_key(key).assert_signs()
    assert cloud.paths().count(cloud.paths()[1 if what == "look_up" else -1]) == 3


def test_a_failure_that_does_not_pass_is_given_up(cloud: CloudServer, client: Opened, key: str) -> None:
    cloud.inject(Answer(503, b"<html>"), times=None, path=cloud.look_up)
    with refused("PME_KMS_UNAVAILABLE", cloud.url, "503", never=cloud.secrets):
        client.signing_key(key)
    assert cloud.count(cloud.look_up) == MOST_ATTEMPTS


@pytest.mark.parametrize("what", ["look_up", "sign"])
def test_a_token_that_ends_early_is_replaced_once(cloud: CloudServer, client: Opened, key: str, what: str) -> None:
    cloud.inject(EXPIRED, times=1, path=getattr(cloud, what))
    found = client.signing_key(key)
    found.assert_signs()
    assert cloud.count(cloud.login) == 2
    cloud.inject(EXPIRED, times=None, path=cloud.sign)
    with refused("PME_KMS_UNAVAILABLE", "token", never=cloud.secrets):
        found.sign()
    assert cloud.count(cloud.login) == 3


def test_a_slow_service_is_given_up_in_time(clients: ClientJvm, cloud: CloudServer, key: str, tmp_path: Path) -> None:
    hasty = clients.open(reading(cloud, tmp_path, USED) | {"kms.timeoutSeconds": "3"})
    cloud.inject(Fault(delay=10), times=None, path=cloud.look_up)
    began = time.monotonic()
    with refused("PME_KMS_UNAVAILABLE", "within 3 s", never=cloud.secrets):
        hasty.signing_key(key)
    assert time.monotonic() - began < 10
    assert cloud.count(cloud.look_up) == 1


def test_a_signature_by_another_key_is_refused(cloud: CloudServer, cloud_kind: str, client: Opened, key: str) -> None:
    found = client.signing_key(key)
    cloud.signer(PUBLISHER)
    # A new key has the id of the old one in Cloud KMS, and another version in Key Vault.
    mention = {"gcp": "does not match its public key", "azure": "does not have it"}[cloud_kind]
    condition = {"gcp": "PME_KMS_UNAVAILABLE", "azure": "PME_KEY_NOT_FOUND"}[cloud_kind]
    with refused(condition, mention, SIGNED, never=cloud.secrets):
        found.sign()
