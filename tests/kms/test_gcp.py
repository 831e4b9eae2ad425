"""`kms=gcp`: how keys are named, checksums, and logins with and without a service account's key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.gcp_server import RING, GcpServer, crc32c
from tests.support.expect import refused, save, untouched
from tests.support.kms.access import FOOTER, KEYS, PII, read, rows, secret
from tests.support.kms.answers import Answer
from tests.support.kms.aws import properties

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def gcp() -> Iterator[GcpServer]:
    with GcpServer() as made:
        yield made


def uniform(kms: pme.GcpKms, key: str = FOOTER) -> dict[str, str]:
    return pme.Encryption(kms=kms, uniform_key=key).options()


def test_the_checksum_of_the_tests_is_that_of_the_standard() -> None:
    # RFC 3720, appendix B.4.
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"123456789") == 0xE3069283


def test_a_key_may_be_named_in_full(
    spark: SparkSession, gcp: GcpServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = pme.GcpKms(credentials=secret(tmp_path, gcp.account(KEYS)), endpoint=gcp.url)
    save(frame, target, uniform(keys, f"{RING}/cryptoKeys/{FOOTER}"))
    assert rows(read(spark, target, keys.options())) == rows(frame)
    with refused("PME_KEY_NOT_FOUND", "kms.gcp.keyRing"):
        save(frame, f"{target}2", uniform(keys))


@pytest.mark.parametrize("ring", ["spark", "projects/../locations/x/keyRings/y", f"{RING}/cryptoKeys/k", f"/{RING}"])
def test_a_key_ring_that_is_none_is_refused(
    gcp: GcpServer, frame: DataFrame, target: str, tmp_path: Path, ring: str
) -> None:
    keys = pme.GcpKms(ring, credentials=secret(tmp_path, gcp.account(KEYS)), endpoint=gcp.url)
    with untouched(target), refused("PME_BAD_OPTION", "kms.gcp.keyRing"):
        save(frame, target, uniform(keys))
    assert gcp.calls == []


@pytest.mark.parametrize(
    "change",
    [{"ciphertextCrc32c": "1"}, {"verifiedPlaintextCrc32c": False}, {"ciphertext": "AAAA"}],
    ids=["of the answer", "of the request", "the answer itself"],
)
def test_damage_on_the_way_is_noticed_on_write(
    gcp: GcpServer, frame: DataFrame, target: str, tmp_path: Path, change: dict[str, object]
) -> None:
    right = {"ciphertext": "AQID", "ciphertextCrc32c": str(crc32c(b"\1\2\3")), "verifiedPlaintextCrc32c": True}
    gcp.inject(Answer(200, right | change), path=gcp.wrap)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "checksum"):
        save(frame, target, uniform(gcp.access(tmp_path, KEYS)))


def test_damage_on_the_way_is_noticed_on_read(
    spark: SparkSession, gcp: GcpServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = gcp.access(tmp_path, KEYS)
    save(frame, target, uniform(keys))
    gcp.inject(Answer(200, {"plaintext": "AAAAAAAAAAAAAAAAAAAAAA==", "plaintextCrc32c": "5"}), path=gcp.unwrap)
    with refused("PME_KMS_UNAVAILABLE", "checksum", ".parquet"):
        read(spark, target, keys.options()).collect()


def test_a_service_accounts_key_that_is_not_its_own_is_refused(
    gcp: GcpServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    stranger = json.loads(gcp.account(KEYS)) | {"client_email": "nobody@acme-data.iam.gserviceaccount.com"}
    keys = pme.GcpKms(RING, credentials=secret(tmp_path, json.dumps(stranger)), endpoint=gcp.url)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "login", "400", never=("PRIVATE KEY",)):
        save(frame, target, uniform(keys))
    assert gcp.count(gcp.wrap) == 0


@pytest.mark.parametrize("kind", ["external_account", "authorized_user", "not JSON", "no key"])
def test_other_credentials_than_a_service_accounts_key_are_refused(
    gcp: GcpServer, frame: DataFrame, target: str, tmp_path: Path, kind: str
) -> None:
    # Those of another cloud would name files to send, and where to.
    text = json.loads(gcp.account(KEYS)) | {"type": kind, "token_url": gcp.url, "private_key": "MIIEnone"}
    given = {"not JSON": "MIIEnone", "no key": json.dumps(text | {"type": "service_account"})}.get(
        kind, json.dumps(text)
    )
    keys = pme.GcpKms(RING, credentials=secret(tmp_path, given), endpoint=gcp.url)
    with untouched(target), refused("PME_BAD_OPTION", "kms.gcp.credentials", never=("MIIEnone",)):
        save(frame, target, uniform(keys))
    assert gcp.calls == []


def test_a_token_serves_until_shortly_before_it_ends(
    gcp: GcpServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    # google-auth replaces tokens that have less than some minutes left.
    gcp.lifetime = 1
    options = pme.Encryption(kms=gcp.access(tmp_path, KEYS), footer_key=FOOTER, column_keys={"pii": ["ssn"]}).options()
    save(frame, target, options)
    assert gcp.count(gcp.login) == gcp.count(gcp.wrap) == 2


def test_without_credentials_the_machines_own_are_used(
    spark: SparkSession, gcp: GcpServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    place = tmp_path / ".config" / "gcloud" / "application_default_credentials.json"
    place.parent.mkdir(parents=True)
    place.write_text(gcp.account(KEYS))
    keys = pme.GcpKms(RING, endpoint=gcp.url)
    with properties(spark, {"user.home": str(tmp_path)}):
        save(frame, target, uniform(keys))
        assert rows(read(spark, target, keys.options())) == rows(frame)
    assert gcp.count(gcp.login) >= 1


def permission_denied(*details: dict[str, object]) -> Answer:
    """Return what Google's services answer, with the details of its error model (google.rpc.Status)."""
    error = {"code": 403, "message": "what Google says", "status": "PERMISSION_DENIED"}
    return Answer(403, {"error": error | ({"details": list(details)} if details else {})})


def reason(text: object) -> dict[str, object]:
    return {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": text, "domain": "googleapis.com"}


HELP: dict[str, object] = {"@type": "type.googleapis.com/google.rpc.Help", "links": [{"url": "https://example.com"}]}


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
    spark: SparkSession,
    gcp: GcpServer,
    frame: DataFrame,
    target: str,
    tmp_path: Path,
    details: tuple[dict[str, object], ...],
    condition: str,
    mention: str,
) -> None:
    keys = gcp.access(tmp_path, KEYS)
    save(frame, target, uniform(keys))
    gcp.inject(permission_denied(*details), times=None, path=gcp.unwrap)
    with refused(condition, mention, never=(*gcp.secrets, "nobody's")):
        read(spark, target, keys.options() | {"deniedColumns": "null"}).collect()


def test_a_column_is_masked_only_for_want_of_a_permission(
    spark: SparkSession, gcp: GcpServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = gcp.access(tmp_path, KEYS)
    save(frame, target, pme.Encryption(kms=keys, footer_key=FOOTER, column_keys={PII: ["ssn"]}).options())
    masking = gcp.access(tmp_path, KEYS).options() | {"deniedColumns": "null"}
    gcp.inject(permission_denied(reason("SERVICE_DISABLED")), times=None, path=f"{PII}{gcp.unwrap}")
    with refused("PME_KMS_UNAVAILABLE", "SERVICE_DISABLED"):
        read(spark, target, masking).collect()
