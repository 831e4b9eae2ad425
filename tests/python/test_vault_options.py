"""`pme.Vault` gives exactly the options that were set, and takes secrets by reference only."""

from pathlib import Path
from typing import Any

import pytest

import pme_parquet as pme

URL = "https://vault:8200"
ALWAYS = {"kms": "vault", "kms.vault.url": URL, "kms.vault.mount": "transit", "kms.vault.auth": "token"}


def test_a_vault_gives_its_place_its_mount_and_where_the_token_is() -> None:
    assert pme.Vault(URL, token=pme.env("VAULT_TOKEN")).options() == ALWAYS | {"kms.vault.token": "env:VAULT_TOKEN"}


@pytest.mark.parametrize(
    ("field", "value", "option"),
    [
        ("mount", "kms/eu", {"kms.vault.mount": "kms/eu"}),
        ("namespace", "team-a", {"kms.vault.namespace": "team-a"}),
        ("auth", "kubernetes", {"kms.vault.auth": "kubernetes"}),
        ("role", "spark", {"kms.vault.role": "spark"}),
        ("secret_id", pme.file("/run/secret-id"), {"kms.vault.secretId": "file:/run/secret-id"}),
        ("jwt", pme.file("/run/jwt"), {"kms.vault.jwt": "file:/run/jwt"}),
        ("auth_mount", "k8s-eu", {"kms.vault.authMount": "k8s-eu"}),
        ("ca_cert", "/etc/vault.pem", {"kms.vault.caCert": "/etc/vault.pem"}),
        ("ca_cert", Path("/etc/vault.pem"), {"kms.vault.caCert": "/etc/vault.pem"}),
    ],
)
def test_each_field_becomes_its_option(field: str, value: Any, option: dict[str, str]) -> None:
    fields: dict[str, Any] = {field: value}
    assert pme.Vault(URL, **fields).options() == ALWAYS | option


def test_a_login_by_kubernetes_needs_no_secret_of_the_users() -> None:
    options = pme.Vault(URL, auth="kubernetes", role="spark").options()
    assert options == ALWAYS | {"kms.vault.auth": "kubernetes", "kms.vault.role": "spark"}


def test_a_write_takes_a_vault_like_any_other_kms() -> None:
    keys = pme.Vault(URL, token=pme.env("VAULT_TOKEN"))
    assert pme.Encryption(kms=keys, footer_key="footer").options() == keys.options() | {
        "footerKey": "footer",
        "keyManagement": "envelope",
    }


def test_which_fields_belong_together_is_checked_by_the_connector_not_here() -> None:
    wrong: Any = "github"
    assert pme.Vault(URL, auth=wrong).options()["kms.vault.auth"] == "github"
    assert "kms.vault.token" not in pme.Vault(URL).options()


@pytest.mark.parametrize("field", ["token", "secret_id", "jwt"])
@pytest.mark.parametrize("secret", ["hvs.hunter2-hunter2", "env:LOOKS_LIKE_ONE"])
def test_a_secret_written_out_is_refused_and_not_repeated(field: str, secret: str) -> None:
    fields: dict[str, Any] = {field: secret}
    with pytest.raises(pme.SecretInOptionError) as caught:
        pme.Vault(URL, **fields)
    assert caught.value.condition == "PME_SECRET_IN_OPTION"
    assert f"pme.Vault({field})" in str(caught.value)
    assert secret not in str(caught.value)
    assert secret not in repr(caught.value)
