"""Keys of the fake of Google Cloud KMS that sign: their versions, public keys and signatures, as documented."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.kms.answers import Answer, RefusalError

if TYPE_CHECKING:
    from collections.abc import Callable

P256, ED25519 = "EC_SIGN_P256_SHA256", "EC_SIGN_ED25519"
POLYNOMIAL = 0x82F63B78

MADE: dict[str, Callable[[], Any]] = {
    P256: lambda: ec.generate_private_key(ec.SECP256R1()),
    ED25519: ed25519.Ed25519PrivateKey.generate,
    "EC_SIGN_P384_SHA384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "EC_SIGN_SECP256K1_SHA256": lambda: ec.generate_private_key(ec.SECP256K1()),
    "RSA_SIGN_PSS_2048_SHA256": lambda: rsa.generate_private_key(65537, 2048),
    "RSA_DECRYPT_OAEP_2048_SHA256": lambda: rsa.generate_private_key(65537, 2048),
}


def refusal(code: int, status: str, message: str, **headers: str) -> Answer:
    return Answer(code, {"error": {"code": code, "message": message, "status": status}}, headers)


NOT_FOUND = refusal(404, "NOT_FOUND", "CryptoKeyVersion not found.")
DISABLED = refusal(400, "FAILED_PRECONDITION", "CryptoKeyVersion is not enabled, current state is: DISABLED.")
NO_PURPOSE = refusal(400, "FAILED_PRECONDITION", "The purpose of the CryptoKey is not that of the operation.")
INVALID = refusal(400, "INVALID_ARGUMENT", "The request is invalid.")


def crc32c(content: bytes) -> int:
    """Return the checksum of RFC 3720."""
    rest = 0xFFFFFFFF
    for byte in content:
        rest ^= byte
        for _ in range(8):
            rest = (rest >> 1) ^ (POLYNOMIAL if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


@dataclass
class GcpSigningKey:
    """Versions 1, 2, …, none of which is the primary one; and the numbers of those that are disabled."""

    algorithm: str = P256
    versions: list[Any] = field(default_factory=list)
    disabled: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.rotate()

    def rotate(self) -> None:
        self.versions.append(MADE[self.algorithm]())

    def disable(self) -> None:
        self.disabled.update(range(1, len(self.versions) + 1))

    def pem(self, number: int) -> bytes:
        made: bytes = self._version(number).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return made

    def public_key(self, name: str, number: int) -> Answer:
        pem = self.pem(number)
        fields = {"name": name, "algorithm": self.algorithm, "pem": pem.decode(), "pemCrc32c": str(crc32c(pem))}
        return Answer(200, fields | {"protectionLevel": "SOFTWARE"})

    def sign(self, name: str, number: int, body: dict[str, Any]) -> Answer:
        key = self._version(number)
        if self.algorithm == ED25519:
            content, verified = _content(body, "data", body.get("data")), "verifiedDataCrc32c"
            signature = key.sign(content)
        elif self.algorithm == P256:
            given = body.get("digest", {})
            assert set(given) == {"sha256"}
            content, verified = _content(body, "digest", given["sha256"]), "verifiedDigestCrc32c"
            if len(content) != SHA256.digest_size:
                raise RefusalError(INVALID)
            signature = key.sign(content, ec.ECDSA(Prehashed(SHA256())))
        else:
            raise RefusalError(NO_PURPOSE)
        signed = {"signature": base64.b64encode(signature).decode(), "signatureCrc32c": str(crc32c(signature))}
        return Answer(200, signed | {"name": name, verified: True, "protectionLevel": "SOFTWARE"})

    def _version(self, number: int) -> Any:
        if not 1 <= number <= len(self.versions):
            raise RefusalError(NOT_FOUND)
        if number in self.disabled:
            raise RefusalError(DISABLED)
        return self.versions[number - 1]


def _content(body: dict[str, Any], field_: str, text: Any) -> bytes:
    assert set(body) == {field_, f"{field_}Crc32c"}
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError) as failed:
        raise RefusalError(INVALID) from failed
    if body[f"{field_}Crc32c"] != str(crc32c(content)):
        raise RefusalError(INVALID)
    return content
