"""`kms=aws` against moto: ids of each form, regions and contexts, and where credentials come from.

Moto enforces encryption contexts and regions. What it does not do as AWS KMS does is in ``test_aws_failures.py``.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.aws import ELSEWHERE, FOOTER, KEYS, PAY, PII, REGION, USER, access, properties_of
from tests.kms.client.opened import KEY
from tests.support import java
from tests.support.expect import refused
from tests.support.session import JAVA_OPTIONS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kms.aws_server import AwsServer
    from tests.kms.client.opened import ClientJvm, Opened
    from tests.support.kms.moto_server import Moto

CONTEXT = {"team": "payroll", "stage": "tests"}


pytestmark = pytest.mark.usefixtures("aws_credentials")


@pytest.mark.parametrize("form", ["key id", "ARN", "alias ARN"])
def test_keys_have_ids_of_each_form(aws: AwsServer, aws_keys: dict[str, str], aws_client: Opened, form: str) -> None:
    def named(alias: str) -> str:
        arn = aws_keys[alias]
        return {"key id": arn.rpartition("/")[2], "ARN": arn, "alias ARN": f"{arn.rpartition(':')[0]}:{alias}"}[form]

    for alias in KEYS:
        assert aws_client.unwrap(aws_client.wrap(named(alias)), named(alias)) == KEY
    assert {call.key for call in aws.calls} == {named(alias) for alias in KEYS}
    assert {(call.region, call.service, call.user) for call in aws.calls} == {(REGION, "kms", USER)}


def test_a_key_is_asked_for_in_its_arns_own_region(aws: AwsServer, moto: Moto, aws_client: Opened) -> None:
    arn = moto.create_key(ELSEWHERE)
    assert aws_client.unwrap(aws_client.wrap(arn), arn) == aws_client.unwrap(aws_client.wrap(FOOTER), FOOTER) == KEY
    assert {(call.key, call.region) for call in aws.calls} == {(FOOTER, REGION), (arn, ELSEWHERE)}
    with refused("PME_KEY_NOT_FOUND", "AWS KMS", "region"):
        aws_client.wrap(arn.rpartition("/")[2])


def test_the_region_is_that_of_the_process_where_none_is_set_and_is_asked_for_once(
    clients: ClientJvm, aws: AwsServer
) -> None:
    options = pme.AwsKms(endpoint=aws.url).options()
    with refused("PME_BAD_OPTION", "kms.aws.region"):
        clients.open(options).wrap(FOOTER)
    aws_client = clients.open(options | {"kms.timeoutSeconds": "29"})
    with properties_of(clients.jvm, {"aws.region": REGION}):
        aws_client.wrap(PII)
    with properties_of(clients.jvm, {"aws.region": ELSEWHERE}):
        aws_client.wrap(PAY)
    assert [call.region for call in aws.calls] == [REGION, REGION]


def test_keys_open_only_in_the_context_that_they_were_wrapped_in(clients: ClientJvm, aws: AwsServer) -> None:
    aws_client = clients.open(access(aws, CONTEXT).options())
    wrapped = aws_client.wrap(FOOTER)
    assert aws_client.unwrap(wrapped, FOOTER) == KEY
    assert all(call.context == CONTEXT for call in aws.calls)
    for other in (None, {}, {"team": "payroll"}, CONTEXT | {"stage": "live"}):
        with refused("PME_NOT_AUTHENTIC", f"'{FOOTER}'", "encryption context"):
            clients.open(access(aws, other).options()).unwrap(wrapped, FOOTER)


def test_a_key_that_aws_does_not_have_is_named(aws_client: Opened) -> None:
    with refused("PME_KEY_NOT_FOUND", "'alias/nobodys'", "AWS KMS"):
        aws_client.wrap("alias/nobodys")


def test_a_key_opens_nothing_of_another_key(aws_client: Opened) -> None:
    # Moto answers "access denied" where AWS has IncorrectKeyException.
    wrapped = aws_client.wrap(PII, bytes(16))
    assert aws_client.unwrap(wrapped, PII) == bytes(16)
    with refused("PME_KEY_DENIED", "'alias/pay'"):
        aws_client.unwrap(wrapped, PAY)


def wrap_once(
    clients: ClientJvm, aws: AwsServer, variables: dict[str, str], seconds: int = 30
) -> subprocess.CompletedProcess[str]:
    """Wrap a key in a process of its own: the SDK settles where credentials come from once."""
    java_command = [str(java.java()), *JAVA_OPTIONS.split(), "-cp", clients.class_path]
    command = [*java_command, "WrapOnce", aws.url, PII, str(seconds)]
    environment = os.environ | {"AWS_REGION": REGION} | variables
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_web_identity_gives_credentials_as_well(clients: ClientJvm, aws: AwsServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("token-of-the-cluster")
    identity = {
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
        "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/reader",
        "AWS_ENDPOINT_URL_STS": aws.url,
    }
    done = wrap_once(clients, aws, identity)
    assert done.stdout == "OPENED\n", done.stderr
    [login, *calls] = aws.calls
    assert "AssumeRoleWithWebIdentity" in login.action
    assert "token-of-the-cluster" in login.action
    assert [call.action for call in calls] == ["Encrypt", "Decrypt"]
    assert {call.user for call in calls}.isdisjoint({USER, ""})


def test_a_process_that_gives_no_credentials_in_time_is_not_waited_for(
    clients: ClientJvm, aws: AwsServer, tmp_path: Path
) -> None:
    profile = tmp_path / "config"
    profile.write_text("[default]\ncredential_process = sleep 20\n")
    done = wrap_once(clients, aws, {"AWS_CONFIG_FILE": str(profile)}, seconds=1)
    assert "the search for AWS credentials and region did not end within 1 s" in done.stderr
    assert not aws.calls
