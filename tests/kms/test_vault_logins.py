"""How Spark comes to a token: logins by AppRole and Kubernetes, renewed and repeated; and which options go together."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support.expect import refused, save, untouched
from tests.support.kms import answers
from tests.support.kms.access import (
    FOOTER,
    KEYS,
    PAY,
    AppRole,
    by_approle,
    by_token,
    encryption,
    place,
    read,
    rows,
    secret,
)
from tests.support.kms.transit_server import TransitServer

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kms.access import Transit
    from tests.support.kms.transit_key import TransitKey

APPROLE, KUBERNETES = "auth/approle/login", "auth/kubernetes/login"
RENEWAL = "auth/token/renew-self"
JWT = "header.claims-77b2.signature"


def by_kubernetes(vault: TransitServer, directory: Path, jwt: str = JWT, **fields: Any) -> pme.Vault:
    return pme.Vault(**place(vault), auth="kubernetes", role="spark", jwt=secret(directory, jwt), **fields)


@pytest.fixture
def second(server: TransitServer, frame: DataFrame, tmp_path: Path) -> str:
    """Return another table under the same keys, whose wrapped keys no reader has had unwrapped."""
    path = str(tmp_path / "second")
    save(frame, path, encryption(by_token(server, tmp_path)).options())
    server.calls.clear()
    return path


def test_an_approle_writes_and_reads(
    spark: SparkSession, vault: Transit, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = by_approle(vault, tmp_path, vault.approle(KEYS))
    save(frame, target, encryption(keys).options())
    assert rows(read(spark, target, keys.options())) == rows(frame)


def test_an_approle_reads_what_it_may(
    spark: SparkSession, vault: Transit, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    save(frame, target, encryption(by_token(vault, tmp_path)).options())
    few = read(spark, target, by_approle(vault, tmp_path, vault.approle([FOOTER, PAY])).options())
    assert few.select("salary").count() == frame.count()
    with refused("PME_KEY_DENIED", "ssn"):
        few.select("ssn").collect()


def test_a_service_account_writes_and_reads(
    spark: SparkSession, server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    server.role("kubernetes", "spark", JWT, keys=frozenset(KEYS))
    keys = by_kubernetes(server, tmp_path)
    save(frame, target, encryption(keys).options())
    assert sorted(server.paths()) == [KUBERNETES, *sorted(f"transit/encrypt/{key}" for key in KEYS)]
    assert rows(read(spark, target, keys.options())) == rows(frame)


def test_a_secret_in_a_file_may_end_with_a_line(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    server.role("kubernetes", "spark", JWT, keys=frozenset(KEYS))
    save(frame, target, encryption(by_kubernetes(server, tmp_path, f"{JWT}\n")).options())


def test_a_reader_logs_in_once(
    spark: SparkSession, server: TransitServer, table: str, second: str, frame: DataFrame, tmp_path: Path
) -> None:
    options = by_approle(server, tmp_path, server.approle(KEYS)).options()
    for path in (table, second):
        assert rows(read(spark, path, options)) == rows(frame)
    assert server.paths()[0] == APPROLE
    assert server.count("login") == 1
    [accessor] = {call.accessor for call in server.calls[1:]}
    assert accessor
    assert server.calls[0].accessor is None
    assert server.calls[0].fields == {"role_id", "secret_id"}


def test_a_login_can_be_mounted_elsewhere_and_in_a_namespace(
    spark: SparkSession,
    server: TransitServer,
    held: dict[str, TransitKey],
    table: str,
    frame: DataFrame,
    tmp_path: Path,
) -> None:
    with TransitServer(namespace="team-a", keys=held) as other:
        other.role("kubernetes", "spark", JWT, mount="clusters/eu", keys=frozenset(KEYS))
        keys = by_kubernetes(other, tmp_path, auth_mount="clusters/eu")
        assert rows(read(spark, table, keys.options())) == rows(frame)
        assert other.paths()[0] == "auth/clusters/eu/login"
        assert {call.namespace for call in other.calls} == {"team-a"}


def test_after_its_token_has_ended_a_reader_logs_in_anew(
    spark: SparkSession, server: TransitServer, table: str, second: str, frame: DataFrame, tmp_path: Path
) -> None:
    options = by_approle(server, tmp_path, server.approle(KEYS)).options()
    assert rows(read(spark, table, options)) == rows(frame)
    server.state.expire()
    assert rows(read(spark, second, options)) == rows(frame)
    assert server.count("login") == 2
    assert [call.status for call in server.calls].count(403) == 1


def test_a_token_that_is_refused_after_a_new_login_too_is_an_error(
    spark: SparkSession, server: TransitServer, table: str, tmp_path: Path
) -> None:
    options = by_approle(server, tmp_path, server.approle(KEYS)).options()
    server.inject(answers.INVALID_TOKEN, times=None, path="decrypt")
    with refused("PME_KMS_UNAVAILABLE", "token", never=tuple(server.state.tokens)):
        read(spark, table, options).collect()
    assert server.count("login") == server.count("decrypt") == 2


@pytest.mark.parametrize("renewable", [True, False])
def test_a_token_is_renewed_before_it_ends_or_else_there_is_a_new_login(
    spark: SparkSession,
    server: TransitServer,
    table: str,
    second: str,
    frame: DataFrame,
    tmp_path: Path,
    *,
    renewable: bool,
) -> None:
    role = AppRole("short", "secret-id-91f0", "approle")
    server.role("approle", role.role_id, role.secret_id, keys=frozenset(KEYS), lease=2, renewable=renewable)
    options = by_approle(server, tmp_path, role).options()
    assert rows(read(spark, table, options)) == rows(frame)
    before = server.count("login")
    time.sleep(1.5)
    assert rows(read(spark, second, options)) == rows(frame)
    if renewable:
        assert server.count("login") == 1
        assert server.count(RENEWAL) >= 1
    else:
        assert server.count("login") > before


def test_a_refused_login_is_named_and_not_repeated(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    right = server.approle(KEYS)
    server.role("kubernetes", "spark", JWT, keys=frozenset(KEYS))
    wrong = "wrong-secret-5d0e"
    logins = {
        APPROLE: by_approle(server, tmp_path, right._replace(secret_id=wrong)),
        KUBERNETES: by_kubernetes(server, tmp_path, wrong),
        "auth/nowhere/login": by_approle(server, tmp_path, right._replace(mount="nowhere")),
    }
    for path, keys in logins.items():
        server.calls.clear()
        refusal = refused("PME_KMS_UNAVAILABLE", "login", path.removesuffix("/login"), never=(wrong, right.secret_id))
        with untouched(target), refusal:
            save(frame, target, encryption(keys).options())
        assert server.paths() == [path]


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
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path, changes: dict[str, str | None], mention: str
) -> None:
    given = by_token(server, tmp_path).options() | {"uniformKey": FOOTER} | changes
    options = {name: value for name, value in given.items() if value is not None}
    with untouched(target), refused("PME_BAD_OPTION", mention, never=("hunter2",)):
        save(frame, target, options)
    assert server.calls == []


def test_options_of_two_ways_to_a_token_contradict_each_other(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    token = by_token(server, tmp_path).options()
    login = by_approle(server, tmp_path, server.approle(KEYS)).options()
    both = token | login | {"uniformKey": FOOTER}
    for auth in ("token", "approle"):
        with untouched(target), refused("PME_BAD_OPTION", "kms.vault.auth"):
            save(frame, target, both | {"kms.vault.auth": auth})
    assert server.calls == []


def test_a_misspelt_option_is_refused(server: TransitServer, frame: DataFrame, target: str, tmp_path: Path) -> None:
    options = by_token(server, tmp_path).options() | {"uniformKey": FOOTER, "kms.vault.namespase": "team-a"}
    with untouched(target), refused("PME_UNKNOWN_OPTION", "kms.vault.namespace"):
        save(frame, target, options)


@pytest.mark.parametrize("option", ["kms.vault.token", "kms.vault.secretId", "kms.vault.jwt"])
def test_a_secret_written_out_is_refused_and_not_repeated(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path, option: str
) -> None:
    options = by_token(server, tmp_path).options() | {"uniformKey": FOOTER, option: "hvs.hunter2-of-mine"}
    with untouched(target), refused("PME_SECRET_IN_OPTION", option, "env:NAME", never=("hunter2",)):
        save(frame, target, options)
    assert server.calls == []


def test_outside_a_pod_the_service_account_is_not_found(server: TransitServer, frame: DataFrame, target: str) -> None:
    keys = pme.Vault(server.url, auth="kubernetes", role="spark")
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "kms.vault.jwt", "/var/run/secrets/kubernetes.io/"):
        save(frame, target, encryption(keys).options())
