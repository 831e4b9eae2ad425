"""What AWS KMS refuses, through Spark: one refusal of each kind, and what a table may not name.

`client` has the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.access import read, rows
from tests.kms.answers import Answer
from tests.kms.aws import CREDENTIALS, FOOTER, PII, access, encryption, properties
from tests.kms.aws_server import aws_error
from tests.support.expect import refused, save

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.aws_server import AwsServer
    from tests.support.source import Conf

pytestmark = pytest.mark.nightly

# Of the SDK.
ATTEMPTS = 3


@pytest.fixture(autouse=True)
def _credentials(spark: SparkSession) -> Iterator[None]:
    with properties(spark, CREDENTIALS):
        yield


def test_what_aws_refuses_has_its_condition_after_one_request(
    spark: SparkSession, aws: AwsServer, aws_table: str
) -> None:
    aws.fail(PII, aws_error("AccessDeniedException"))
    with refused("PME_KEY_DENIED", f"'{PII}'", "AWS KMS", never=tuple(CREDENTIALS.values())):
        read(spark, aws_table, access(aws).options()).collect()
    assert aws.actions().count(("Decrypt", PII)) == 1


def test_what_does_not_pass_ends_after_few_requests(spark: SparkSession, aws: AwsServer, aws_table: str) -> None:
    aws.fail(FOOTER, aws_error("ThrottlingException"))
    with refused("PME_KMS_UNAVAILABLE", "AWS KMS"):
        read(spark, aws_table, access(aws).options()).collect()
    assert 1 < len(aws.calls) <= ATTEMPTS
    assert {call.key for call in aws.calls} == {FOOTER}


def test_what_passes_is_not_noticed(spark: SparkSession, aws: AwsServer, aws_table: str, frame: DataFrame) -> None:
    aws.fail(FOOTER, aws_error("ThrottlingException"), times=1)
    assert rows(read(spark, aws_table, access(aws).options())) == rows(frame)


def test_a_data_key_of_another_size_is_refused(spark: SparkSession, aws: AwsServer, aws_table: str) -> None:
    aws.fail(FOOTER, Answer(200, {"KeyId": FOOTER, "Plaintext": "AAAA"}))
    with refused("PME_KEY_METADATA", "bits"):
        read(spark, aws_table, access(aws).options()).collect()


def test_a_write_whose_key_is_disabled_leaves_no_file(aws: AwsServer, frame: DataFrame, tmp_path: Path) -> None:
    aws.fail(PII, aws_error("DisabledException"))
    with refused("PME_KEY_NOT_FOUND", f"'{PII}'", "disabled"):
        save(frame, str(tmp_path / "table"), encryption(access(aws)).options())
    assert not [path for path in (tmp_path / "table").rglob("*") if path.is_file()]
    assert aws.actions().count(("Encrypt", PII)) <= ATTEMPTS


def test_the_session_may_name_any_host_but_none_that_listens_in_the_clear(
    spark: SparkSession, aws_table: str, conf: Conf
) -> None:
    endpoint = "spark.datasource.pme-parquet.kms.aws.endpoint"
    options = {"kms": "aws", "kms.aws.region": "eu-central-1"}
    with conf({endpoint: "https://kms.invalid"}), refused("PME_KMS_UNAVAILABLE", "UnknownHostException"):
        read(spark, aws_table, options).collect()
    with conf({endpoint: "http://kms.invalid"}), refused("PME_BAD_OPTION", "kms.aws.endpoint"):
        read(spark, aws_table, options).collect()


@pytest.mark.parametrize(("option", "value"), [("kms.aws.encryptionContext", "team=payroll"), ("kms.aws.regoin", "x")])
def test_a_setting_that_cannot_be_used_is_refused_by_name(
    spark: SparkSession, aws: AwsServer, aws_table: str, option: str, value: str
) -> None:
    condition = "PME_UNKNOWN_OPTION" if option.endswith("regoin") else "PME_BAD_OPTION"
    with refused(condition, option):
        read(spark, aws_table, access(aws).options() | {option: value}).collect()
    assert not aws.calls


def test_the_host_is_the_regions_own_and_proxies_of_the_jvm_are_used(
    spark: SparkSession, aws: AwsServer, frame: DataFrame, target: str
) -> None:
    port = aws.url.rpartition(":")[2]
    arn = "arn:aws:kms:ap-southeast-2:123456789012:key/1"
    enc = pme.Encryption(kms=pme.AwsKms(region="eu-west-3"), footer_key=FOOTER, column_keys={arn: ["ssn"]})
    proxy: dict[str, str | None] = {"https.proxyHost": "127.0.0.1", "https.proxyPort": port}
    with properties(spark, proxy), refused("PME_KMS_UNAVAILABLE", "AWS KMS"):
        save(frame, target, enc.options())
    assert aws.connects
    assert set(aws.connects) <= {"kms.eu-west-3.amazonaws.com:443", "kms.ap-southeast-2.amazonaws.com:443"}
