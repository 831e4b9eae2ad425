"""A fake of Vault's and OpenBao's transit engine: the documented wire format over real sockets, with or without TLS.

It records every request and answers wrongly if a test wants that. Its normal answers are in
``vault_state.py``; it shares no code with the client that is tested.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.kms.access import OPERATIONS, AppRole
from tests.kms.answers import Answer, error
from tests.kms.loopback import FaultyServer
from tests.kms.transit_key import TransitKey
from tests.kms.vault_state import Method, Request, Role, VaultState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.kms.loopback import Arrived, Fault
    from tests.support.kms.certificates import Certificate

API = "/v1/"


class Call(NamedTuple):
    """One request as it arrived. ``wrapped`` are its ciphertexts; ``status`` is 0 if it got no answer."""

    method: str
    path: str
    namespace: str
    accessor: str | None
    fields: frozenset[str]
    wrapped: tuple[str, ...]
    marked: bool
    status: int


class TransitServer(FaultyServer):
    """A Vault with one transit mount, which answers from ``start`` to ``stop``, or within ``with``."""

    def __init__(
        self,
        *,
        mount: str = "transit",
        namespace: str | None = None,
        keys: Mapping[str, TransitKey] | None = None,
        certificate: Certificate | None = None,
    ) -> None:
        super().__init__(certificate)
        self.mount = mount
        self.namespace = namespace
        self.keys = dict(keys or {})
        self.state = VaultState({(namespace or "", mount): self.keys})
        self.calls: list[Call] = []

    def create(self, *names: str) -> None:
        """Make keys."""
        self.keys.update({name: TransitKey() for name in names})

    def assert_sent_no_more_than_asked(self) -> None:
        """Fail if a call by the first token had other fields or headers than those of the wire format."""
        for call in self.calls:
            assert call.marked
            assert call.method == "POST"
            assert call.namespace == ""
            assert call.accessor == "accessor-1"
            assert call.fields in ({"plaintext"}, {"ciphertext"}, {"batch_input", "ciphertext"})

    def rotate(self, name: str) -> None:
        """Give a key a new version."""
        self.keys[name].rotate()

    def retire(self, name: str, *, before: int) -> None:
        """Let a key decrypt only with this version and later ones."""
        self.keys[name].min_decryption_version = before

    def token(self, keys: Iterable[str] | None = None, operations: Iterable[str] = OPERATIONS, **fields: Any) -> str:
        """Return a new token that may use these keys for these operations; or, if none are given, everything."""
        allowed = None if keys is None else frozenset(keys)
        return self.state.new_token(allowed, operations=frozenset(operations), **fields)

    def role(self, method: Method, name: str, secret: str, mount: str | None = None, **fields: Any) -> None:
        """Let a role log in, at the mount with the method's name or another."""
        self.state.roles[(mount or method, name)] = Role(method, secret, **fields)

    def approle(self, keys: Iterable[str]) -> AppRole:
        """Return the credentials of a new AppRole that may use these keys."""
        role = AppRole("role-of-the-tests", "secret-id-4c1d", "approle")
        self.role("approle", role.role_id, role.secret_id, keys=frozenset(keys))
        return role

    def seal(self) -> None:
        """Refuse everything from now on."""
        self.state.sealed = True

    def paths(self) -> list[str]:
        """Return the paths of the requests so far, in order."""
        return [call.path for call in self.calls]

    def handle(self, arrived: Arrived) -> tuple[Answer | None, Fault | None]:
        if not arrived.target.startswith(API):
            return Answer(404, b"404 page not found\n"), None
        try:
            body = json.loads(arrived.body or b"{}")
        except ValueError:
            return error(400, "error parsing JSON"), None
        path, namespace = arrived.target.removeprefix(API), arrived.headers.get("X-Vault-Namespace", "").strip("/")
        request = Request(arrived.method, path, namespace, arrived.headers.get("X-Vault-Token"), body)
        marked = arrived.headers.get("X-Vault-Request") == "true"
        with self._lock:
            fault = self._fault(path)
            answer = fault.answer if fault and not fault.is_late else self.state.answer(request)
            status = answer.status if answer else 0
            accessor = self.state.accessor(request.token)
            self.calls.append(_call(request, accessor, marked=marked, status=status))
        return answer, fault


def _call(request: Request, accessor: str | None, *, marked: bool, status: int) -> Call:
    items = request.body.get("batch_input") or [request.body]
    fields = frozenset(request.body) | frozenset(name for item in items for name in item)
    wrapped = tuple(item["ciphertext"] for item in items if "ciphertext" in item)
    return Call(request.method, request.path, request.namespace, accessor, fields, wrapped, marked, status)
