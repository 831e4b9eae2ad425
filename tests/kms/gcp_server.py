"""A fake of Google Cloud KMS and of the token endpoint of Google's OAuth: the documented wire format.

Keys encrypt with AES-256-GCM. A ciphertext says which version made it, as Google's do in a way of their own.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import time
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import pme_parquet as pme
from tests.kms.access import KEYS, secret
from tests.kms.answers import Answer, RefusalError
from tests.kms.cloud_server import CloudServer, Request, User
from tests.kms.gcp_signing import DISABLED, NO_PURPOSE, GcpSigningKey, crc32c, refusal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RING = "projects/acme-data/locations/europe-west3/keyRings/spark"
SCOPES = {"https://www.googleapis.com/auth/cloudkms", "https://www.googleapis.com/auth/cloud-platform"}
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ROUTE = re.compile(rf"/v1/({RING}/cryptoKeys/([\w-]+)):(encrypt|decrypt)", re.ASCII)
SIGNING = re.compile(rf"/v1/({RING}/cryptoKeys/([\w-]+)/cryptoKeyVersions/(\d+))(/publicKey|:asymmetricSign)", re.ASCII)
PERMISSIONS = {
    "encrypt": "useToEncrypt",
    "decrypt": "useToDecrypt",
    "/publicKey": "viewPublicKey",
    ":asymmetricSign": "useToSign",
}
NONCE_BYTES = 12


UNAUTHENTICATED = refusal(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
NOT_FOUND = refusal(404, "NOT_FOUND", "CryptoKey not found.")
INVALID = refusal(400, "INVALID_ARGUMENT", "Decryption failed: the ciphertext is invalid.")


def permission_denied(*details: dict[str, object]) -> Answer:
    """Return what Google's services answer, with the details of its error model (google.rpc.Status)."""
    error = {"code": 403, "message": "what Google says", "status": "PERMISSION_DENIED"}
    return Answer(403, {"error": error | ({"details": list(details)} if details else {})})


