"""A real Vault or OpenBao, at ``PME_VAULT_ADDR``: ``PME_VAULT_TOKEN`` may mount engines and write policies there.

Everything has names of its own, and is removed afterwards.
"""

from __future__ import annotations

import json
import os
import secrets
import urllib.request
from itertools import product
from typing import TYPE_CHECKING, Any

from tests.kms.access import OPERATIONS, AppRole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self

ADDRESS, TOKEN = "PME_VAULT_ADDR", "PME_VAULT_TOKEN"


def is_given() -> bool:
    return bool(os.environ.get(ADDRESS) and os.environ.get(TOKEN))


class RealVault:
    """A transit mount, an AppRole mount and policies, from ``with`` to its end."""

    def __init__(self) -> None:
        self.url = os.environ[ADDRESS].rstrip("/")
        self.mount = f"pme-tests-{secrets.token_hex(4)}"
        self.namespace: str | None = None
        self._approle = f"{self.mount}-approle"
        self._policies: list[str] = []

    def __enter__(self) -> Self:
        self._ask("POST", f"sys/mounts/{self.mount}", {"type": "transit"})
        self._ask("POST", f"sys/auth/{self._approle}", {"type": "approle"})
        return self

    def __exit__(self, *_: object) -> None:
        self._ask("DELETE", f"sys/mounts/{self.mount}")
        self._ask("DELETE", f"sys/auth/{self._approle}")
        for policy in self._policies:
            self._ask("DELETE", f"sys/policies/acl/{policy}")

    def create(self, *names: str) -> None:
        """Make keys."""
        for name in names:
            self._ask("POST", f"{self.mount}/keys/{name}", {"type": "aes256-gcm96"})

    def rotate(self, name: str) -> None:
        """Give a key a new version."""
        self._ask("POST", f"{self.mount}/keys/{name}/rotate")

    def retire(self, name: str, *, before: int) -> None:
        """Let a key decrypt only with this version and later ones."""
        self._ask("POST", f"{self.mount}/keys/{name}/config", {"min_decryption_version": before})

    def token(self, keys: Iterable[str], operations: Iterable[str] = OPERATIONS) -> str:
        """Return a new token under the minimal policy for these keys, which docs/keys.md shows."""
        made = self._ask("POST", "auth/token/create", {"policies": [self._policy(keys, operations)], "ttl": "1h"})
        return str(made["auth"]["client_token"])

    def approle(self, keys: Iterable[str]) -> AppRole:
        """Return the credentials of a new AppRole under the minimal policy for these keys."""
        policy = self._policy(keys, OPERATIONS)
        role = f"auth/{self._approle}/role/{policy}"
        self._ask("POST", role, {"token_policies": [policy], "token_ttl": "1h"})
        role_id = self._ask("GET", f"{role}/role-id")["data"]["role_id"]
        secret_id = self._ask("POST", f"{role}/secret-id")["data"]["secret_id"]
        return AppRole(role_id, secret_id, self._approle)

    def _policy(self, keys: Iterable[str], operations: Iterable[str]) -> str:
        name = f"{self.mount}-{len(self._policies)}"
        paths = [f"{self.mount}/{operation}/{key}" for key, operation in product(keys, operations)]
        text = "\n".join(f'path "{path}" {{ capabilities = ["update"] }}' for path in paths)
        self._ask("POST", f"sys/policies/acl/{name}", {"policy": text})
        self._policies.append(name)
        return name

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        headers = {"X-Vault-Token": os.environ[TOKEN], "X-Vault-Request": "true"}
        content = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(f"{self.url}/v1/{path}", content, headers, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 the address is the tester's own
            return json.loads(answer.read() or b"{}")
