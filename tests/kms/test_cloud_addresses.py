"""A cloud's credentials come from the machine, so a table's options do not send them wherever they like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.policy.expect import refused
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ELSEWHERE = "https://kms.evil.example"
VAULT = {"kms": "azure", "kms.azure.vaultUrl": "https://acme.vault.azure.net"}


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"kms": "aws", "kms.aws.endpoint": ELSEWHERE}, "kms.aws.endpoint"),
        ({"kms": "aws", "kms.aws.endpoint": "https://evil-amazonaws.com"}, "kms.aws.endpoint"),
        ({"kms": "gcp", "kms.gcp.endpoint": ELSEWHERE}, "kms.gcp.endpoint"),
        ({"kms": "azure", "kms.azure.vaultUrl": ELSEWHERE}, "kms.azure.vaultUrl"),
        (VAULT | {"kms.azure.authority": ELSEWHERE}, "kms.azure.authority"),
        (VAULT | {"kms.azure.authority": "https://evil-login.microsoftonline.com"}, "kms.azure.authority"),
    ],
)
def test_a_read_s_options_may_not_name_a_host_that_is_not_the_cloud_s(
    spark: SparkSession, target: str, options: dict[str, str], option: str
) -> None:
    with refused("PME_BAD_OPTION", option, "spark.datasource.pme-parquet"):
        spark.range(1).write.format(FORMAT).options(footerKey="k", **options).save(target)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"kms": "aws", "kms.aws.endpoint": "http://kms.eu-central-1.amazonaws.com"}, "kms.aws.endpoint"),
        ({"kms": "gcp", "kms.gcp.endpoint": "https://user:s3cr3t@cloudkms.googleapis.com"}, "kms.gcp.endpoint"),
        ({"kms": "azure", "kms.azure.vaultUrl": "not an address"}, "kms.azure.vaultUrl"),
    ],
)
def test_an_address_that_would_send_credentials_readable_is_none(
    spark: SparkSession, target: str, options: dict[str, str], option: str
) -> None:
    with refused("PME_BAD_OPTION", option, never=("s3cr3t",)):
        spark.range(1).write.format(FORMAT).options(footerKey="k", **options).save(target)
