"""The clouds' key services and Hadoop's give exactly the options that were set, and take secrets by reference only."""

from __future__ import annotations

import json
from typing import Any

import pytest

import pme_parquet as pme

VAULT = "https://acme.vault.azure.net"
AZURE = {"kms": "azure", "kms.azure.vaultUrl": VAULT, "kms.azure.algorithm": "RSA-OAEP-256"}


@pytest.mark.parametrize(
    ("kms", "options"),
    [
        (pme.AwsKms(), {"kms": "aws"}),
        (pme.AwsKms("eu-central-1"), {"kms": "aws", "kms.aws.region": "eu-central-1"}),
        (pme.AwsKms(endpoint="https://kms.test"), {"kms": "aws", "kms.aws.endpoint": "https://kms.test"}),
        (pme.GcpKms(), {"kms": "gcp"}),
        (
            pme.GcpKms("projects/p/locations/l/keyRings/r", pme.file("/run/sa.json"), "http://127.0.0.1:1"),
            {
                "kms": "gcp",
                "kms.gcp.keyRing": "projects/p/locations/l/keyRings/r",
                "kms.gcp.credentials": "file:/run/sa.json",
                "kms.gcp.endpoint": "http://127.0.0.1:1",
            },
        ),
        (pme.AzureKeyVault(VAULT), AZURE),
        (
            pme.AzureKeyVault(VAULT, "tenant", "client", pme.env("SECRET"), authority="https://login.test"),
            AZURE
            | {
                "kms.azure.tenantId": "tenant",
                "kms.azure.clientId": "client",
                "kms.azure.clientSecret": "env:SECRET",
                "kms.azure.authority": "https://login.test",
            },
        ),
        (pme.AzureKeyVault(VAULT, algorithm="A256KW"), AZURE | {"kms.azure.algorithm": "A256KW"}),
        (pme.HadoopKms(), {"kms": "hadoop"}),
        (
            pme.HadoopKms("kms://https@kms.test:9600/kms"),
            {"kms": "hadoop", "kms.hadoop.uri": "kms://https@kms.test:9600/kms"},
        ),
    ],
)
def test_each_field_becomes_its_option(kms: Any, options: dict[str, str]) -> None:
    assert kms.options() == options


def test_an_encryption_context_is_json() -> None:
    options = pme.AwsKms(encryption_context={"table": 'a "b"'}).options()
    assert json.loads(options["kms.aws.encryptionContext"]) == {"table": 'a "b"'}


@pytest.mark.parametrize(
    "make",
    [
        lambda secret: pme.GcpKms(credentials=secret),
        lambda secret: pme.AzureKeyVault(VAULT, client_secret=secret),
    ],
)
def test_a_secret_written_out_is_refused_and_not_repeated(make: Any) -> None:
    with pytest.raises(pme.SecretInOptionError) as refused:
        make("s3cr3t-value")
    assert "s3cr3t-value" not in str(refused.value)
