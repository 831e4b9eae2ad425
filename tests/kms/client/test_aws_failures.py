"""What AWS KMS refuses, and what goes wrong on the way there: the right condition, few requests, and an end.

Where a test waits for a time limit the answer comes only when the server stops: it passes as there is a limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.answers import Answer
from tests.kms.aws import CREDENTIALS, FOOTER, KEYS, PII, access, properties_of
from tests.kms.aws_server import AwsServer, aws_error
from tests.kms.client.opened import KEY
from tests.support.expect import refused

if TYPE_CHECKING:
    from tests.kms.client.opened import ClientJvm, Opened
    from tests.support.kms.moto_server import Moto

FOR_EVER = 3600.0
CANARY = "c2VjcmV0LW9mLXRoZS1hbnN3ZXI"
# The SDK makes three attempts; the JVM by itself repeats a request once whose connection was dropped.
ATTEMPTS = 3


pytestmark = pytest.mark.usefixtures("aws_credentials")


@pytest.fixture
def wrapped(clients: ClientJvm, moto: Moto, aws_keys: dict[str, str]) -> dict[str, str]:
    """Return a key, wrapped under each master key."""
    with AwsServer(moto) as wrapped_with:
        other = clients.open(access(wrapped_with).options())
        return {name: other.wrap(name) for name in aws_keys}


REFUSALS = {
    "AccessDeniedException": ("PME_KEY_DENIED", "AWS KMS"),
    "NotFoundException": ("PME_KEY_NOT_FOUND", "in this region"),
    "DisabledException": ("PME_KEY_NOT_FOUND", "disabled"),
    "KMSInvalidStateException": ("PME_KEY_NOT_FOUND", "pending import"),
    "InvalidKeyUsageException": ("PME_KEY_NOT_FOUND", "symmetric"),
    "IncorrectKeyException": ("PME_NOT_AUTHENTIC", "another key"),
    "InvalidCiphertextException": ("PME_NOT_AUTHENTIC", "encryption context"),
    "ExpiredTokenException": ("PME_KMS_UNAVAILABLE", "ExpiredTokenException"),
    "UnrecognizedClientException": ("PME_KMS_UNAVAILABLE", "UnrecognizedClientException"),
    "ValidationException": ("PME_KMS_UNAVAILABLE", "ValidationException"),
}


@pytest.mark.parametrize("code", REFUSALS)
def test_what_aws_refuses_has_its_condition_after_one_request(
    aws: AwsServer, aws_client: Opened, wrapped: dict[str, str], code: str
) -> None:
    condition, reason = REFUSALS[code]
    aws.fail(PII, aws_error(code))
    named = f"'{PII}'" if condition != "PME_KMS_UNAVAILABLE" else ".parquet"
    with refused(condition, named, reason, never=tuple(CREDENTIALS.values())):
        aws_client.unwrap(wrapped[PII], PII)
    assert aws.actions() == [("Decrypt", PII)]


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
    aws: AwsServer, aws_client: Opened, wrapped: dict[str, str], kind: str
) -> None:
    aws.fail(FOOTER, PASSING[kind])
    with refused("PME_KMS_UNAVAILABLE", ".parquet", "AWS KMS"):
        aws_client.unwrap(wrapped[FOOTER], FOOTER)
    repeated = 2 if PASSING[kind] is None else 1
    assert 1 < len(aws.calls) <= ATTEMPTS * repeated
    assert {call.key for call in aws.calls} == {FOOTER}


@pytest.mark.parametrize("code", ["AccessDeniedException", "DisabledException", "ThrottlingException"])
def test_what_cannot_be_wrapped_ends_after_few_requests(aws: AwsServer, aws_client: Opened, code: str) -> None:
    condition = REFUSALS.get(code, ("PME_KMS_UNAVAILABLE",))[0]
    aws.fail(PII, aws_error(code))
    with refused(condition, ".parquet", "AWS KMS", never=tuple(CREDENTIALS.values())):
        aws_client.wrap(PII)
    assert 1 <= aws.actions().count(("Encrypt", PII)) <= ATTEMPTS


@pytest.mark.parametrize("kind", ["throttling", "bad gateway", "dropped connection"])
def test_what_passes_is_not_noticed(aws: AwsServer, aws_client: Opened, wrapped: dict[str, str], kind: str) -> None:
    aws.fail(FOOTER, PASSING[kind], times=1)
    assert [aws_client.unwrap(wrapped[key], key) for key in KEYS] == [KEY] * len(KEYS)
    assert aws.calls[0].key == aws.calls[1].key == FOOTER


@pytest.mark.parametrize(
    "answer",
    [b"<html>a portal</html>", b"{}", b"", b"[1, 2]", f'{{"Plaintext": "{CANARY}'.encode(), b'{"Plaintext": 5}'],
)
def test_an_answer_that_is_not_from_aws_is_reported_and_not_repeated(
    aws: AwsServer, aws_client: Opened, wrapped: dict[str, str], answer: bytes
) -> None:
    aws.fail(FOOTER, Answer(200, answer))
    with refused("PME_KMS_UNAVAILABLE", ".parquet", "AWS KMS", never=(CANARY,)):
        aws_client.unwrap(wrapped[FOOTER], FOOTER)
    assert len(aws.calls) <= ATTEMPTS


def test_a_data_key_of_another_size_is_refused(aws: AwsServer, aws_client: Opened, wrapped: dict[str, str]) -> None:
    aws.fail(FOOTER, Answer(200, {"KeyId": FOOTER, "Plaintext": "AAAA"}))
    with refused("PME_KEY_METADATA", "bits"):
        aws_client.unwrap(wrapped[FOOTER], FOOTER)


def test_an_answer_that_does_not_come_is_not_waited_for(
    clients: ClientJvm, aws: AwsServer, wrapped: dict[str, str]
) -> None:
    aws_client = clients.open(access(aws).options() | {"kms.timeoutSeconds": "1"})
    aws.fail(FOOTER, None, delay=FOR_EVER)
    with refused("PME_KMS_UNAVAILABLE", "within 1 s", "kms.timeoutSeconds"):
        aws_client.unwrap(wrapped[FOOTER], FOOTER)


def test_aws_that_does_not_listen_is_unavailable(clients: ClientJvm, wrapped: dict[str, str]) -> None:
    gone = clients.open(pme.AwsKms(region="eu-central-1", endpoint="http://127.0.0.1:1").options())
    with refused("PME_KMS_UNAVAILABLE", "AWS KMS", "ConnectException"):
        gone.unwrap(wrapped[FOOTER], FOOTER)


def test_missing_credentials_are_reported_before_the_first_call(
    clients: ClientJvm, aws: AwsServer, aws_client: Opened, wrapped: dict[str, str]
) -> None:
    absent = properties_of(clients.jvm, dict.fromkeys(CREDENTIALS))
    with absent, refused("PME_KMS_UNAVAILABLE", "no usable credentials", "web identity"):
        aws_client.unwrap(wrapped[FOOTER], FOOTER)
    assert not aws.calls


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
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_by_name(
    clients: ClientJvm, aws: AwsServer, option: str, value: str
) -> None:
    with refused("PME_BAD_OPTION", option):
        clients.open(access(aws).options() | {option: value})
    assert not aws.calls


def test_an_arn_with_a_host_for_a_region_is_refused(aws: AwsServer, aws_client: Opened) -> None:
    arn = "arn:aws:kms:attacker.example/:123456789012:key/1"
    with refused("PME_KEY_NOT_FOUND", "not the ARN of an AWS KMS key"):
        aws_client.wrap(arn)
    assert not aws.calls
