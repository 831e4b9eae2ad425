"""How Spark comes to a token: logins by AppRole and Kubernetes, repeated when it ends; and refused options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.access import (
    APPROLE,
    FOOTER,
    JWT,
    KEYS,
    KUBERNETES,
    PAY,
    by_approle,
    by_kubernetes,
    by_token,
    encryption,
    read,
    rows,
)
from tests.support.expect import refused, save, untouched

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.access import Transit
    from tests.kms.transit_server import TransitServer

pytestmark = pytest.mark.nightly


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


def test_a_reader_logs_in_again_after_its_token_has_expired(
    spark: SparkSession, server: TransitServer, table: str, second: str, frame: DataFrame, tmp_path: Path
) -> None:
    options = by_approle(server, tmp_path, server.approle(KEYS)).options()
    assert rows(read(spark, table, options)) == rows(frame)
    server.state.expire()
    assert rows(read(spark, second, options)) == rows(frame)
    assert server.count("login") == 2
    assert [call.status for call in server.calls].count(403) == 1


def test_a_refused_login_is_named_and_not_repeated(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    right, wrong = server.approle(KEYS), "wrong-secret-5d0e"
    keys = by_approle(server, tmp_path, right._replace(secret_id=wrong))
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "login", "auth/approle", never=(wrong, right.secret_id)):
        save(frame, target, encryption(keys).options())
    assert server.paths() == [APPROLE]


def test_an_option_of_no_use_is_refused(server: TransitServer, frame: DataFrame, target: str, tmp_path: Path) -> None:
    given = by_token(server, tmp_path).options() | {"uniformKey": FOOTER}
    with untouched(target), refused("PME_BAD_OPTION", "kms.vault.url", never=("hunter2",)):
        save(frame, target, given | {"kms.vault.url": "https://me:hunter2-of-mine@vault.example"})
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
