"""What the fakes of clouds' key services have in common: real sockets, a list of calls, wrong answers when told to.

What is answered otherwise stands in ``gcp_server.py`` and ``azure_server.py``; they share no code with the clients.
"""

from __future__ import annotations

import secrets
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from tests.kms.answers import Answer, RefusalError
from tests.kms.certificates import LOOPBACK
from tests.kms.transit_server import Fault

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from typing_extensions import Self

    import pme_parquet as pme

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


@dataclass
class _Rule:
    fault: Fault
    times: int | None
    path: str


class CloudServer(ABC):
    """Answers on a loopback address within ``with``. Its keys go by their short names."""

    client: str
    """The class that is a KMS client of it."""
    address: str
    """The option that says where it is."""
    wrap: str
    unwrap: str
    login: str
    """Words that the paths of these have in them, and of nothing else."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.tokens: dict[str, User] = {}
        self._rules: list[_Rule] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._http = _HttpServer(self)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.url = f"http://{LOOPBACK}:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

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

    def inject(self, fault: Fault | Answer, *, times: int | None = 1, path: str = "") -> None:
        """Answer with a fault the next times, or for ever, that a request's path has these words in it."""
        made = fault if isinstance(fault, Fault) else Fault(fault)
        with self._lock:
            self._rules.append(_Rule(made, times, path))

    def count(self, words: str) -> int:
        """Return how many requests so far had these words in their path."""
        return sum(words in call.path for call in self.calls)

    def handle(self, request: Request) -> tuple[Answer | None, Fault | None]:
        """Answer one request and write it down; no answer means that the connection is to be dropped."""
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

    def wait(self, seconds: float) -> None:
        """Let a fault last, but not longer than the server."""
        self._stopping.wait(seconds)

    def _fault(self, path: str) -> Fault | None:
        for rule in self._rules:
            if rule.path in path:
                if rule.times is not None:
                    rule.times -= 1
                    if rule.times == 0:
                        self._rules.remove(rule)
                return rule.fault
        return None


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    # Each thread waits for a client that may keep its connection open.
    block_on_close = False

    def __init__(self, cloud: CloudServer) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.cloud = cloud

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that end a connection: some tests are about that."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _HttpServer

    def do_POST(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(str(self.command), parts.path, dict(parse_qsl(parts.query)), headers, body)
        answer, fault = self.server.cloud.handle(request)
        if fault:
            self.server.cloud.wait(fault.delay)
        if answer is None:
            self.close_connection = True
            return
        content = answer.content()
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name is http.server's
        """Write nothing to stderr."""
