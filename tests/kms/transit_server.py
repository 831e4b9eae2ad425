"""A fake of Vault's and OpenBao's transit engine: the documented wire format over real sockets, with or without TLS.

It writes down every request and answers wrongly when it is told to. What it answers otherwise stands in
``vault_state.py``; it shares no code with the client that is tested.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.kms.access import AppRole
from tests.kms.answers import Answer, error
from tests.kms.certificates import LOOPBACK
from tests.kms.transit_key import TransitKey
from tests.kms.vault_state import Method, Request, Role, VaultState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from typing_extensions import Self

    from tests.kms.certificates import Certificate

API = "/v1/"


class Call(NamedTuple):
    """One request as it arrived. ``wrapped`` are the ciphertexts it held; ``status`` is 0 where it got no answer."""

    method: str
    path: str
    namespace: str
    accessor: str | None
    fields: frozenset[str]
    wrapped: tuple[str, ...]
    marked: bool
    status: int


@dataclass(frozen=True)
class Fault:
    """What goes wrong: another answer, a delay before it or before the right one, or else a dropped connection.

    ``cut`` sends half of the answer before the delay, and never the rest.
    """

    answer: Answer | None = None
    delay: float = 0
    cut: bool = False

    @property
    def is_late(self) -> bool:
        """Whether the right answer comes, only not at once."""
        return self.answer is None and self.delay > 0


DROPPED = Fault()


@dataclass
class _Rule:
    fault: Fault
    times: int | None
    path: str


class TransitServer:
    """A Vault with one transit mount, which answers from ``start`` to ``stop``, or within ``with``."""

    def __init__(
        self,
        *,
        mount: str = "transit",
        namespace: str | None = None,
        keys: Mapping[str, TransitKey] | None = None,
        certificate: Certificate | None = None,
    ) -> None:
        self.mount = mount
        self.namespace = namespace
        self.keys = dict(keys or {})
        self.state = VaultState({(namespace or "", mount): self.keys})
        self.calls: list[Call] = []
        self._rules: list[_Rule] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._http = _HttpServer(self, certificate)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        scheme = "https" if certificate else "http"
        self.url = f"{scheme}://{LOOPBACK}:{self._http.server_address[1]}"

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop listening, and close what connections are left."""
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._http.close_connections()
        self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def create(self, *names: str) -> None:
        """Make keys."""
        self.keys.update({name: TransitKey() for name in names})

    def rotate(self, name: str) -> None:
        """Give a key a new version."""
        self.keys[name].rotate()

    def token(self, keys: Iterable[str] | None = None, **fields: Any) -> str:
        """Return a new token that may use these keys; or, if none are given, everything."""
        return self.state.new_token(None if keys is None else frozenset(keys), **fields)

    def role(self, method: Method, name: str, secret: str, mount: str | None = None, **fields: Any) -> None:
        """Let a role log in, at the mount of the method's name or another."""
        self.state.roles[(mount or method, name)] = Role(method, secret, **fields)

    def approle(self, keys: Iterable[str]) -> AppRole:
        """Return what logs in to a new AppRole that may use these keys."""
        role = AppRole("role-of-the-tests", "secret-id-4c1d", "approle")
        self.role("approle", role.role_id, role.secret_id, keys=frozenset(keys))
        return role

    def seal(self) -> None:
        """Refuse everything from now on."""
        self.state.sealed = True

    def inject(self, fault: Fault | Answer, *, times: int | None = 1, path: str = "") -> None:
        """Answer with a fault the next times, or for ever, that a request's path has these words in it."""
        made = fault if isinstance(fault, Fault) else Fault(fault)
        with self._lock:
            self._rules.append(_Rule(made, times, path))

    def heal(self) -> None:
        """Answer rightly again."""
        with self._lock:
            self._rules.clear()

    def paths(self) -> list[str]:
        """Return the paths of the requests so far, in order."""
        return [call.path for call in self.calls]

    def count(self, words: str) -> int:
        """Return how many requests so far had these words in their path."""
        return sum(words in path for path in self.paths())

    def handle(self, request: Request, *, marked: bool) -> tuple[Answer | None, Fault | None]:
        """Answer one request and write it down; no answer means that the connection is to be dropped."""
        with self._lock:
            fault = self._fault(request.path)
            answer = fault.answer if fault and not fault.is_late else self.state.answer(request)
            status = answer.status if answer else 0
            accessor = self.state.accessor(request.token)
            self.calls.append(_call(request, accessor, marked=marked, status=status))
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


def _call(request: Request, accessor: str | None, *, marked: bool, status: int) -> Call:
    items = request.body.get("batch_input") or [request.body]
    fields = frozenset(request.body) | frozenset(name for item in items for name in item)
    wrapped = tuple(item["ciphertext"] for item in items if "ciphertext" in item)
    return Call(request.method, request.path, request.namespace, accessor, fields, wrapped, marked, status)


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, vault: TransitServer, certificate: Certificate | None) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.vault = vault
        self._open: set[socket.socket] = set()
        self._tls: ssl.SSLContext | None = None
        if certificate:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate.chain, certificate.key)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        if self._tls:
            # The handshake waits for the connection's own thread.
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that end a handshake or a connection: some tests are about that."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _HttpServer

    def do_POST(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def _serve(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.path.startswith(API):
            return self._send(Answer(404, b"404 page not found\n"))
        try:
            body = json.loads(content or b"{}")
        except ValueError:
            return self._send(error(400, "error parsing JSON"))
        path, namespace = self.path.removeprefix(API), self.headers.get("X-Vault-Namespace", "").strip("/")
        request = Request(str(self.command), path, namespace, self.headers.get("X-Vault-Token"), body)
        marked = self.headers.get("X-Vault-Request") == "true"
        vault = self.server.vault
        answer, fault = vault.handle(request, marked=marked)
        if fault and not fault.cut:
            vault.wait(fault.delay)
        if answer and not (fault and fault.cut):
            return self._send(answer)
        if answer and fault:
            self._send(answer, cut=True)
            vault.wait(fault.delay)
        self.close_connection = True
        return None

    def _send(self, answer: Answer, *, cut: bool = False) -> None:
        content = answer.content()
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name is http.server's
        """Write nothing to stderr."""
