"""A fake of Azure Key Vault, of Microsoft Entra's token endpoint and of managed identities: the documented wire format.

Keys are RSA keys, which wrap by RSA-OAEP, the AES keys of a managed HSM, or those of ``azure_signing.py``.
"""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap, aes_key_wrap

import pme_parquet as pme
from tests.kms.access import KEYS, secret
from tests.kms.answers import Answer, RefusalError
from tests.kms.azure_signing import VaultSigningKey, encoded
from tests.kms.cloud_server import CloudServer, Request, User

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TENANT = "72f988bf-86f1-41af-91ab-2d7cd011db47"
RESOURCE = "https://vault.azure.net"
IMDS = "/metadata/identity/oauth2/token"
APP_SERVICE = "/msi/token"
APP_HEADER = "identity-header-of-the-tests-7d31"
APP_WAY = ("2019-08-01", "x-identity-header", APP_HEADER)
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ROUTE = re.compile(r"/keys/([0-9A-Za-z-]+)(?:/([0-9a-f]{32}))?(?:/(wrapkey|unwrapkey|sign))?")
BITS = 2048
AES_WRAPS = {"A128KW": 16, "A192KW": 24, "A256KW": 32}


def refusal(status: int, code: str, message: str, inner: str | None = None) -> Answer:
    error: dict[str, Any] = {"code": code, "message": message}
    return Answer(status, {"error": error | ({"innererror": {"code": inner}} if inner else {})})


def forbidden(inner: str) -> Answer:
    return refusal(403, "Forbidden", "The user, group or application may not do this.", inner)


UNAUTHORIZED = refusal(401, "Unauthorized", "[TokenExpired] Error validating token: the token is expired.")
NOT_FOUND = refusal(404, "KeyNotFound", "A key with (name/id) was not found in this key vault.")
BAD_VALUE = refusal(400, "BadParameter", "The parameter is incorrect.")


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def oaep(algorithm: str) -> padding.OAEP:
    chosen = {"RSA-OAEP-256": hashes.SHA256, "RSA-OAEP": hashes.SHA1}[algorithm]
    return padding.OAEP(padding.MGF1(chosen()), chosen(), None)


@dataclass
class VaultKey:
    """Versions by their ids, of which the last one wraps: RSA keys, or bytes for AES."""

    size: int | None = None
    versions: dict[str, rsa.RSAPrivateKey | bytes] = field(default_factory=dict)
    disabled: bool = False

    def __post_init__(self) -> None:
        if not self.versions:
            self.rotate()

    def copy(self) -> VaultKey:
        return VaultKey(self.size, dict(self.versions))

    def rotate(self) -> None:
        made = os.urandom(self.size) if self.size else rsa.generate_private_key(65537, BITS)
        self.versions[secrets.token_hex(16)] = made

    def jwk(self, version: str) -> dict[str, Any]:
        key = self.versions[version]
        operations = ["wrapKey", "unwrapKey"]
        if isinstance(key, bytes):
            return {"kty": "oct-HSM", "key_ops": operations}
        numbers = key.public_key().public_numbers()
        return {
            "kty": "RSA",
            "key_ops": [*operations, "sign"],
            "n": encoded(numbers.n.to_bytes(256, "big")),
            "e": "AQAB",
        }

    def wrap(self, algorithm: str, version: str, content: bytes) -> bytes:
        key = self.versions[version]
        if isinstance(key, bytes):
            if AES_WRAPS.get(algorithm) != len(key):
                raise RefusalError(BAD_VALUE)
            return aes_key_wrap(key, content)
        if algorithm in AES_WRAPS:
            raise RefusalError(BAD_VALUE)
        return key.public_key().encrypt(content, oaep(algorithm))

    def unwrap(self, algorithm: str, version: str, wrapped: bytes) -> bytes:
        key = self.versions[version]
        try:
            if isinstance(key, bytes):
                return aes_key_unwrap(key, wrapped)
            return key.decrypt(wrapped, oaep(algorithm))
        except (ValueError, KeyError, InvalidUnwrap) as failed:
            raise RefusalError(BAD_VALUE) from failed


@dataclass(frozen=True)
class Application:
    """Who logs in with a secret, and the keys it may use."""

    secret: str
    keys: frozenset[str]


