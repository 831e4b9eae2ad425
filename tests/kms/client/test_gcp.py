"""`kms=gcp`: key rings and credentials of no use, checksums, and which refusals deny a key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.access import FOOTER, KEYS, secret
from tests.kms.answers import Answer
from tests.kms.gcp_server import HELP, RING, GcpServer, permission_denied, reason
from tests.kms.gcp_signing import crc32c
from tests.support.expect import refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kms.client.opened import ClientJvm, Opened


@pytest.fixture
def gcp() -> Iterator[GcpServer]:
    with GcpServer() as made:
        yield made


@pytest.fixture
def client(clients: ClientJvm, gcp: GcpServer, tmp_path: Path) -> Opened:
    return clients.open(gcp.access(tmp_path, KEYS).options())


@pytest.mark.parametrize("ring", ["spark", "projects/../locations/x/keyRings/y", f"{RING}/cryptoKeys/k", f"/{RING}"])
def test_an_invalid_key_ring_is_refused(clients: ClientJvm, gcp: GcpServer, tmp_path: Path, ring: str) -> None:
    keys = pme.GcpKms(ring, credentials=secret(tmp_path, gcp.account(KEYS)), endpoint=gcp.url)
    with refused("PME_BAD_OPTION", "kms.gcp.keyRing"):
        clients.open(keys.options())
    assert gcp.calls == []


@pytest.mark.parametrize(
    "change",
    [{"ciphertextCrc32c": "1"}, {"verifiedPlaintextCrc32c": False}, {"ciphertext": "AAAA"}],
    ids=["of the answer", "of the request", "the answer itself"],
)
def test_damage_on_the_way_is_noticed_on_write(gcp: GcpServer, client: Opened, change: dict[str, object]) -> None:
    right = {"ciphertext": "AQID", "ciphertextCrc32c": str(crc32c(b"\1\2\3")), "verifiedPlaintextCrc32c": True}
    gcp.inject(Answer(200, right | change), path=gcp.wrap)
    with refused("PME_KMS_UNAVAILABLE", "checksum"):
        client.wrap(FOOTER)


@pytest.mark.parametrize("kind", ["external_account", "authorized_user", "not JSON", "no key"])
def test_other_credentials_than_a_service_accounts_key_are_refused(
    clients: ClientJvm, gcp: GcpServer, tmp_path: Path, kind: str
) -> None:
    # Those of another cloud would name files to send, and where to.
    text = json.loads(gcp.account(KEYS)) | {"type": kind, "token_url": gcp.url, "private_key": "MIIEnone"}
    given = {"not JSON": "MIIEnone", "no key": json.dumps(text | {"type": "service_account"})}.get(
        kind, json.dumps(text)
    )
    keys = pme.GcpKms(RING, credentials=secret(tmp_path, given), endpoint=gcp.url)
    with refused("PME_BAD_OPTION", "kms.gcp.credentials", never=("MIIEnone",)):
        clients.open(keys.options()).wrap(FOOTER)
    assert gcp.calls == []


@pytest.mark.parametrize(
    ("details", "condition", "mention"),
    [
        ((), "PME_KEY_DENIED", "does not let this user use master key"),
        ((HELP,), "PME_KEY_DENIED", "does not let this user use master key"),
        ((reason("IAM_PERMISSION_DENIED"),), "PME_KEY_DENIED", "does not let this user use master key"),
        ((HELP, reason("SERVICE_DISABLED")), "PME_KMS_UNAVAILABLE", "SERVICE_DISABLED"),
        ((reason("BILLING_DISABLED"), HELP), "PME_KMS_UNAVAILABLE", "BILLING_DISABLED"),
        ((reason("ACCESS_TOKEN_SCOPE_INSUFFICIENT"),), "PME_KMS_UNAVAILABLE", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"),
        ((reason("<a reason of nobody's>"),), "PME_KMS_UNAVAILABLE", "reason: not given"),
    ],
    ids=["no details", "help", "permission", "service", "billing", "scope", "strange"],
)
def test_only_a_permission_that_is_missing_denies_a_key(
    gcp: GcpServer, client: Opened, details: tuple[dict[str, object], ...], condition: str, mention: str
) -> None:
    wrapped = client.wrap(FOOTER)
    gcp.inject(permission_denied(*details), times=None, path=gcp.unwrap)
    with refused(condition, mention, never=(*gcp.secrets, "nobody's")):
        client.unwrap(wrapped, FOOTER)
