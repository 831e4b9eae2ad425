"""`kms=azure`: wrapped keys and the versions they name, algorithms, refusals, and each way to log in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.kms.access import FOOTER, KEYS, secret
from tests.kms.aws import properties_of
from tests.kms.azure_server import APP_HEADER, APP_SERVICE, IMDS, TENANT, AzureServer, VaultKey, forbidden
from tests.kms.client.opened import KEY
from tests.support.expect import refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.kms.client.opened import ClientJvm, Opened


@pytest.fixture(scope="module")
def held() -> dict[str, VaultKey]:
    return AzureServer.new_keys()


@pytest.fixture
def azure(held: dict[str, VaultKey]) -> Iterator[AzureServer]:
    with AzureServer(held) as made:
        yield made


@pytest.fixture
def client(clients: ClientJvm, azure: AzureServer, tmp_path: Path) -> Opened:
    return clients.open(azure.access(tmp_path, KEYS).options())


@pytest.mark.parametrize(
    "version", ["..", "0" * 31, "0" * 33, "A" * 32, "0" * 30 + "/.", f"{'0' * 32}/x", "https://example.com"]
)
def test_a_wrapped_key_says_nothing_else_of_where_a_call_goes(azure: AzureServer, client: Opened, version: str) -> None:
    value = client.wrap(FOOTER).rpartition(":")[2]
    azure.calls.clear()
    with refused("PME_NOT_AUTHENTIC", f"'{FOOTER}'"):
        client.unwrap(f"azure:{version}:{value}", FOOTER)
    assert azure.count("/keys/") == 0


@pytest.mark.parametrize(("algorithm", "size"), [("RSA-OAEP", None), ("A128KW", 16), ("A192KW", 24), ("A256KW", 32)])
def test_keys_wrap_by_each_algorithm(
    clients: ClientJvm, azure: AzureServer, tmp_path: Path, algorithm: Any, size: int | None
) -> None:
    azure.keys["hsm"] = VaultKey(size)
    client_id, text = azure.application(("hsm",))
    keys = pme.AzureKeyVault(
        azure.url, TENANT, client_id, secret(tmp_path, text), algorithm=algorithm, authority=azure.url
    )
    client = clients.open(keys.options())
    for bits in (128, 192, 256):
        key = bytes(range(bits // 8))
        assert client.unwrap(client.wrap("hsm", key), "hsm") == key


@pytest.mark.parametrize(
    ("inner", "condition", "mention"),
    [
        ("ForbiddenByPolicy", "PME_KEY_DENIED", "does not let this user use master key"),
        ("ForbiddenByRbac", "PME_KEY_DENIED", "does not let this user use master key"),
        ("KeyExpired", "PME_KEY_NOT_FOUND", "expired"),
        ("KeyOperationForbidden", "PME_KEY_NOT_FOUND", "not meant for wrapping"),
        ("ForbiddenByFirewall", "PME_KMS_UNAVAILABLE", "network rules"),
    ],
)
def test_kinds_of_refusals_are_distinguished(
    azure: AzureServer, client: Opened, inner: str, condition: str, mention: str
) -> None:
    azure.inject(forbidden(inner), path=azure.wrap)
    with refused(condition, mention, never=azure.secrets):
        client.wrap(FOOTER)
    assert azure.count(azure.wrap) == 1


@pytest.mark.parametrize("missing", ["kms.azure.tenantId", "kms.azure.clientId", "kms.azure.vaultUrl"])
def test_what_a_client_secret_needs_is_named(
    clients: ClientJvm, azure: AzureServer, tmp_path: Path, missing: str
) -> None:
    options = azure.access(tmp_path, KEYS).options()
    del options[missing]
    with refused("PME_BAD_OPTION", missing):
        clients.open(options)


def assert_logs_in(clients: ClientJvm, values: Mapping[str, str], keys: pme.AzureKeyVault) -> None:
    """Fail unless the identity that these variables are of may wrap, and may unwrap as another user."""
    with properties_of(clients.jvm, values):
        wrapped = clients.open(keys.options()).wrap(FOOTER)
        assert clients.open(keys.options()).unwrap(wrapped, FOOTER) == KEY


@pytest.mark.parametrize("client_id", [None, "user-assigned"])
def test_a_machines_identity_logs_in(clients: ClientJvm, azure: AzureServer, client_id: str | None) -> None:
    azure.identities = {client_id: frozenset(KEYS)}
    variables = {"AZURE_POD_IDENTITY_AUTHORITY_HOST": azure.url}
    assert_logs_in(clients, variables, pme.AzureKeyVault(azure.url, client_id=client_id))
    assert azure.count(IMDS) == 2


@pytest.mark.parametrize("of", ["machine", "app"])
def test_an_identity_is_asked_for_past_the_jvms_proxy(clients: ClientJvm, azure: AzureServer, of: str) -> None:
    machine = {"AZURE_POD_IDENTITY_AUTHORITY_HOST": azure.url}
    app = {"IDENTITY_ENDPOINT": azure.url + APP_SERVICE, "IDENTITY_HEADER": APP_HEADER}
    # Nothing listens there. An empty list sends calls of this machine there as well: the vault's, and not the login's.
    proxy = {"http.proxyHost": "127.0.0.1", "http.proxyPort": "1", "http.nonProxyHosts": ""}
    values = proxy | (machine if of == "machine" else app)
    with properties_of(clients.jvm, values):
        client = clients.open(pme.AzureKeyVault(azure.url).options())
        with refused("PME_KMS_UNAVAILABLE", "Key Vault", "reached"):
            client.wrap(FOOTER)
    assert [call.path for call in azure.calls] == [IMDS if of == "machine" else APP_SERVICE]
