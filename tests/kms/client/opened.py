"""KMS clients in a JVM without Spark: opened from the options of a read or write, and asked to wrap, unwrap and sign.

A call costs milliseconds. Failures are the ``PmeError`` that Spark would have raised.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyspark
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

import pme_parquet as pme
from pme_parquet.errors import BY_CONDITION
from tests.support import java
from tests.support.session import JAVA_OPTIONS, kms_jars, set_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SOURCES = [Path(__file__).with_name(f"{name}.java") for name in ("OpenedClient", "WrapOnce")]
KEY = bytes(range(16))
# The file that a key is wrapped or unwrapped for, which messages begin with.
WHERE = "/tables/people/part-0.parquet"
# What is signed, and what messages call it.
MESSAGE, SIGNED = b"a message", "/tables/people/_pme_snapshots/1"


class SigningKey(NamedTuple):
    """A private key that stays in its KMS, and the public key."""

    java: Any

    def public(self) -> Ed25519PublicKey | EllipticCurvePublicKey:
        made = load_der_public_key(bytes(self.java.publicKey()))
        assert isinstance(made, (Ed25519PublicKey, EllipticCurvePublicKey))
        return made

    def sign(self, message: bytes = MESSAGE) -> bytes:
        return bytes(_value(self.java.sign(bytearray(message), SIGNED)))

    def assert_signs(self) -> None:
        """Fail unless another library verifies a signature, by the algorithm that the key states."""
        public, signature = self.public(), self.sign()
        if isinstance(public, Ed25519PublicKey):
            assert self.java.algorithm() == "Ed25519"
            public.verify(signature, MESSAGE)
        else:
            assert self.java.algorithm() == "SHA256withECDSA"
            assert isinstance(public.curve, SECP256R1)
            public.verify(signature, MESSAGE, ECDSA(SHA256()))


class Opened(NamedTuple):
    """One client of one user."""

    java: Any

    def wrap(self, master_key: str, key: bytes = KEY) -> str:
        return str(_value(self.java.wrap(bytearray(key), master_key, WHERE)))

    def unwrap(self, wrapped: str, master_key: str) -> bytes:
        return bytes(_value(self.java.unwrap(wrapped, master_key, WHERE)))

    def signing_key(self, key: str) -> SigningKey:
        return SigningKey(_value(self.java.signingKey(key, SIGNED)))

    def paused(self) -> float:
        """Return for how many seconds a client that was opened without pauses would have paused."""
        return float(self.java.pausedMillis()) / 1000


class ClientJvm(NamedTuple):
    """A JVM that has the connector on its class path."""

    gateway: Any
    class_path: str

    @property
    def jvm(self) -> Any:
        return self.gateway.jvm

    def open(self, options: Mapping[str, str]) -> Opened:
        """Open the client that these options lead to."""
        return self._opened(self.jvm.kms.OpenedClient.open, options)

    def open_without_pauses(self, options: Mapping[str, str]) -> Opened:
        """Open the client of a Vault; where it would pause, its clock goes on instead."""
        return self._opened(self.jvm.kms.OpenedClient.openWithoutPauses, options)

    def _opened(self, opener: Any, options: Mapping[str, str]) -> Opened:
        given = self.jvm.java.util.HashMap()
        for name, value in options.items():
            given.put(name, value)
        return Opened(_value(opener(given)))


@contextmanager
def client_jvm(directory: Path) -> Iterator[ClientJvm]:
    """Start a JVM with the connector and Spark's jars, and end it.

    Args:
        directory: where nothing is yet; it gets compiled classes.
    """
    set_secrets()
    own = [Path(pme.jar_path()), *kms_jars()]
    java.compile_to(directory, *SOURCES, against=own)
    jars = Path(pyspark.__file__).parent / "jars"
    # In the order of Spark 4.3, so that its archive of loaded classes fits.
    [first] = jars.glob("slf4j-api-*.jar")
    rest = os.pathsep.join(map(str, [jars / "*", directory, *own]))
    port, token, process = launch_gateway(
        jarpath=str(first),
        classpath=rest,
        javaopts=JAVA_OPTIONS.split(),
        java_path=str(java.java()),
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        yield ClientJvm(gateway, f"{first}{os.pathsep}{rest}")
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.kill()
        process.wait()


def _value(outcome: Any) -> Any:
    """Return what a call returned, or raise what it threw."""
    if not outcome.isFailure():
        return outcome.value()
    condition = outcome.condition()
    if condition is None:
        raise AssertionError(outcome.stackTrace())
    raise BY_CONDITION[condition](outcome.message())
