"""`kms=aws` against moto: what is written is read, keys have ids of each form, and contexts are kept to.

Moto enforces encryption contexts and regions. What it does not do as AWS KMS does is in ``test_aws_failures.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.access import KEYS as VAULT_KEYS
from tests.kms.access import by_token, read, rows
from tests.kms.aws import CREDENTIALS, FOOTER, KEYS, PAY, PII, REGION, USER, access, encryption, properties
from tests.support.expect import refused, save

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.aws_server import AwsServer
    from tests.kms.transit_server import TransitServer

CLIENT = "io.pmeparquet.kms.aws.AwsKmsClient"
CONTEXT = {"team": "payroll", "stage": "tests"}


@pytest.fixture(autouse=True)
def _credentials(spark: SparkSession) -> Iterator[None]:
    with properties(spark, CREDENTIALS):
        yield


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_a_table_costs_one_call_for_each_key_and_direction(
    spark: SparkSession, aws: AwsServer, frame: DataFrame, target: str, scan: str
) -> None:
    kms = access(aws)
    save(frame.repartition(3), target, encryption(kms).options())
    assert aws.actions() == [("Encrypt", key) for key in sorted(KEYS)]
    aws.calls.clear()
    assert rows(read(spark, target, kms.options() | {"scan": scan})) == rows(frame)
    assert aws.actions() == [("Decrypt", key) for key in sorted(KEYS)]
    assert {(call.region, call.service, call.user) for call in aws.calls} == {(REGION, "kms", USER)}
    aws.calls.clear()
    itself = {"scan": scan, "kms.callFrom": "executor"}
    assert rows(read(spark, target, access(aws).options() | itself).select("id", "salary")) == rows(
        frame.select("id", "salary")
    )
    assert set(aws.actions()) == {("Decrypt", FOOTER), ("Decrypt", PAY)}


def test_sparks_own_source_reads_what_ours_wrote_and_the_other_way_round(
    spark: SparkSession, aws: AwsServer, aws_keys: dict[str, str], frame: DataFrame, tmp_path: Path
) -> None:
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    kms = access(aws, CONTEXT)
    of_sparks = {
        "parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
        "parquet.encryption.kms.client.class": CLIENT,
        "parquet.encryption.key.access.token": str(tmp_path),
        **{f"parquet.encryption.{name}": value for name, value in kms.options().items() if name != "kms"},
    }
    keys = {"parquet.encryption.footer.key": FOOTER, "parquet.encryption.column.keys": f"{PII}:ssn;{PAY}:salary"}
    frame.write.format("parquet").options(**of_sparks, **keys).save(theirs)
    assert rows(read(spark, theirs, kms.options())) == rows(frame)
    save(frame, ours, encryption(kms).options())
    assert rows(spark.read.format("parquet").options(**of_sparks).load(ours)) == rows(frame)
    assert {call.key for call in aws.calls} == set(KEYS)


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_a_table_under_vault_and_one_under_aws_are_joined_and_neither_hears_of_the_other(
    spark: SparkSession,
    aws: AwsServer,
    server: TransitServer,
    aws_table: str,
    table: str,
    frame: DataFrame,
    tmp_path: Path,
    scan: str,
) -> None:
    vault = by_token(server, tmp_path)
    under_vault = read(spark, table, vault.options() | {"scan": scan})
    under_aws = read(spark, aws_table, access(aws).options() | {"scan": scan})
    joined = under_vault.join(under_aws, ["id", "ssn", "salary"])
    assert rows(joined) == rows(frame)
    assert aws.actions() == [("Decrypt", key) for key in sorted(KEYS)]
    assert sorted(server.paths()) == [f"transit/decrypt/{key}" for key in sorted(VAULT_KEYS)]
    assert all(call.accessor for call in server.calls)
    # Neither opens the other's table.
    with refused("PME_NOT_AUTHENTIC", "'footer'"):
        read(spark, table, access(aws).options()).collect()
    with pytest.raises(pme.PmeError, match="'alias/footer'"):
        read(spark, aws_table, vault.options()).collect()
    assert rows(read(spark, table, vault.options())) == rows(frame)
    assert rows(read(spark, aws_table, access(aws).options())) == rows(frame)
    assert {call.key for call in aws.calls} == set(KEYS)
