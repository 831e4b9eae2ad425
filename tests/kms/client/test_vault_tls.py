"""Which certificates of a Vault are trusted, and that nothing is sent to any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.access import FOOTER, KEYS, by_token, secret
from tests.kms.answers import Answer
from tests.kms.client.opened import KEY
from tests.kms.transit_server import TransitServer
from tests.support.expect import refused
from tests.support.kms.certificates import Authority, Certificate

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kms.client.opened import ClientJvm


def access(vault: TransitServer, directory: Path, ca_cert: Path | None) -> dict[str, str]:
    return pme.Vault(vault.url, token=secret(directory, vault.token(KEYS)), ca_cert=ca_cert).options()


def test_the_file_of_authorities_may_hold_several(
    clients: ClientJvm, trusted: TransitServer, authority: Authority, wrapped: dict[str, str], tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.write_bytes(Authority(tmp_path, "others").path.read_bytes() + authority.path.read_bytes())
    client = clients.open(access(trusted, tmp_path, bundle))
    assert [client.unwrap(wrapped[key], key) for key in KEYS] == [KEY] * len(KEYS)


def assert_gets_nothing(clients: ClientJvm, vault: TransitServer, options: dict[str, str]) -> None:
    """Fail unless no request reaches the Vault, because of its certificate."""
    client = clients.open(options)
    with refused("PME_KMS_UNAVAILABLE", ".parquet", vault.url, "certificate"):
        client.wrap(FOOTER)
    with refused("PME_KMS_UNAVAILABLE", ".parquet", vault.url, "certificate"):
        client.unwrap("vault:v1:AAAA", FOOTER)
    assert vault.calls == []
    assert vault.connections


@pytest.mark.parametrize("given", ["none", "another"])
def test_a_vault_of_an_unknown_authority_gets_no_request(
    clients: ClientJvm, trusted: TransitServer, tmp_path: Path, given: str
) -> None:
    ca_cert = None if given == "none" else Authority(tmp_path, "others").path
    assert_gets_nothing(clients, trusted, access(trusted, tmp_path, ca_cert))


@pytest.mark.parametrize("wrong", ["host", "time"])
def test_a_certificate_of_another_host_or_another_time_is_refused(
    clients: ClientJvm, authority: Authority, tmp_path: Path, wrong: str
) -> None:
    certificates: dict[str, Certificate] = {
        "host": authority.issue("elsewhere", "vault.example"),
        "time": authority.issue("expired", expired=True),
    }
    with TransitServer(certificate=certificates[wrong]) as vault:
        assert_gets_nothing(clients, vault, access(vault, tmp_path, authority.path))


def test_a_file_without_authorities_is_refused(clients: ClientJvm, trusted: TransitServer, tmp_path: Path) -> None:
    text = tmp_path / "text.pem"
    text.write_text("no certificate\n")
    with refused("PME_KMS_UNAVAILABLE", "certificates"):
        clients.open(access(trusted, tmp_path, text)).wrap(FOOTER)
    assert trusted.calls == []


def test_a_redirect_from_tls_to_plain_http_is_not_followed(
    clients: ClientJvm, trusted: TransitServer, server: TransitServer, authority: Authority, tmp_path: Path
) -> None:
    location = f"{server.url}/v1/transit/encrypt/{FOOTER}"
    trusted.inject(Answer(307, b"", {"Location": location}), times=None)
    with refused("PME_KMS_UNAVAILABLE", "redirects"):
        clients.open(access(trusted, tmp_path, authority.path)).wrap(FOOTER)
    assert server.calls == []


def test_plain_http_to_a_port_that_speaks_tls_is_refused(
    clients: ClientJvm, trusted: TransitServer, tmp_path: Path
) -> None:
    plain = trusted.url.replace("https://", "http://")
    options = by_token(trusted, tmp_path).options() | {"kms.timeoutSeconds": "1", "kms.vault.url": plain}
    with refused("PME_KMS_UNAVAILABLE", plain):
        clients.open_without_pauses(options).wrap(FOOTER)
