"""`kms=gcp`: how keys are named, checksums, and logins with and without a service account's key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.access import FOOTER, KEYS, PII, read, rows, secret
from tests.kms.answers import Answer
from tests.kms.aws import properties
from tests.kms.gcp_server import RING, GcpServer, permission_denied, reason
from tests.kms.gcp_signing import crc32c
from tests.support.expect import refused, save, untouched

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.nightly


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


def test_an_invalid_key_ring_is_refused(gcp: GcpServer, frame: DataFrame, target: str, tmp_path: Path) -> None:
    keys = pme.GcpKms(f"{RING}/cryptoKeys/k", credentials=secret(tmp_path, gcp.account(KEYS)), endpoint=gcp.url)
    with untouched(target), refused("PME_BAD_OPTION", "kms.gcp.keyRing"):
        save(frame, target, uniform(keys))
    assert gcp.calls == []


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


def test_a_column_is_masked_only_for_want_of_a_permission(
    spark: SparkSession, gcp: GcpServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = gcp.access(tmp_path, KEYS)
    save(frame, target, pme.Encryption(kms=keys, footer_key=FOOTER, column_keys={PII: ["ssn"]}).options())
    masking = gcp.access(tmp_path, KEYS).options() | {"deniedColumns": "null"}
    gcp.inject(permission_denied(reason("SERVICE_DISABLED")), times=None, path=f"{PII}{gcp.unwrap}")
    with refused("PME_KMS_UNAVAILABLE", "SERVICE_DISABLED"):
        read(spark, target, masking).collect()
