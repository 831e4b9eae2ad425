"""The refusals of Vault's HTTP API, word for word: clients distinguish the cases only by these words."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Answer:
    """A status, a body (JSON, unless it is bytes) and headers."""

    status: int
    body: object
    headers: Mapping[str, str] = field(default_factory=dict)

    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


class RefusalError(Exception):
    """Ends the handling of a request with an answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.answer = answer


def error(status: int, *messages: str) -> Answer:
    return Answer(status, {"errors": list(messages)})


def data(fields: Mapping[str, object], status: int = 200) -> Answer:
    return Answer(status, _secret() | {"data": dict(fields)})


def auth(fields: Mapping[str, object]) -> Answer:
    return Answer(200, _secret() | {"auth": dict(fields)})


def _secret() -> dict[str, object]:
    return {"request_id": "0", "lease_id": "", "renewable": False, "lease_duration": 0} | dict.fromkeys(
        ["data", "wrap_info", "warnings", "auth"]
    )


DENIED = error(403, "1 error occurred:\n\t* permission denied\n\n")
# Newer Vaults say this about an invalid token. Older ones say the same as about a key that is not allowed.
INVALID_TOKEN = error(403, "2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n")
NO_TOKEN = error(403, "permission denied")
KUBERNETES_REFUSED = error(403, "permission denied")
APPROLE_REFUSED = error(400, "invalid role or secret ID")
NOT_RENEWABLE = error(400, "lease is not renewable")
KEY_NOT_FOUND = error(400, "encryption key not found")
NOT_AUTHENTIC = "cipher: message authentication failed"
TOO_OLD = "ciphertext or signature version is disallowed by policy (too old)"
UNSUPPORTED_OPERATION = error(405, "1 error occurred:\n\t* unsupported operation\n\n")
UNSUPPORTED_PATH = error(404, "1 error occurred:\n\t* unsupported path\n\n")
SEALED = error(503, "Vault is sealed")
BEHIND = error(412, "required index state not present")
INTERNAL = error(500, "1 error occurred:\n\t* internal error\n\n")


def no_route(path: str) -> Answer:
    return error(404, f'no handler for route "{path}". route entry not found.')


def throttled(seconds: int) -> Answer:
    body = {"errors": ['request path "transit": rate limit quota exceeded']}
    return Answer(429, body, {"Retry-After": str(seconds)})
