"""`kms=azure`: wrapped keys and the versions they name, algorithms, refusals, and each way to log in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.kms.access import FOOTER, KEYS, read, rows, secret
from tests.kms.aws import properties
from tests.kms.azure_server import APP_HEADER, APP_SERVICE, IMDS, TENANT, AzureServer, VaultKey, forbidden
from tests.kms.material import bend_material
from tests.support.expect import refused, save, untouched
from tests.support.files.key_material import materials

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def held() -> dict[str, VaultKey]:
    return AzureServer.new_keys()


@pytest.fixture
def azure(held: dict[str, VaultKey]) -> Iterator[AzureServer]:
    with AzureServer(held) as made:
        yield made


def uniform(kms: pme.AzureKeyVault, **fields: Any) -> dict[str, str]:
    return pme.Encryption(kms=kms, uniform_key=fields.pop("key", FOOTER), **fields).options()


def wrapped(directory: str) -> str:
    [found] = {material["wrappedDEK"] for material in materials(Path(directory))}
    return found


def test_a_wrapped_key_names_its_version_and_is_unwrapped_with_it(
    spark: SparkSession, azure: AzureServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = azure.access(tmp_path, KEYS)
    single = {"double_wrapping": False, "key_material": "external"}
    save(frame, target, uniform(keys, **single))
    [version] = azure.keys[FOOTER].versions
    assert wrapped(target).startswith(f"azure:{version}:")
    azure.rotate(FOOTER)
    assert rows(read(spark, target, keys.options())) == rows(frame)
    assert azure.count(f"/keys/{FOOTER}/{version}/unwrapkey") == 1


def test_a_version_may_be_named(
    spark: SparkSession, azure: AzureServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = azure.access(tmp_path, KEYS)
    [first] = azure.keys[FOOTER].versions
    azure.rotate(FOOTER)
    save(frame, target, uniform(keys, key=f"{FOOTER}/{first}"))
    assert rows(read(spark, target, keys.options())) == rows(frame)
    assert {call.path for call in azure.calls if "/keys/" in call.path} == {
        f"/keys/{FOOTER}/{first}/wrapkey",
        f"/keys/{FOOTER}/{first}/unwrapkey",
    }


def test_a_wrapped_key_says_nothing_else_of_where_a_call_goes(
    spark: SparkSession, azure: AzureServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = azure.access(tmp_path, KEYS)
    save(frame, target, uniform(keys, double_wrapping=False, key_material="external"))
    value = wrapped(target).rpartition(":")[2]
    azure.calls.clear()
    bend_material(target, {"wrappedDEK": f"azure:{'0' * 32}/x:{value}"})
    with refused("PME_NOT_AUTHENTIC", f"'{FOOTER}'"):
        read(spark, target, keys.options()).collect()
    assert azure.count("/keys/") == 0


def test_keys_wrap_by_aes(
    spark: SparkSession, azure: AzureServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    azure.keys["hsm"] = VaultKey(32)
    client_id, text = azure.application(("hsm",))
    keys = pme.AzureKeyVault(
        azure.url, TENANT, client_id, secret(tmp_path, text), algorithm="A256KW", authority=azure.url
    )
    save(frame, target, uniform(keys, key="hsm"))
    assert rows(read(spark, target, keys.options())) == rows(frame)


def test_an_algorithm_that_the_key_is_not_for_is_named(
    azure: AzureServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    options = uniform(azure.access(tmp_path, KEYS)) | {"kms.azure.algorithm": "A256KW"}
    with untouched(target), refused("PME_BAD_OPTION", "kms.azure.algorithm", "A256KW"):
        save(frame, target, options)


@pytest.mark.parametrize(
    ("inner", "condition", "mention"),
    [
        ("ForbiddenByPolicy", "PME_KEY_DENIED", "does not let this user use master key"),
        ("ForbiddenByFirewall", "PME_KMS_UNAVAILABLE", "network rules"),
    ],
)
def test_kinds_of_refusals_are_distinguished(
    azure: AzureServer, frame: DataFrame, target: str, tmp_path: Path, inner: str, condition: str, mention: str
) -> None:
    azure.inject(forbidden(inner), path=azure.wrap)
    with untouched(target), refused(condition, mention, never=azure.secrets):
        save(frame, target, uniform(azure.access(tmp_path, KEYS)))
    assert azure.count(azure.wrap) == 1


def test_a_wrong_client_secret_is_refused_once(
    azure: AzureServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    client_id, _ = azure.application(KEYS)
    wrong = "wrong~of-the-tests"
    keys = pme.AzureKeyVault(azure.url, TENANT, client_id, secret(tmp_path, wrong), authority=azure.url)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "401", "invalid_client", never=(wrong,)):
        save(frame, target, uniform(keys))
    assert len(azure.calls) == 1


def identity(
    spark: SparkSession, azure: AzureServer, frame: DataFrame, target: str, values: Mapping[str, str], **fields: str
) -> None:
    """Write and read as the identity that these variables are of."""
    keys = pme.AzureKeyVault(azure.url, **fields)  # type: ignore[arg-type]
    with properties(spark, values):
        save(frame, target, uniform(keys))
        assert rows(read(spark, target, keys.options())) == rows(frame)


def test_a_machines_identity_logs_in(spark: SparkSession, azure: AzureServer, frame: DataFrame, target: str) -> None:
    azure.identities = {"user-assigned": frozenset(KEYS)}
    identity(spark, azure, frame, target, {"AZURE_POD_IDENTITY_AUTHORITY_HOST": azure.url}, client_id="user-assigned")
    assert azure.count(IMDS) == 2


def test_an_apps_identity_logs_in(spark: SparkSession, azure: AzureServer, frame: DataFrame, target: str) -> None:
    variables = {"IDENTITY_ENDPOINT": azure.url + APP_SERVICE, "IDENTITY_HEADER": APP_HEADER}
    identity(spark, azure, frame, target, variables)
    assert azure.count(APP_SERVICE) == 2


def test_a_pods_identity_logs_in(
    spark: SparkSession, azure: AzureServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    file = tmp_path / "federated"
    file.write_text("assertion.of.the-tests\n")
    azure.assertions["assertion.of.the-tests"] = frozenset(KEYS)
    variables = {
        "AZURE_FEDERATED_TOKEN_FILE": str(file),
        "AZURE_CLIENT_ID": "workload",
        "AZURE_TENANT_ID": TENANT,
        "AZURE_AUTHORITY_HOST": f"{azure.url}/",
    }
    identity(spark, azure, frame, target, variables)
    assert azure.count("/oauth2/v2.0/token") == 2


def test_an_identity_that_the_machine_has_not_is_refused_once(
    spark: SparkSession, azure: AzureServer, frame: DataFrame, target: str
) -> None:
    keys = pme.AzureKeyVault(azure.url, client_id="nobody")
    refusal = refused("PME_KMS_UNAVAILABLE", "login", "400", "invalid_request")
    with properties(spark, {"AZURE_POD_IDENTITY_AUTHORITY_HOST": azure.url}), untouched(target), refusal:
        save(frame, target, uniform(keys))
    assert len(azure.calls) == 1
