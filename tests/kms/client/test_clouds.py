"""`kms=gcp` and `kms=azure`, as far as they are alike: keys of every length and version, and who may use which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kms.access import FOOTER, KEYS, PAY, PII
from tests.kms.client.opened import KEY
from tests.kms.clouds import SERVERS, reading
from tests.support.expect import refused

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kms.client.opened import ClientJvm
    from tests.kms.cloud_server import CloudServer


def test_calls_of_one_client_need_one_login(clients: ClientJvm, cloud: CloudServer, tmp_path: Path) -> None:
    client = clients.open(reading(cloud, tmp_path))
    for key in KEYS:
        assert client.unwrap(client.wrap(key), key) == KEY
    assert (cloud.count(cloud.wrap), cloud.count(cloud.unwrap), cloud.count(cloud.login)) == (len(KEYS), len(KEYS), 1)
    assert len(cloud.calls) == 2 * len(KEYS) + 1


@pytest.mark.parametrize("bits", [128, 192, 256])
def test_keys_of_every_length_come_back(clients: ClientJvm, cloud: CloudServer, tmp_path: Path, bits: int) -> None:
    client, key = clients.open(reading(cloud, tmp_path)), bytes(range(bits // 8))
    assert client.unwrap(client.wrap(FOOTER, key), FOOTER) == key


def test_a_rotated_key_still_opens_old_keys_and_wraps_new_ones(
    clients: ClientJvm, cloud: CloudServer, cloud_wrapped: dict[str, str], tmp_path: Path
) -> None:
    for name in KEYS:
        cloud.rotate(name)
    client = clients.open(reading(cloud, tmp_path))
    for name in KEYS:
        assert client.unwrap(cloud_wrapped[name], name) == client.unwrap(client.wrap(name), name) == KEY


def test_a_key_that_the_user_may_not_use_is_denied(
    clients: ClientJvm, cloud: CloudServer, cloud_wrapped: dict[str, str], tmp_path: Path
) -> None:
    few = clients.open(reading(cloud, tmp_path, (FOOTER, PAY)))
    with refused("PME_KEY_DENIED", f"'{PII}'", never=cloud.secrets):
        few.wrap(PII)
    assert [few.unwrap(cloud_wrapped[key], key) for key in (FOOTER, PAY)] == [KEY] * 2
    with refused("PME_KEY_DENIED", f"'{PII}'", ".parquet", never=cloud.secrets):
        few.unwrap(cloud_wrapped[PII], PII)


def test_a_key_that_is_gone_or_disabled_is_not_found(clients: ClientJvm, cloud_kind: str, tmp_path: Path) -> None:
    with SERVERS[cloud_kind]() as cloud:
        client = clients.open(reading(cloud, tmp_path))
        wrapped = client.wrap(PII)
        cloud.disable(PII)
        with refused("PME_KEY_NOT_FOUND", f"'{PII}'", "disabled", ".parquet", never=cloud.secrets):
            client.unwrap(wrapped, PII)
        cloud.remove(PII)
        with refused("PME_KEY_NOT_FOUND", f"'{PII}'", "does not have it", ".parquet"):
            client.unwrap(wrapped, PII)
        with refused("PME_KEY_NOT_FOUND", f"'{PII}'"):
            client.wrap(PII)


def test_a_key_that_another_wrapped_does_not_open(
    clients: ClientJvm, cloud_kind: str, cloud_wrapped: dict[str, str], tmp_path: Path
) -> None:
    # A wrapped key of Key Vault names the version that wrapped it, and another key has no such version.
    condition = {"gcp": "PME_NOT_AUTHENTIC", "azure": "PME_KEY_NOT_FOUND"}[cloud_kind]
    with SERVERS[cloud_kind]() as other:
        with refused(condition, f"'{FOOTER}'", ".parquet", never=other.secrets):
            clients.open(reading(other, tmp_path)).unwrap(cloud_wrapped[FOOTER], FOOTER)
        assert other.count(other.unwrap) == 1


def test_no_host_gets_a_login_in_the_clear(clients: ClientJvm, cloud: CloudServer, tmp_path: Path) -> None:
    options = reading(cloud, tmp_path) | {cloud.address: cloud.url.replace("127.0.0.1", "example.com")}
    with refused("PME_BAD_OPTION", cloud.address):
        clients.open(options)
    assert cloud.calls == []
