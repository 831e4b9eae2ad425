"""Keys of `kms=aws` that sign, against moto; their signatures are verified by another library."""

from __future__ import annotations

import os
import subprocess
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

import pme_parquet as pme
from tests.support.kms.aws import CREDENTIALS, FOOTER, REGION
from tests.support.kms.aws_server import aws_error
from tests.support.session import kms_jars

if TYPE_CHECKING:
    from tests.support.kms.aws_server import AwsServer
    from tests.support.kms.moto_server import Moto


def create(moto: Moto, spec: str) -> str:
    """Make a key that signs, and return its ARN."""
    fields = {"KeySpec": spec, "KeyUsage": "SIGN_VERIFY"}
    arn: str = moto._ask(REGION, "CreateKey", fields)["KeyMetadata"]["Arn"]
    return arn


@pytest.fixture(scope="module")
def key(moto: Moto) -> str:
    return create(moto, "ECC_NIST_P256")


def sign_once(aws: AwsServer, key: str) -> list[str]:
    """Sign "a message" in a process of its own, and return algorithm, public key and signature, or the refusal."""
    jars = [*map(str, kms_jars()), str(pme.jar_path()), str(Path(pyspark.__file__).parent / "jars" / "*")]
    source = Path(__file__).with_name("SignOnce.java")
    credentials = [f"-D{name}={value}" for name, value in CREDENTIALS.items()]
    command = ["java", *credentials, "-cp", os.pathsep.join(jars), str(source), aws.url, REGION, key]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_p256_key_signs(aws: AwsServer, key: str) -> None:
    algorithm, encoded, signature = sign_once(aws, key)
    assert algorithm == "SHA256withECDSA"
    public_key = load_der_public_key(b64decode(encoded))
    assert isinstance(public_key, EllipticCurvePublicKey)
    assert isinstance(public_key.curve, SECP256R1)
    public_key.verify(b64decode(signature), b"a message", ECDSA(SHA256()))
    assert [(call.action, call.key) for call in aws.calls] == [("GetPublicKey", key), ("Sign", key)]


@pytest.mark.parametrize("spec", ["RSA_2048", "ECC_NIST_P384"])
def test_a_key_of_another_kind_is_refused(aws: AwsServer, moto: Moto, spec: str) -> None:
    other = create(moto, spec)
    [refusal] = sign_once(aws, other)
    assert refusal.startswith(f"[PME_KEY_NOT_FOUND] table t: master key '{other}'")
    assert "in AWS KMS it is not an Ed25519 key, or an EC key on the curve P-256" in refusal
    assert [call.action for call in aws.calls] == ["GetPublicKey"]


REFUSALS = {
    "AccessDeniedException": ("PME_KEY_DENIED", "AWS KMS"),
    "NotFoundException": ("PME_KEY_NOT_FOUND", "in this region"),
    "InvalidKeyUsageException": ("PME_KEY_NOT_FOUND", "not for signatures"),
    "UnsupportedOperationException": ("PME_KEY_NOT_FOUND", "not for signatures"),
}


@pytest.mark.parametrize("code", REFUSALS)
def test_what_aws_refuses_has_its_condition_after_one_request(aws: AwsServer, code: str) -> None:
    condition, reason = REFUSALS[code]
    aws.fail(FOOTER, aws_error(code))
    [refusal] = sign_once(aws, FOOTER)
    assert refusal.startswith(f"[{condition}] table t: ")
    assert reason in refusal
    assert len(aws.calls) == 1
