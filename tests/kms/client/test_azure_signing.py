"""Keys of `kms=azure` that sign: versions, kinds of keys, refusals, and signatures with every form of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

import pme_parquet as pme
from tests.kms.access import KEYS
from tests.kms.answers import Answer
from tests.kms.azure_server import BAD_VALUE, AzureServer, VaultKey, decoded, forbidden
from tests.kms.azure_signing import VaultSigningKey, encoded, raw
from tests.kms.client.opened import MESSAGE, SIGNED
from tests.support.expect import refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kms.client.opened import ClientJvm, Opened


@pytest.fixture
def azure() -> Iterator[AzureServer]:
    with AzureServer({}) as made:
        made.signers["publisher"] = VaultSigningKey()
        yield made


@pytest.fixture
def client(clients: ClientJvm, azure: AzureServer, tmp_path: Path) -> Opened:
    return clients.open(azure.access(tmp_path, (*KEYS, "publisher")).options())


def test_a_key_without_a_version_is_its_newest_one(azure: AzureServer, client: Opened) -> None:
    key = azure.signers["publisher"]
    old = key.newest
    azure.rotate("publisher")
    newest = client.signing_key("publisher")
    newest.assert_signs()
    assert azure.paths()[-1] == f"/keys/publisher/{key.newest}/sign"
    before = client.signing_key(f"publisher/{old}")
    before.assert_signs()
    assert azure.paths()[-1] == f"/keys/publisher/{old}/sign"
    assert before.public() != newest.public()


def test_a_key_of_an_hsm_signs(azure: AzureServer, client: Opened) -> None:
    azure.signers["publisher"] = VaultSigningKey(kind="EC-HSM")
    client.signing_key("publisher").assert_signs()


OTHERS: dict[str, Any] = {
    "P-384": lambda: VaultSigningKey("P-384"),
    "P-256K": lambda: VaultSigningKey("P-256K"),
    "RSA": VaultKey,
    "AES": lambda: VaultKey(16),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_key_of_another_kind_is_refused(azure: AzureServer, client: Opened, kind: str) -> None:
    (azure.signers if kind.startswith("P") else azure.keys)["pii"] = OTHERS[kind]()
    with refused("PME_KEY_NOT_FOUND", "'pii'", "not an EC key on the curve P-256"):
        client.signing_key("pii")
    assert azure.count(azure.sign) == 0


def test_a_key_that_may_only_verify_is_refused(azure: AzureServer, client: Opened) -> None:
    azure.signers["publisher"] = VaultSigningKey(operations=("verify",))
    with refused("PME_KEY_NOT_FOUND", "not meant for signing"):
        client.signing_key("publisher")
    assert azure.count(azure.sign) == 0


@pytest.mark.parametrize(
    ("answer", "condition", "mention"),
    [
        (forbidden("ForbiddenByPolicy"), "PME_KEY_DENIED", "does not let this user use"),
        (forbidden("ForbiddenByRbac"), "PME_KEY_DENIED", "does not let this user use"),
        (forbidden("KeyExpired"), "PME_KEY_NOT_FOUND", "expired"),
        (forbidden("KeyNotYetValid"), "PME_KEY_NOT_FOUND", "not valid yet"),
        (forbidden("KeyOperationForbidden"), "PME_KEY_NOT_FOUND", "not meant for signing"),
        (forbidden("ForbiddenByFirewall"), "PME_KMS_UNAVAILABLE", "network rules"),
        (BAD_VALUE, "PME_KEY_NOT_FOUND", "does not sign with it by ES256"),
    ],
)
def test_kinds_of_refusals_are_distinguished(
    azure: AzureServer, client: Opened, answer: Answer, condition: str, mention: str
) -> None:
    found = client.signing_key("publisher")
    azure.inject(answer, path=azure.sign)
    with refused(condition, mention, SIGNED, never=azure.secrets):
        found.sign()
    assert azure.count(azure.sign) == 1


def signatures(key: ec.EllipticCurvePrivateKey) -> dict[str, bytes]:
    """Return signatures whose first numbers begin with a zero byte, with a high bit, and with neither."""
    found: dict[str, bytes] = {}
    while len(found) < 3:
        made = raw(key.sign(MESSAGE, ec.ECDSA(SHA256())))
        found["zero" if made[0] == 0 else "high" if made[0] > 0x7F else "low"] = made
    return found


def test_numbers_of_every_length_become_the_shortest_der(azure: AzureServer, client: Opened) -> None:
    key = azure.signers["publisher"]
    found = client.signing_key("publisher")
    for value in signatures(key.versions[key.newest]).values():
        azure.inject(Answer(200, {"kid": "", "value": encoded(value)}), path=azure.sign)
        # It has verified the signature by itself, and accepts nothing but DER.
        assert raw(found.sign()) == value


def with_a_zero() -> ec.EllipticCurvePrivateKey:
    """Return the first private key whose public one has an x that begins with a zero byte."""
    keys = (ec.derive_private_key(number, ec.SECP256R1()) for number in range(1, 10_000))
    return next(key for key in keys if key.public_key().public_numbers().x < 1 << 248)


def test_a_coordinate_that_begins_with_zeros_is_read_with_and_without_them(azure: AzureServer, client: Opened) -> None:
    key = azure.signers["publisher"]
    key.versions[key.newest] = with_a_zero()
    client.signing_key("publisher").assert_signs()
    jwk = key.jwk(key.newest) | {"kid": f"{azure.url}/keys/publisher/{key.newest}"}
    x = decoded(jwk["x"])
    assert (len(x), x[0]) == (32, 0)
    azure.inject(Answer(200, {"key": jwk | {"x": encoded(x.lstrip(b"\0"))}, "attributes": {}}), times=2)
    client.signing_key("publisher").assert_signs()


@pytest.mark.parametrize(
    "change",
    [{"x": encoded(bytes(33))}, {"y": ""}, {"x": "?"}, {"kid": "https://x/keys/other/" + "0" * 32}, {"kid": "0" * 32}],
    ids=["long", "empty", "not base64", "another key's", "no id"],
)
def test_a_public_key_of_no_use_is_refused(azure: AzureServer, client: Opened, change: dict[str, str]) -> None:
    key = azure.signers["publisher"]
    jwk = key.jwk(key.newest) | {"kid": f"{azure.url}/keys/publisher/{key.newest}"} | change
    azure.inject(Answer(200, {"key": jwk, "attributes": {"enabled": True}}), times=None, path="/keys/")
    with refused("PME_KMS_UNAVAILABLE", "gave an answer", never=azure.secrets):
        client.signing_key("publisher")


def test_a_point_that_is_not_on_the_curve_signs_nothing(azure: AzureServer, client: Opened) -> None:
    key = azure.signers["publisher"]
    jwk = key.jwk(key.newest) | {"kid": f"{azure.url}/keys/publisher/{key.newest}", "y": encoded(bytes(32))}
    azure.inject(Answer(200, {"key": jwk, "attributes": {"enabled": True}}), times=2, path="/keys/")
    found = client.signing_key("publisher")
    with pytest.raises(pme.KmsUnavailableError, match="does not match its public key"):
        found.sign()


@pytest.mark.parametrize("size", [0, 63, 65, 96])
def test_a_signature_of_another_length_is_refused(azure: AzureServer, client: Opened, size: int) -> None:
    found = client.signing_key("publisher")
    azure.inject(Answer(200, {"kid": "", "value": encoded(bytes(size))}), path=azure.sign)
    with refused("PME_KMS_UNAVAILABLE", "gave an answer"):
        found.sign()