def reason(text: object) -> dict[str, object]:
    return {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": text, "domain": "googleapis.com"}


HELP: dict[str, object] = {"@type": "type.googleapis.com/google.rpc.Help", "links": [{"url": "https://example.com"}]}


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@cache
def signing_key() -> rsa.RSAPrivateKey:
    """Return the key of all service accounts: to make one takes a while."""
    # A JVM without the optimizing compiler takes long to sign with a longer one.
    return rsa.generate_private_key(65537, 1024)  # noqa: S505 of nobody


@dataclass
class CryptoKey:
    """All versions, of which the last one encrypts, and the numbers of those that are disabled."""

    versions: list[AESGCM] = field(default_factory=lambda: [AESGCM(AESGCM.generate_key(256))])
    disabled: set[int] = field(default_factory=set)

    def copy(self) -> CryptoKey:
        return CryptoKey(list(self.versions))

    def rotate(self) -> None:
        self.versions.append(AESGCM(AESGCM.generate_key(256)))

    def disable(self) -> None:
        self.disabled.update(range(len(self.versions)))

    def encrypt(self, plaintext: bytes) -> bytes:
        number, nonce = len(self.versions) - 1, os.urandom(NONCE_BYTES)
        return bytes([number]) + nonce + self._version(number).encrypt(nonce, plaintext, None)

    def decrypt(self, ciphertext: bytes) -> bytes:
        if len(ciphertext) <= NONCE_BYTES or ciphertext[0] >= len(self.versions):
            raise RefusalError(INVALID)
        try:
            nonce, sealed = ciphertext[1 : 1 + NONCE_BYTES], ciphertext[1 + NONCE_BYTES :]
            return self._version(ciphertext[0]).decrypt(nonce, sealed, None)
        except InvalidTag as failed:
            raise RefusalError(INVALID) from failed

    def _version(self, number: int) -> AESGCM:
        if number in self.disabled:
            raise RefusalError(DISABLED)
        return self.versions[number]


@dataclass(frozen=True)
class ServiceAccount:
    """Who signs requests for tokens with a key of its own, and the keys it may use."""

    email: str
    keys: frozenset[str]
    private: rsa.RSAPrivateKey

    def json(self, token_uri: str) -> str:
        pem = self.private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        fields = {
            "type": "service_account",
            "project_id": "acme-data",
            "private_key_id": "key-1",
            "private_key": pem.decode(),
            "client_email": self.email,
            "client_id": "1000",
            "token_uri": token_uri,
        }
        return json.dumps(fields)


class GcpServer(CloudServer):
    """Cloud KMS with one key ring, and the token endpoint."""

    client = "io.pmeparquet.kms.gcp.GcpKmsClient"
    address = "kms.gcp.endpoint"
    wrap, unwrap, login = ":encrypt", ":decrypt", "/token"
    look_up, sign = "/publicKey", ":asymmetricSign"

    def __init__(self, keys: Mapping[str, CryptoKey] | None = None) -> None:
        super().__init__()
        self.keys = {name: key.copy() for name, key in (self.new_keys() if keys is None else keys).items()}
        self.signers: dict[str, GcpSigningKey] = {}
        self.accounts: dict[str, ServiceAccount] = {}
        self.lifetime = 3600

    @staticmethod
    def new_keys() -> dict[str, CryptoKey]:
        return {name: CryptoKey() for name in KEYS}

    def account(self, keys: tuple[str, ...]) -> str:
        """Return the JSON of the key of a new service account."""
        email = f"user-{len(self.accounts)}@acme-data.iam.gserviceaccount.com"
        made = ServiceAccount(email, frozenset(keys), signing_key())
        self.accounts[email] = made
        return made.json(self.url + self.login)

    def access(self, directory: Path, keys: tuple[str, ...]) -> pme.GcpKms:
        return pme.GcpKms(RING, credentials=secret(directory, self.account(keys)), endpoint=self.url)

    def alone(self, keys: tuple[str, ...]) -> dict[str, str]:
        return {"kms.gcp.keyRing": RING, "kms.gcp.endpoint": self.url, "kms.gcp.credentials": self.account(keys)}

    def rotate(self, name: str) -> None:
        (self.signers.get(name) or self.keys[name]).rotate()

    def disable(self, name: str) -> None:
        (self.signers.get(name) or self.keys[name]).disable()

    def signer(self, name: str) -> tuple[str, bytes]:
        made = self.signers[name] = GcpSigningKey()
        return f"{name}/cryptoKeyVersions/1", made.pem(1)

    def remove(self, name: str) -> None:
        del self.keys[name]

    @property
    def secrets(self) -> tuple[str, ...]:
        return ("PRIVATE KEY", *self.tokens)

    def answer(self, request: Request) -> Answer:
        if request.path == self.login:
            return self._token(request.form())
        user = self.user(request, UNAUTHENTICATED)
        route, signing = ROUTE.fullmatch(request.path), SIGNING.fullmatch(request.path)
        if route and request.method == "POST":
            _, name, operation = route.groups()
            self._admit(user, name, operation)
            if name not in self.keys:
                raise RefusalError(NOT_FOUND)
            return self._apply(operation, route.group(1), self.keys[name], json.loads(request.body))
        if signing and request.method == ("GET" if signing.group(4) == self.look_up else "POST"):
            return self._sign(user, signing, request)
        return Answer(404, b"<html>The requested URL was not found on this server.")

    def _sign(self, user: User, route: re.Match[str], request: Request) -> Answer:
        version, name, number, operation = route.groups()
        self._admit(user, name, operation)
        key = self.signers.get(name)
        if key is None:
            raise RefusalError(NO_PURPOSE if name in self.keys else NOT_FOUND)
        if operation == self.look_up:
            return key.public_key(version, int(number))
        return key.sign(version, int(number), json.loads(request.body))

    @staticmethod
    def _admit(user: User, name: str, operation: str) -> None:
        if name not in user.keys:
            permission = f"cloudkms.cryptoKeyVersions.{PERMISSIONS[operation]}"
            raise RefusalError(
                refusal(403, "PERMISSION_DENIED", f"Permission '{permission}' denied (or it may not exist).")
            )

    def _apply(self, operation: str, name: str, key: CryptoKey, body: dict[str, Any]) -> Answer:
        given, made = ("plaintext", "ciphertext") if operation == "encrypt" else ("ciphertext", "plaintext")
        assert set(body) == {given, f"{given}Crc32c"}
        try:
            content = base64.b64decode(body[given], validate=True)
        except binascii.Error as failed:
            raise RefusalError(INVALID) from failed
        if int(body[f"{given}Crc32c"]) != crc32c(content):
            raise RefusalError(refusal(400, "INVALID_ARGUMENT", "The checksum did not match the data."))
        result = key.encrypt(content) if operation == "encrypt" else key.decrypt(content)
        fields: dict[str, Any] = {made: base64.b64encode(result).decode(), f"{made}Crc32c": str(crc32c(result))}
        if operation == "encrypt":
            version = f"{name}/cryptoKeyVersions/{len(key.versions)}"
            fields |= {"name": version, "verifiedPlaintextCrc32c": True}
        return Answer(200, fields | {"protectionLevel": "SOFTWARE"})

    def _token(self, form: dict[str, str]) -> Answer:
        """The flow of RFC 7523: an assertion that the account's key signed."""
        assert form["grant_type"] == GRANT
        head, claims, signature = form["assertion"].split(".")
        assert json.loads(decoded(head))["alg"] == "RS256"
        claimed = json.loads(decoded(claims))
        account = self.accounts.get(claimed["iss"])
        if account is None:
            return Answer(400, {"error": "invalid_grant", "error_description": "Invalid grant: account not found"})
        try:
            account.private.public_key().verify(
                decoded(signature), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256()
            )
        except InvalidSignature:
            return Answer(400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."})
        # google-auth addresses it to Google, wherever the account's key says that it is to be sent.
        assert claimed["aud"] in {"https://oauth2.googleapis.com/token", self.url + self.login}
        assert SCOPES.issuperset(claimed["scope"].split())
        assert claimed["iat"] <= time.time() + 10
        assert time.time() < claimed["exp"] <= claimed["iat"] + 3600
        token = self.new_token(User(account.keys))
        return Answer(200, {"access_token": token, "expires_in": self.lifetime, "token_type": "Bearer"})
