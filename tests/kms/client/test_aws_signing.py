"""Keys of `kms=aws` that sign, against moto; another library verifies their signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kms.aws import CREDENTIALS, FOOTER, REGION
from tests.kms.aws_server import aws_error
from tests.kms.client.opened import SIGNED
from tests.support.expect import refused

if TYPE_CHECKING:
    from tests.kms.aws_server import AwsServer
    from tests.kms.client.opened import Opened
    from tests.support.kms.moto_server import Moto


pytestmark = pytest.mark.usefixtures("aws_credentials")


def create(moto: Moto, spec: str) -> str:
    """Make a key that signs, and return its ARN."""
    fields = {"KeySpec": spec, "KeyUsage": "SIGN_VERIFY"}
    arn: str = moto._ask(REGION, "CreateKey", fields)["KeyMetadata"]["Arn"]
    return arn


def test_a_p256_key_signs(aws: AwsServer, moto: Moto, aws_client: Opened) -> None:
    key = create(moto, "ECC_NIST_P256")
    aws_client.signing_key(key).assert_signs()
    assert aws.actions() == [("GetPublicKey", key), ("Sign", key)]


@pytest.mark.parametrize("spec", ["RSA_2048", "ECC_NIST_P384"])
def test_a_key_of_another_kind_is_refused(aws: AwsServer, moto: Moto, aws_client: Opened, spec: str) -> None:
    other = create(moto, spec)
    with refused("PME_KEY_NOT_FOUND", f"'{other}'", SIGNED, "not an Ed25519 key, or an EC key on the curve P-256"):
        aws_client.signing_key(other)
    assert aws.actions() == [("GetPublicKey", other)]


REFUSALS = {
    "AccessDeniedException": ("PME_KEY_DENIED", "AWS KMS"),
    "NotFoundException": ("PME_KEY_NOT_FOUND", "in this region"),
    "InvalidKeyUsageException": ("PME_KEY_NOT_FOUND", "not for signatures"),
    "UnsupportedOperationException": ("PME_KEY_NOT_FOUND", "not for signatures"),
}


@pytest.mark.parametrize("code", REFUSALS)
def test_what_aws_refuses_has_its_condition_after_one_request(aws: AwsServer, aws_client: Opened, code: str) -> None:
    condition, reason = REFUSALS[code]
    aws.fail(FOOTER, aws_error(code))
    with refused(condition, SIGNED, reason, never=tuple(CREDENTIALS.values())):
        aws_client.signing_key(FOOTER)
    assert aws.actions() == [("GetPublicKey", FOOTER)]
