"""The state of a Vault's transit engine, and its answers to requests. No sockets here.

The order of the checks is Vault's: sealed, login or token, permission, mount, key. So a token that may not use a path
is refused before it learns whether there is anything at it.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tests.kms import answers
from tests.kms.access import OPERATIONS
from tests.kms.answers import Answer, RefusalError
from tests.kms.transit_key import TransitError, TransitKey

if TYPE_CHECKING:
    from collections.abc import Mapping

Method = Literal["approle", "kubernetes"]
FIELDS: dict[Method, tuple[str, str]] = {"approle": ("role_id", "secret_id"), "kubernetes": ("role", "jwt")}
ROUTE = re.compile(r"(encrypt|decrypt|rewrap)/(\w(?:[\w.-]*\w)?)", re.ASCII)
LOGIN = re.compile(r"auth/(.+)/login")
RENEWAL, LOOK_UP = "auth/token/renew-self", "auth/token/lookup-self"
LEASE = 3600


class Request(NamedTuple):
    """The parts of a request that decide its answer; the path without ``/v1/``."""

    method: str
    path: str
    namespace: str
    token: str | None
    body: Mapping[str, Any]


@dataclass
class Token:
    """The keys that a token may use: those of these names for these operations, or all keys and every path for root."""

    accessor: str
    keys: frozenset[str] | None
    operations: frozenset[str] = frozenset(OPERATIONS)
    may_create: bool = False
    uses: int | None = None
    lease: int = 0
    renewable: bool = False
    expired: bool = False
    # False for a token without the default policy.
    may_look_up: bool = True

    def may(self, operation: str, key: str) -> bool:
        return self.keys is None or (key in self.keys and operation in self.operations)


@dataclass(frozen=True)
class Role:
    """Who may log in with which secret (a secret_id or a JWT), and the token that the login returns."""

    method: Method
    secret: str
    keys: frozenset[str]
    lease: int = LEASE
    renewable: bool = True
    may_look_up: bool = True


@dataclass
class VaultState:
    """Mounts by namespace and path, tokens by their text, roles by mount of the login method and name."""

    mounts: dict[tuple[str, str], dict[str, TransitKey]]
    tokens: dict[str, Token] = field(default_factory=dict)
    roles: dict[tuple[str, str], Role] = field(default_factory=dict)
    sealed: bool = False
    # False stands for the setting disable_upsert of a mount: then encrypting does not create a key.
    upsert: bool = True
    # False stands for an older Vault, which answers for an invalid token as for a path that is not allowed.
    names_tokens: bool = True
    _numbers: count[int] = field(default_factory=lambda: count(1))

    def new_token(self, keys: frozenset[str] | None, **fields: Any) -> str:
        text = f"hvs.{secrets.token_urlsafe(24)}"
        self.tokens[text] = Token(f"accessor-{next(self._numbers)}", keys, **fields)
        return text

    def expire(self) -> None:
        """End every token that there is."""
        for token in self.tokens.values():
            token.expired = True

    def accessor(self, token: str | None) -> str | None:
        known = self.tokens.get(token or "")
        return known.accessor if known else None

    def answer(self, request: Request) -> Answer:
        try:
            return self._answer(request)
        except RefusalError as refusal:
            return refusal.answer

    def _answer(self, request: Request) -> Answer:
        if self.sealed:
            return answers.SEALED
        if login := LOGIN.fullmatch(request.path):
            return self._login(login.group(1), request.body)
        token = self._token(request.token)
        if request.path == RENEWAL:
            return self._renew(token, str(request.token))
        if request.path == LOOK_UP:
            return self._look_up(token, request.method)
        return self._transit(request, token)

    def _login(self, mount: str, body: Mapping[str, Any]) -> Answer:
        methods = {role.method for (place, _), role in self.roles.items() if place == mount}
        # A path under auth/ without a mount asks for a token like any other.
        if not methods:
            return answers.NO_TOKEN
        [method] = methods
        name_field, secret_field = FIELDS[method]
        role = self.roles.get((mount, str(body.get(name_field))))
        if role is None or body.get(secret_field) != role.secret:
            return answers.APPROLE_REFUSED if method == "approle" else answers.KUBERNETES_REFUSED
        given = {"lease": role.lease, "renewable": role.renewable, "may_look_up": role.may_look_up}
        made = self.new_token(role.keys, **given)
        return _lease(made, self.tokens[made])

    def _token(self, text: str | None) -> Token:
        if not text:
            raise RefusalError(answers.NO_TOKEN)
        token = self.tokens.get(text)
        if token is None or token.expired:
            raise RefusalError(answers.INVALID_TOKEN if self.names_tokens else answers.DENIED)
        if token.uses is not None:
            token.uses -= 1
            token.expired = token.uses == 0
        return token

    def _renew(self, token: Token, text: str) -> Answer:
        return _lease(text, token) if token.renewable else answers.NOT_RENEWABLE

    def _look_up(self, token: Token, method: str) -> Answer:
        if not token.may_look_up:
            return answers.DENIED
        if method != "GET":
            return answers.UNSUPPORTED_OPERATION
        return answers.data({"accessor": token.accessor, "ttl": token.lease, "renewable": token.renewable})

    def _transit(self, request: Request, token: Token) -> Answer:
        found = self._mount(request)
        if found is None:
            return answers.no_route(request.path) if token.keys is None else answers.DENIED
        keys, rest = found
        route = ROUTE.fullmatch(rest)
        if route is None:
            return answers.UNSUPPORTED_PATH if token.keys is None else answers.DENIED
        operation, name = route.groups()
        if not token.may(operation, name):
            return answers.DENIED
        if name not in keys:
            self._create(operation, name, keys, token)
        return _apply(operation, keys[name], request.body)

    def _mount(self, request: Request) -> tuple[dict[str, TransitKey], str] | None:
        for (namespace, mount), keys in self.mounts.items():
            if namespace == request.namespace and request.path.startswith(f"{mount}/"):
                return keys, request.path.removeprefix(f"{mount}/")
        return None

    def _create(self, operation: str, name: str, keys: dict[str, TransitKey], token: Token) -> None:
        """Encrypting under a missing key creates it, if the token may create; everything else is refused."""
        if operation == "encrypt" and not (token.keys is None or token.may_create):
            raise RefusalError(answers.DENIED)
        if operation != "encrypt" or not self.upsert:
            raise RefusalError(answers.KEY_NOT_FOUND)
        keys[name] = TransitKey()


def _lease(text: str, token: Token) -> Answer:
    return answers.auth(
        {
            "client_token": text,
            "accessor": token.accessor,
            "policies": ["default"],
            "lease_duration": token.lease,
            "renewable": token.renewable,
        }
    )


def _apply(operation: str, key: TransitKey, body: Mapping[str, Any]) -> Answer:
    if "batch_input" not in body:
        result = _item(operation, key, body)
        return answers.error(400, result["error"]) if "error" in result else answers.data(result)
    if not body["batch_input"]:
        return answers.error(400, "missing batch input to process")
    results = [_item(operation, key, item) for item in body["batch_input"]]
    # Vault's rewrap, unlike the other two, answers 200 whatever happened to its items.
    failed = operation != "rewrap" and any("error" in result for result in results)
    return answers.data({"batch_results": results}, 400 if failed else 200)


def _item(operation: str, key: TransitKey, item: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return _encrypted(key, item) if operation == "encrypt" else _decrypted(operation, key, item)
    except TransitError as failed:
        return {"error": str(failed)}


def _encrypted(key: TransitKey, item: Mapping[str, Any]) -> dict[str, Any]:
    if "plaintext" not in item:
        raise TransitError("missing plaintext to encrypt")
    return {
        "ciphertext": key.encrypt(item["plaintext"], item.get("associated_data", "")),
        "key_version": key.latest,
    }


def _decrypted(operation: str, key: TransitKey, item: Mapping[str, Any]) -> dict[str, Any]:
    if not item.get("ciphertext"):
        raise TransitError("missing ciphertext to decrypt")
    if operation == "rewrap":
        return {"ciphertext": key.rewrap(item["ciphertext"]), "key_version": key.latest}
    return {"plaintext": key.decrypt(item["ciphertext"], item.get("associated_data", ""))}
