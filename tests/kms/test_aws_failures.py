"""What AWS KMS refuses, and what goes wrong on the way there: the right condition, few requests, and an end.

Where a test waits for a time limit the answer comes only when the server stops: it passes as there is a limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.expect import refused, save
from tests.support.kms.access import read, rows
from tests.support.kms.answers import Answer
from tests.support.kms.aws import CREDENTIALS, FOOTER, PII, access, encryption, properties
from tests.support.kms.aws_server import aws_error
from tests.support.stored import assert_not_of_a_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kms.aws_server import AwsServer
    from tests.support.source import Conf

FOR_EVER = 3600.0
CANARY = "c2VjcmV0LW9mLXRoZS1hbnN3ZXI"
# The SDK makes three attempts; the JVM by itself repeats a request once whose connection was dropped.
ATTEMPTS = 3


@pytest.fixture(autouse=True)
def _credentials(spark: SparkSession) -> Iterator[None]:
    with properties(spark, CREDENTIALS):
        yield


REFUSALS = {
    "AccessDeniedException": ("PME_KEY_DENIED", "AWS KMS"),
    "NotFoundException": ("PME_KEY_NOT_FOUND", "in this region"),
    "DisabledException": ("PME_KEY_NOT_FOUND", "disabled"),
    "KMSInvalidStateException": ("PME_KEY_NOT_FOUND", "pending deletion"),
    "InvalidKeyUsageException": ("PME_KEY_NOT_FOUND", "symmetric"),
    "IncorrectKeyException": ("PME_NOT_AUTHENTIC", "another key"),
    "InvalidCiphertextException": ("PME_NOT_AUTHENTIC", "encryption context"),
    "ExpiredTokenException": ("PME_KMS_UNAVAILABLE", "ExpiredTokenException"),
    "UnrecognizedClientException": ("PME_KMS_UNAVAILABLE", "UnrecognizedClientException"),
    "ValidationException": ("PME_KMS_UNAVAILABLE", "ValidationException"),
}


@pytest.mark.parametrize("code", REFUSALS)
def test_what_aws_refuses_has_its_condition_after_one_request(
    spark: SparkSession, aws: AwsServer, aws_table: str, code: str
) -> None:
    condition, reason = REFUSALS[code]
    aws.fail(PII, aws_error(code))
    named = f"'{PII}'" if condition != "PME_KMS_UNAVAILABLE" else ".parquet"
    with refused(condition, named, reason, never=tuple(CREDENTIALS.values())):
        read(spark, aws_table, access(aws).options()).collect()
    assert aws.actions().count(("Decrypt", PII)) == 1


PASSING = {
    "throttling": aws_error("ThrottlingException"),
    "internal error": aws_error("KMSInternalException", 500),
    "key not ready": aws_error("KeyUnavailableException", 500),
    "time-out of a dependency": aws_error("DependencyTimeoutException", 503),
    "bad gateway": Answer(502, b"<html>bad gateway</html>", {"Content-Type": "text/html"}),
    "dropped connection": None,
}


@pytest.mark.parametrize("kind", PASSING)
def test_what_does_not_pass_ends_after_few_requests(
    spark: SparkSession, aws: AwsServer, aws_table: str, kind: str
) -> None:
    aws.fail(FOOTER, PASSING[kind])
    with refused("PME_KMS_UNAVAILABLE", "AWS KMS"):
        read(spark, aws_table, access(aws).options()).collect()
    repeated = 2 if PASSING[kind] is None else 1
    assert 1 < len(aws.calls) <= ATTEMPTS * repeated
    assert {call.key for call in aws.calls} == {FOOTER}


@pytest.mark.parametrize("kind", ["throttling", "bad gateway", "dropped connection"])
def test_what_passes_is_not_noticed(
    spark: SparkSession, aws: AwsServer, aws_table: str, frame: DataFrame, kind: str
) -> None:
    aws.fail(FOOTER, PASSING[kind], times=1)
    assert rows(read(spark, aws_table, access(aws).options())) == rows(frame)


@pytest.mark.parametrize(
    "answer",
    [b"<html>a portal</html>", b"{}", b"", b"[1, 2]", f'{{"Plaintext": "{CANARY}'.encode(), b'{"Plaintext": 5}'],
)
def test_an_answer_that_is_none_of_aws_is_named_so_and_not_repeated(
    spark: SparkSession, aws: AwsServer, aws_table: str, answer: bytes
) -> None:
    aws.fail(FOOTER, Answer(200, answer))
    with refused("PME_KMS_UNAVAILABLE", "AWS KMS", never=(CANARY,)):
        read(spark, aws_table, access(aws).options()).collect()
    assert len(aws.calls) <= ATTEMPTS


def test_a_data_key_of_another_size_is_refused(spark: SparkSession, aws: AwsServer, aws_table: str) -> None:
    aws.fail(FOOTER, Answer(200, {"KeyId": FOOTER, "Plaintext": "AAAA"}))
    with refused("PME_KEY_METADATA", "bits"):
        read(spark, aws_table, access(aws).options()).collect()


def test_an_answer_that_does_not_come_is_not_waited_for(spark: SparkSession, aws: AwsServer, aws_table: str) -> None:
    aws.fail(FOOTER, None, delay=FOR_EVER)
    options = access(aws).options() | {"kms.timeoutSeconds": "1"}
    with refused("PME_KMS_UNAVAILABLE", "within 1 s", "kms.timeoutSeconds"):
        read(spark, aws_table, options).collect()


def test_aws_that_does_not_listen_is_unavailable(spark: SparkSession, aws: AwsServer, aws_table: str) -> None:
    gone = pme.AwsKms(region="eu-central-1", endpoint="http://127.0.0.1:1")
    with refused("PME_KMS_UNAVAILABLE", "AWS KMS", "ConnectException"):
        read(spark, aws_table, gone.options()).collect()


@pytest.mark.parametrize("code", ["AccessDeniedException", "DisabledException", "ThrottlingException"])
def test_a_write_whose_keys_are_not_to_be_had_leaves_no_file(
    aws: AwsServer, frame: DataFrame, tmp_path: Path, code: str
) -> None:
    aws.fail(PII, aws_error(code))
    with pytest.raises(pme.PmeError):
        save(frame, str(tmp_path / "table"), encryption(access(aws)).options())
    assert not [path for path in (tmp_path / "table").rglob("*") if path.is_file()]
    assert aws.actions().count(("Encrypt", PII)) <= ATTEMPTS


def test_no_credentials_are_told_before_anything_is_asked(spark: SparkSession, aws: AwsServer, aws_table: str) -> None:
    absent = properties(spark, dict.fromkeys(CREDENTIALS))
    with absent, refused("PME_KMS_UNAVAILABLE", "no usable credentials", "web identity"):
        read(spark, aws_table, access(aws).options()).collect()
    assert not aws.calls


OTHER_HOSTS = [
    "https://kms.attacker.example",
    "https://kms.attacker.example/kms.eu-central-1.amazonaws.com",
    "https://things-1.eu-central-1.elb.amazonaws.com",
]
OURS, SPARKS, CLASS = "kms.aws.endpoint", "parquet.encryption.kms.aws.endpoint", "io.pmeparquet.kms.aws.AwsKmsClient"


@pytest.mark.parametrize("host", OTHER_HOSTS)
def test_a_table_may_not_name_a_host(spark: SparkSession, aws_table: str, conf: Conf, host: str) -> None:
    options = {"kms": "aws", "kms.aws.endpoint": host, "kms.aws.region": "eu-central-1"}
    assert_not_of_a_table(spark, conf, aws_table, options, "kms.aws.endpoint")


@pytest.mark.parametrize(("client", "name"), [("AWS", OURS), ("aws", SPARKS), (CLASS, OURS), (CLASS, SPARKS)])
def test_nor_under_another_name(spark: SparkSession, aws_table: str, conf: Conf, client: str, name: str) -> None:
    options = {"kms": client, name: OTHER_HOSTS[0], "kms.aws.region": "eu-central-1"}
    assert_not_of_a_table(spark, conf, aws_table, options, name)


def test_the_session_may_name_any_host_but_none_that_listens_in_the_clear(
    spark: SparkSession, aws_table: str, conf: Conf
) -> None:
    endpoint = "spark.datasource.pme-parquet.kms.aws.endpoint"
    options = {"kms": "aws", "kms.aws.region": "eu-central-1"}
    with conf({endpoint: "https://kms.invalid"}), refused("PME_KMS_UNAVAILABLE", "UnknownHostException"):
        read(spark, aws_table, options).collect()
    with conf({endpoint: "http://kms.invalid"}), refused("PME_BAD_OPTION", "kms.aws.endpoint"):
        read(spark, aws_table, options).collect()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("kms.aws.region", "attacker.example/"),
        ("kms.aws.region", "eu-central-1#"),
        ("kms.aws.encryptionContext", "team=payroll"),
        ("kms.aws.encryptionContext", '["team"]'),
        ("kms.aws.encryptionContext", '{"team": 5}'),
        ("kms.timeoutSeconds", "0"),
        ("kms.timeoutSeconds", "soon"),
        ("kms.aws.regoin", "eu-central-1"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_by_name(
    spark: SparkSession, aws: AwsServer, aws_table: str, option: str, value: str
) -> None:
    condition = "PME_UNKNOWN_OPTION" if option.endswith("regoin") else "PME_BAD_OPTION"
    with refused(condition, option):
        read(spark, aws_table, access(aws).options() | {option: value}).collect()
    assert not aws.calls


def test_an_arn_with_a_host_for_a_region_is_refused(aws: AwsServer, frame: DataFrame, target: str) -> None:
    arn = "arn:aws:kms:attacker.example/:123456789012:key/1"
    with refused("PME_KEY_NOT_FOUND", "not the ARN of an AWS KMS key"):
        save(frame, target, pme.Encryption(kms=access(aws), footer_key=arn).options())
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
