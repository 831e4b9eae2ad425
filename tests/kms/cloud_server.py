"""What the fakes of clouds' key services have in common: users with tokens, and a list of calls.

What is answered otherwise stands in ``gcp_server.py`` and ``azure_server.py``; they share no code with the clients.
"""

from __future__ import annotations

import secrets
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from tests.kms.answers import Answer, RefusalError
from tests.kms.loopback import FaultyServer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pme_parquet as pme
    from tests.kms.loopback import Arrived, Fault

BEARER = "Bearer "


class Request(NamedTuple):
    """One request; the names of headers in small letters."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def form(self) -> dict[str, str]:
        assert self.headers["content-type"].partition(";")[0] == "application/x-www-form-urlencoded"
        return dict(parse_qsl(self.body.decode(), strict_parsing=True))


class Call(NamedTuple):
    """What a request asked for, and the status of its answer; 0 where it got none."""

    path: str
    status: int


@dataclass
class User:
    """Whose token it is: the keys it may use, and whether it still serves."""

    keys: frozenset[str]
    expired: bool = False


class CloudServer(FaultyServer):
    """A cloud's key service. Its keys go by their short names."""

    client: str
    """The class that is a KMS client of it."""
    address: str
    """The option that says where it is."""
    wrap: str
    unwrap: str
    login: str
    look_up: str
    sign: str
    """Words that the paths of these have in them, and of nothing else; ``look_up`` is of a key that signs."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.tokens: dict[str, User] = {}

    @abstractmethod
    def access(self, directory: Path, keys: tuple[str, ...]) -> pme.GcpKms | pme.AzureKeyVault:
        """Return access for a new user who may use these keys."""

    @abstractmethod
    def alone(self, keys: tuple[str, ...]) -> dict[str, str]:
        """Return the same as settings of the client, without ``parquet.encryption.``."""

    @abstractmethod
    def rotate(self, name: str) -> None:
        """Give a key a new version."""

    @abstractmethod
    def disable(self, name: str) -> None:
        """Let no version of a key be used."""

    @abstractmethod
    def signer(self, name: str) -> tuple[str, bytes]:
        """Make a P-256 key that signs, and return the id to sign with and its public key in PEM."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Take a key away."""

    @abstractmethod
    def answer(self, request: Request) -> Answer:
        """Answer as the service does, or raise a ``RefusalError``."""

    @property
    @abstractmethod
    def secrets(self) -> tuple[str, ...]:
        """What no message may repeat."""

    def new_token(self, user: User) -> str:
        token = f"token.{secrets.token_urlsafe(24)}"
        self.tokens[token] = user
        return token

    def expire(self) -> None:
        """End every token that there is."""
        self.tokens = {token: User(user.keys, expired=True) for token, user in self.tokens.items()}

    def user(self, request: Request, refusal: Answer) -> User:
        user = self.tokens.get(request.headers.get("authorization", "").removeprefix(BEARER))
        if user is None or user.expired:
            raise RefusalError(refusal)
        return user

    def paths(self) -> list[str]:
        return [call.path for call in self.calls]

    def handle(self, arrived: Arrived) -> tuple[Answer | None, Fault | None]:
        parts = urlsplit(arrived.target)
        headers = {name.lower(): value for name, value in arrived.headers.items()}
        request = Request(arrived.method, parts.path, dict(parse_qsl(parts.query)), headers, arrived.body)
        with self._lock:
            fault = self._fault(request.path)
            if fault and not fault.is_late:
                answer = fault.answer
            else:
                try:
                    answer = self.answer(request)
                except RefusalError as refusal:
                    answer = refusal.answer
                except AssertionError:
                    # A request that the service's documents do not know.
                    answer = Answer(400, b"no such request")
            self.calls.append(Call(request.path, answer.status if answer else 0))
        return answer, fault
