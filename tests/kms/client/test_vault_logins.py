"""How a client comes to a Vault's token: which logins are refused, what is renewed, and which options go together."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.kms import answers
from tests.kms.access import APPROLE, FOOTER, JWT, KEYS, KUBERNETES, PII, AppRole, by_approle, by_kubernetes, by_token
from tests.kms.client.opened import KEY
from tests.kms.transit_server import TransitServer
from tests.support.expect import refused

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kms.client.opened import ClientJvm
    from tests.kms.transit_key import TransitKey

RENEWAL = "auth/token/renew-self"


def test_a_login_can_be_mounted_elsewhere_and_in_a_namespace(
    clients: ClientJvm, held: dict[str, TransitKey], wrapped: dict[str, str], tmp_path: Path
) -> None:
    with TransitServer(namespace="team-a", keys=held) as other:
        other.role("kubernetes", "spark", JWT, mount="clusters/eu", keys=frozenset(KEYS))
        client = clients.open(by_kubernetes(other, tmp_path, auth_mount="clusters/eu").options())
        assert [client.unwrap(wrapped[key], key) for key in KEYS] == [KEY] * len(KEYS)
        assert other.paths()[0] == "auth/clusters/eu/login"
        assert {call.namespace for call in other.calls} == {"team-a"}


def test_a_token_that_is_refused_after_a_new_login_too_is_an_error(
    clients: ClientJvm, server: TransitServer, wrapped: dict[str, str], tmp_path: Path
) -> None:
    client = clients.open(by_approle(server, tmp_path, server.approle(KEYS)).options())
    server.inject(answers.INVALID_TOKEN, times=None, path="decrypt")
    with refused("PME_KMS_UNAVAILABLE", "token", never=tuple(server.state.tokens)):
        client.unwrap(wrapped[FOOTER], FOOTER)
    assert server.count("login") == server.count("decrypt") == 2


@pytest.mark.parametrize("renewable", [True, False])
def test_a_token_is_renewed_before_it_ends_or_else_there_is_a_new_login(
    clients: ClientJvm, server: TransitServer, wrapped: dict[str, str], tmp_path: Path, *, renewable: bool
) -> None:
    role = AppRole("short", "secret-id-91f0", "approle")
    server.role("approle", role.role_id, role.secret_id, keys=frozenset(KEYS), lease=2, renewable=renewable)
    client = clients.open(by_approle(server, tmp_path, role).options())
    assert client.unwrap(wrapped[FOOTER], FOOTER) == KEY
    before = server.count("login")
    # The server's clock is the machine's.
    time.sleep(1.5)
    assert client.unwrap(wrapped[PII], PII) == KEY
    if renewable:
        assert server.count("login") == 1
        assert server.count(RENEWAL) >= 1
    else:
        assert server.count("login") > before


@pytest.mark.parametrize("login", [APPROLE, KUBERNETES, "auth/nowhere/login"])
def test_a_refused_login_is_named_and_not_repeated(
    clients: ClientJvm, server: TransitServer, tmp_path: Path, login: str
) -> None:
    right = server.approle(KEYS)
    server.role("kubernetes", "spark", JWT, keys=frozenset(KEYS))
    wrong = "wrong-secret-5d0e"
    keys = {
        APPROLE: by_approle(server, tmp_path, right._replace(secret_id=wrong)),
        KUBERNETES: by_kubernetes(server, tmp_path, wrong),
        "auth/nowhere/login": by_approle(server, tmp_path, right._replace(mount="nowhere")),
    }[login]
    client = clients.open(keys.options())
    mention = login.removesuffix("/login")
    with refused("PME_KMS_UNAVAILABLE", "login", mention, never=(wrong, right.secret_id)):
        client.wrap(FOOTER)
    assert server.paths() == [login]


@pytest.mark.parametrize(
    ("changes", "mention"),
    [
        ({"kms.vault.url": None}, "kms.vault.url"),
        ({"kms.vault.url": "vault"}, "kms.vault.url"),
        ({"kms.vault.url": "http://vault.example:8200"}, "kms.vault.url"),
        ({"kms.vault.url": "https://me:hunter2-of-mine@vault.example"}, "kms.vault.url"),
        ({"kms.vault.token": None}, "kms.vault.token"),
        ({"kms.vault.auth": "github"}, "kms.vault.auth"),
        ({"kms.vault.auth": "approle", "kms.vault.token": None, "kms.vault.role": "r"}, "kms.vault.secretId"),
        ({"kms.vault.auth": "approle", "kms.vault.token": None}, "kms.vault.role"),
        ({"kms.vault.auth": "kubernetes", "kms.vault.token": None}, "kms.vault.role"),
        ({"kms.vault.mount": "transit/../../sys"}, "kms.vault.mount"),
        ({"kms.vault.mount": "transit?list=true"}, "kms.vault.mount"),
        ({"kms.vault.namespace": "team/%2e%2e"}, "kms.vault.namespace"),
        ({"kms.vault.url": "https://vault.example/v1/.."}, "kms.vault.url"),
        ({"kms.timeoutSeconds": "0"}, "kms.timeoutSeconds"),
        ({"kms.timeoutSeconds": "soon"}, "kms.timeoutSeconds"),
    ],
)
def test_options_that_are_missing_or_of_no_use_are_refused(
    clients: ClientJvm, server: TransitServer, tmp_path: Path, changes: dict[str, str | None], mention: str
) -> None:
    given = by_token(server, tmp_path).options() | changes
    with refused("PME_BAD_OPTION", mention, never=("hunter2",)):
        clients.open({name: value for name, value in given.items() if value is not None})
    assert server.calls == []


@pytest.mark.parametrize("auth", ["token", "approle"])
def test_options_of_two_ways_to_a_token_contradict_each_other(
    clients: ClientJvm, server: TransitServer, tmp_path: Path, auth: str
) -> None:
    token = by_token(server, tmp_path).options()
    login = by_approle(server, tmp_path, server.approle(KEYS)).options()
    with refused("PME_BAD_OPTION", "kms.vault.auth"):
        clients.open(token | login | {"kms.vault.auth": auth})
    assert server.calls == []