class AzureServer(CloudServer):
    """A key vault, and everywhere that a token for it comes from."""

    client = "io.pmeparquet.kms.azure.AzureKmsClient"
    address = "kms.azure.vaultUrl"
    wrap, unwrap, login = "/wrapkey", "/unwrapkey", "/token"
    # The name of the key is all that a request for it has in its path.
    look_up, sign = "/keys/", "/sign"

    def __init__(self, keys: Mapping[str, VaultKey] | None = None) -> None:
        super().__init__()
        self.keys = {name: key.copy() for name, key in (self.new_keys() if keys is None else keys).items()}
        self.signers: dict[str, VaultSigningKey] = {}
        self.applications: dict[str, Application] = {}
        self.identities: dict[str | None, frozenset[str]] = {None: frozenset(KEYS)}
        self.assertions: dict[str, frozenset[str]] = {}
        self.lifetime = 3599

    @staticmethod
    def new_keys() -> dict[str, VaultKey]:
        return {name: VaultKey() for name in KEYS}

    def application(self, keys: tuple[str, ...]) -> tuple[str, str]:
        """Return the id and the secret of a new application."""
        client_id, text = f"application-{len(self.applications)}", f"client~{secrets.token_urlsafe(24)}"
        self.applications[client_id] = Application(text, frozenset(keys))
        return client_id, text

    def access(self, directory: Path, keys: tuple[str, ...]) -> pme.AzureKeyVault:
        client_id, text = self.application(keys)
        return pme.AzureKeyVault(self.url, TENANT, client_id, secret(directory, text), authority=self.url)

    def alone(self, keys: tuple[str, ...]) -> dict[str, str]:
        client_id, text = self.application(keys)
        return {
            "kms.azure.vaultUrl": self.url,
            "kms.azure.tenantId": TENANT,
            "kms.azure.clientId": client_id,
            "kms.azure.clientSecret": text,
            "kms.azure.authority": self.url,
        }

    def rotate(self, name: str) -> None:
        self._key(name).rotate()

    def disable(self, name: str) -> None:
        self._key(name).disabled = True

    def signer(self, name: str) -> tuple[str, bytes]:
        made = self.signers[name] = VaultSigningKey()
        return name, made.pem(made.newest)

    def remove(self, name: str) -> None:
        del self.keys[name]

    @property
    def secrets(self) -> tuple[str, ...]:
        return (APP_HEADER, *self.tokens, *(application.secret for application in self.applications.values()))

    def answer(self, request: Request) -> Answer:
        if request.path == f"/{TENANT}/oauth2/v2.0/token":
            return self._log_in(request.form())
        if request.path in (IMDS, APP_SERVICE):
            return self._identity(request)
        user = self.user(request, UNAUTHORIZED)
        route = ROUTE.fullmatch(request.path)
        if route is None or request.query != {"api-version": "7.4"}:
            return refusal(400, "BadParameter", "No method matches.")
        name, version, operation = route.groups()
        if name not in user.keys:
            raise RefusalError(forbidden("ForbiddenByPolicy"))
        if name not in {*self.keys, *self.signers} or version not in {None, *self._key(name).versions}:
            raise RefusalError(NOT_FOUND)
        assert request.method == ("POST" if operation else "GET")
        if operation is None:
            return self._describe(name, version)
        if operation == "sign":
            return self._sign(name, version, json.loads(request.body))
        if name in self.signers:
            raise RefusalError(forbidden("KeyOperationForbidden"))
        return self._apply(operation, name, version, json.loads(request.body))

    def _key(self, name: str) -> VaultKey | VaultSigningKey:
        return self.signers.get(name) or self.keys[name]

    def _describe(self, name: str, version: str | None) -> Answer:
        """Also of a disabled key: its attributes say so."""
        key = self._key(name)
        told = version or list(key.versions)[-1]
        jwk = {"kid": f"{self.url}/keys/{name}/{told}"} | key.jwk(told)
        return Answer(200, {"key": jwk, "attributes": {"enabled": not key.disabled, "created": 0, "updated": 0}})

    def _sign(self, name: str, version: str | None, body: dict[str, str]) -> Answer:
        key = self._key(name)
        if not isinstance(key, VaultSigningKey) or "sign" not in key.operations:
            raise RefusalError(forbidden("KeyOperationForbidden"))
        if key.disabled:
            raise RefusalError(forbidden("KeyDisabled"))
        used = version or key.newest
        value = key.sign(body["alg"], used, decoded(body["value"]), BAD_VALUE)
        return Answer(200, {"kid": f"{self.url}/keys/{name}/{used}", "value": encoded(value)})

    def _apply(self, operation: str, name: str, version: str | None, body: dict[str, str]) -> Answer:
        key = self.keys[name]
        # A key that is disabled wraps, and does not unwrap: so does Key Vault.
        if key.disabled and operation == "unwrapkey":
            raise RefusalError(forbidden("KeyDisabled"))
        used = version or list(key.versions)[-1]
        apply = key.wrap if operation == "wrapkey" else key.unwrap
        try:
            content = decoded(body["value"])
        except ValueError as failed:
            raise RefusalError(BAD_VALUE) from failed
        value = apply(body["alg"], used, content)
        return Answer(200, {"kid": f"{self.url}/keys/{name}/{used}", "value": encoded(value)})

    def _log_in(self, form: dict[str, str]) -> Answer:
        assert form["grant_type"] == "client_credentials"
        assert form["scope"] == f"{RESOURCE}/.default"
        if "client_assertion" in form:
            assert form["client_assertion_type"] == ASSERTION
            keys = self.assertions.get(form["client_assertion"])
        else:
            known = self.applications.get(form["client_id"])
            keys = known.keys if known and known.secret == form["client_secret"] else None
        if keys is None:
            said = {"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret provided."}
            return Answer(401, said)
        return Answer(200, self._token(keys) | {"expires_in": self.lifetime, "ext_expires_in": self.lifetime})

    def _identity(self, request: Request) -> Answer:
        """Of a machine, or of an app; both are asked without a secret that a user could know."""
        assert request.method == "GET"
        assert request.query["resource"] == RESOURCE
        is_machine = request.path == IMDS
        version, header, value = ("2018-02-01", "metadata", "true") if is_machine else APP_WAY
        marked = request.headers.get(header) == value and request.query["api-version"] == version
        keys = self.identities.get(request.query.get("client_id"))
        if not marked or keys is None:
            return Answer(400, {"error": "invalid_request", "error_description": "Identity not found"})
        # Numbers as text, as both services have them; App Service does not say how long.
        fields = {"expires_on": str(int(time.time()) + self.lifetime), "resource": RESOURCE}
        lasts = {"expires_in": str(self.lifetime)} if is_machine else {}
        return Answer(200, self._token(keys) | fields | lasts)

    def _token(self, keys: frozenset[str]) -> dict[str, Any]:
        return {"access_token": self.new_token(User(keys)), "token_type": "Bearer"}
