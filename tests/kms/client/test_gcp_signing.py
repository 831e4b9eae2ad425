"""Keys of `kms=gcp` that sign: their versions, algorithms and checksums."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.kms.access import KEYS, secret
from tests.kms.answers import Answer
from tests.kms.gcp_server import RING, GcpServer
from tests.kms.gcp_signing import ED25519, MADE, P256, GcpSigningKey, crc32c
from tests.support.expect import refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kms.client.opened import ClientJvm, Opened

USED = (*KEYS, "publisher")
KEY = "publisher/cryptoKeyVersions/1"


@pytest.fixture
def gcp() -> Iterator[GcpServer]:
    with GcpServer() as made:
        made.signers["publisher"] = GcpSigningKey()
        yield made


@pytest.fixture
def client(clients: ClientJvm, gcp: GcpServer, tmp_path: Path) -> Opened:
    return clients.open(gcp.access(tmp_path, USED).options())


@pytest.mark.parametrize("algorithm", [P256, ED25519])
def test_each_version_signs_with_its_own_key(gcp: GcpServer, client: Opened, algorithm: str) -> None:
    gcp.signers["publisher"] = GcpSigningKey(algorithm)
    gcp.rotate("publisher")
    first, second = (client.signing_key(f"publisher/cryptoKeyVersions/{number}") for number in (1, 2))
    first.assert_signs()
    second.assert_signs()
    assert first.public() != second.public()
    assert gcp.count(gcp.look_up) == gcp.count(gcp.sign) == 2


def test_a_version_may_be_named_in_full(clients: ClientJvm, gcp: GcpServer, tmp_path: Path) -> None:
    keys = pme.GcpKms(credentials=secret(tmp_path, gcp.account(USED)), endpoint=gcp.url)
    client = clients.open(keys.options())
    client.signing_key(f"{RING}/cryptoKeys/{KEY}").assert_signs()
    with refused("PME_KEY_NOT_FOUND", "kms.gcp.keyRing is not set"):
        client.signing_key(KEY)


@pytest.mark.parametrize("name", ["publisher", f"{RING}/cryptoKeys/publisher"])
def test_a_key_without_a_version_is_refused_with_what_to_do(gcp: GcpServer, client: Opened, name: str) -> None:
    with refused("PME_KEY_NOT_FOUND", f"'{name}'", "names no version", "add /cryptoKeyVersions/"):
        client.signing_key(name)
    assert gcp.calls == []


@pytest.mark.parametrize("version", ["0", "01", "-1", "1/", "1x", "11111111111", "1:asymmetricSign", ""])
def test_a_version_that_is_no_number_is_refused_unasked(gcp: GcpServer, client: Opened, version: str) -> None:
    with refused("PME_KEY_NOT_FOUND", "cryptoKeyVersions/N"):
        client.signing_key(f"publisher/cryptoKeyVersions/{version}")
    assert gcp.calls == []


@pytest.mark.parametrize("algorithm", [algorithm for algorithm in MADE if algorithm not in {P256, ED25519}])
def test_a_key_of_another_algorithm_is_refused(gcp: GcpServer, client: Opened, algorithm: str) -> None:
    gcp.signers["publisher"] = GcpSigningKey(algorithm)
    with refused("PME_KEY_NOT_FOUND", f"is {algorithm}", f"{P256} or {ED25519}"):
        client.signing_key(KEY)
    assert gcp.count(gcp.sign) == 0


def changed(answer: Answer, fields: dict[str, Any]) -> Answer:
    assert isinstance(answer.body, dict)
    return Answer(200, answer.body | fields)


def test_damage_to_the_public_key_is_noticed(gcp: GcpServer, client: Opened) -> None:
    answer = gcp.signers["publisher"].public_key(KEY, 1)
    other = GcpSigningKey().pem(1).decode()
    for fields in ({"pem": other}, {"pemCrc32c": "1"}, {"pemCrc32c": None}):
        gcp.inject(changed(answer, fields), path=gcp.look_up)
        with refused("PME_KMS_UNAVAILABLE", "checksum"):
            client.signing_key(KEY)
    # Whole, and not the form of a key.
    gcp.inject(changed(answer, {"pem": "no PEM", "pemCrc32c": str(crc32c(b"no PEM"))}), path=gcp.look_up)
    with refused("PME_KMS_UNAVAILABLE", "gave an answer"):
        client.signing_key(KEY)


@pytest.mark.parametrize(("algorithm", "confirmed"), [(P256, "verifiedDigestCrc32c"), (ED25519, "verifiedDataCrc32c")])
def test_damage_to_what_is_signed_and_to_the_signature_is_noticed(
    gcp: GcpServer, client: Opened, algorithm: str, confirmed: str
) -> None:
    gcp.signers["publisher"] = GcpSigningKey(algorithm)
    found = client.signing_key(KEY)
    right = {"signature": "AQID", "signatureCrc32c": str(crc32c(b"\1\2\3")), confirmed: True}
    other = "verifiedDataCrc32c" if confirmed == "verifiedDigestCrc32c" else "verifiedDigestCrc32c"
    for fields in (
        {"signature": base64.b64encode(b"\1\2\4").decode()},
        {"signatureCrc32c": "1"},
        {"signatureCrc32c": None},
        {confirmed: False},
        {confirmed: False, other: True},
    ):
        gcp.inject(Answer(200, right | fields), path=gcp.sign)
        with refused("PME_KMS_UNAVAILABLE", "checksum"):
            found.sign()
    gcp.inject(Answer(200, right), path=gcp.sign)
    with refused("PME_KMS_UNAVAILABLE", "does not match its public key"):
        found.sign()
