"""A cloud's credentials come from the machine: what a table says does not send them anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.expect import refused
from tests.support.source import FORMAT
from tests.support.stored import assert_not_of_a_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.source import Conf

ELSEWHERE = "https://kms.evil.example"
VAULT = {"kms": "azure", "kms.azure.vaultUrl": "https://acme.vault.azure.net"}


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"kms": "aws", "kms.aws.endpoint": ELSEWHERE}, "kms.aws.endpoint"),
        ({"kms": "aws", "kms.aws.endpoint": "https://kms.eu-central-1.amazonaws.com"}, "kms.aws.endpoint"),
        ({"kms": "aws", "kms.aws.region": "eu-central-1"}, "kms.aws.region"),
        ({"kms": "gcp", "kms.gcp.endpoint": ELSEWHERE}, "kms.gcp.endpoint"),
        ({"kms": "azure", "kms.azure.vaultUrl": ELSEWHERE}, "kms.azure.vaultUrl"),
        (VAULT | {"kms.azure.authority": ELSEWHERE}, "kms.azure.authority"),
        (VAULT | {"kms.azure.tenantId": "evil"}, "kms.azure.tenantId"),
    ],
)
def test_a_table_names_no_place_in_a_cloud(
    spark: SparkSession, target: str, conf: Conf, options: dict[str, str], option: str
) -> None:
    assert_not_of_a_table(spark, conf, target, options, option)


def test_an_address_that_would_send_credentials_in_plaintext_is_refused(spark: SparkSession, target: str) -> None:
    options = {"kms": "gcp", "kms.gcp.endpoint": "https://user:s3cr3t@cloudkms.googleapis.com"}
    with refused("PME_BAD_OPTION", "kms.gcp.endpoint", never=("s3cr3t",)):
        spark.range(1).write.format(FORMAT).options(footerKey="k", **options).save(target)
