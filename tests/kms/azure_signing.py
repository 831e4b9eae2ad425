"""Keys of the fake of Azure Key Vault that sign: elliptic-curve keys, their JSON Web Keys (RFC 7518) and signatures."""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.kms.answers import RefusalError

if TYPE_CHECKING:
    from tests.kms.answers import Answer

CURVES: dict[str, tuple[ec.EllipticCurve, int]] = {
    "P-256": (ec.SECP256R1(), 32),
    "P-384": (ec.SECP384R1(), 48),
    "P-256K": (ec.SECP256K1(), 32),
}


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def raw(signature: bytes) -> bytes:
    """Return the two numbers of a signature in DER, one after the other, as ES256 has them."""
    return b"".join(number.to_bytes(32, "big") for number in decode_dss_signature(signature))


@dataclass
class VaultSigningKey:
    """Versions by their ids, of which the last one is the newest."""

    curve: str = "P-256"
    kind: str = "EC"
    operations: tuple[str, ...] = ("sign", "verify")
    versions: dict[str, ec.EllipticCurvePrivateKey] = field(default_factory=dict)
    disabled: bool = False

    def __post_init__(self) -> None:
        self.rotate()

    def rotate(self) -> None:
        self.versions[secrets.token_hex(16)] = ec.generate_private_key(CURVES[self.curve][0])

    @property
    def newest(self) -> str:
        return list(self.versions)[-1]

    def pem(self, version: str) -> bytes:
        return self.versions[version].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def jwk(self, version: str) -> dict[str, Any]:
        numbers = self.versions[version].public_key().public_numbers()
        size = CURVES[self.curve][1]
        x, y = (encoded(number.to_bytes(size, "big")) for number in (numbers.x, numbers.y))
        return {"kty": self.kind, "crv": self.curve, "key_ops": [*self.operations], "x": x, "y": y}

    def sign(self, algorithm: str, version: str, digest: bytes, bad: Answer) -> bytes:
        if (algorithm, self.curve, len(digest)) != ("ES256", "P-256", SHA256.digest_size):
            raise RefusalError(bad)
        return raw(self.versions[version].sign(digest, ec.ECDSA(Prehashed(SHA256()))))
