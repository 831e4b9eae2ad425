"""`kms=vault`: what is asked of it and where, keys of every length and version, and ids that lead nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.kms.access import FOOTER, KEYS, PAY, PII, by_token, secret
from tests.kms.client.opened import KEY
from tests.kms.loopback import Fault
from tests.kms.transit_server import TransitServer
from tests.support.expect import refused

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kms.access import Transit
    from tests.kms.client.opened import ClientJvm
    from tests.kms.transit_key import TransitKey


@pytest.mark.parametrize("bits", [128, 192, 256])
def test_keys_of_every_length_come_back(clients: ClientJvm, vault: Transit, tmp_path: Path, bits: int) -> None:
    client = clients.open(by_token(vault, tmp_path).options())
    key = bytes(range(bits // 8))
    assert client.unwrap(client.wrap(FOOTER, key), FOOTER) == key


def test_a_rotated_key_still_opens_old_keys_and_wraps_new_ones_with_its_new_version(
    clients: ClientJvm, vault: Transit, tmp_path: Path
) -> None:
    vault.create("turning")
    client = clients.open(by_token(vault, tmp_path, ["turning"]).options())
    wrapped = []
    for _ in range(2):
        wrapped.append(client.wrap("turning"))
        vault.rotate("turning")
    assert [text.split(":")[1] for text in wrapped] == ["v1", "v2"]
    assert [client.unwrap(text, "turning") for text in wrapped] == [KEY] * 2


def test_a_version_that_no_longer_decrypts_is_not_found_and_a_newer_one_is(
    clients: ClientJvm, server: TransitServer, tmp_path: Path
) -> None:
    server.create("disabled")
    client = clients.open(by_token(server, tmp_path, ["disabled"]).options())
    old = client.wrap("disabled")
    server.rotate("disabled")
    server.keys["disabled"].min_decryption_version = 2
    assert client.unwrap(client.wrap("disabled"), "disabled") == KEY
    with refused("PME_KEY_NOT_FOUND", "'disabled", "version"):
        client.unwrap(old, "disabled")


def test_a_destroyed_key_is_not_found_and_the_others_are(
    clients: ClientJvm, server: TransitServer, wrapped: dict[str, str], tmp_path: Path
) -> None:
    kept = server.keys.pop(PII)
    client = clients.open(by_token(server, tmp_path).options())
    try:
        assert [client.unwrap(wrapped[key], key) for key in (FOOTER, PAY)] == [KEY] * 2
        with refused("PME_KEY_NOT_FOUND", f"'{PII}'"):
            client.unwrap(wrapped[PII], PII)
    finally:
        server.keys[PII] = kept


def test_a_token_uses_the_keys_that_its_policy_allows(
    clients: ClientJvm, vault: Transit, wrapped: dict[str, str], tmp_path: Path
) -> None:
    few = clients.open(by_token(vault, tmp_path, [FOOTER, PAY]).options())
    texts = {key: clients.open(by_token(vault, tmp_path).options()).wrap(key) for key in wrapped}
    assert few.unwrap(texts[PAY], PAY) == KEY
    with refused("PME_KEY_DENIED", f"'{PII}'"):
        few.unwrap(texts[PII], PII)


def test_nothing_is_sent_but_what_the_wire_format_asks_for(
    clients: ClientJvm, server: TransitServer, tmp_path: Path
) -> None:
    client = clients.open(by_token(server, tmp_path).options())
    for key in KEYS:
        assert client.unwrap(client.wrap(key), key) == KEY
    assert sorted(server.paths()) == sorted(f"transit/{what}/{key}" for what in ("encrypt", "decrypt") for key in KEYS)
    server.assert_sent_no_more_than_asked()


def test_another_mount_and_a_namespace_are_asked(
    clients: ClientJvm, held: dict[str, TransitKey], wrapped: dict[str, str], tmp_path: Path
) -> None:
    with TransitServer(mount="kms/eu", namespace="team-a", keys=held) as other:
        client = clients.open(by_token(other, tmp_path).options())
        assert [client.unwrap(text, key) for key, text in wrapped.items()] == [KEY] * len(KEYS)
        assert {call.namespace for call in other.calls} == {"team-a"}
        assert all(path.startswith("kms/eu/decrypt/") for path in other.paths())


def test_a_url_may_end_with_a_slash(
    clients: ClientJvm, server: TransitServer, wrapped: dict[str, str], tmp_path: Path
) -> None:
    options = by_token(server, tmp_path).options() | {"kms.vault.url": f"{server.url}/"}
    assert clients.open(options).unwrap(wrapped[FOOTER], FOOTER) == KEY


def test_a_vault_that_is_slow_is_waited_for(
    clients: ClientJvm, server: TransitServer, wrapped: dict[str, str], tmp_path: Path
) -> None:
    client = clients.open(by_token(server, tmp_path).options())
    server.inject(Fault(delay=0.3), times=None)
    assert client.unwrap(wrapped[FOOTER], FOOTER) == KEY
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    "planted", ["../keys/footer", "footer/../pii", "a/b", "footer?x=1", "footer#x", "%2e%2e/pii", ""]
)
def test_a_key_id_in_key_material_leads_nowhere_else_in_vault(
    clients: ClientJvm, server: TransitServer, wrapped: dict[str, str], tmp_path: Path, planted: str
) -> None:
    client = clients.open(pme.Vault(server.url, token=secret(tmp_path, server.token())).options())
    with pytest.raises(pme.PmeError):
        client.unwrap(wrapped[FOOTER], planted)
    allowed: set[Any] = {f"transit/{operation}/{key}" for operation in ("encrypt", "decrypt") for key in KEYS}
    assert set(server.paths()) - allowed == set()
