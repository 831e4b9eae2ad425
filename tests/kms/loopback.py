"""The common part of the fake key services: an HTTP server on a loopback address that fails if a test wants that."""

from __future__ import annotations

import socket
import ssl
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.support.kms.certificates import LOOPBACK

if TYPE_CHECKING:
    from email.message import Message

    from typing_extensions import Self

    from tests.kms.answers import Answer
    from tests.support.kms.certificates import Certificate


class Arrived(NamedTuple):
    """One request as it arrived; ``target`` is the path with its query."""

    method: str
    target: str
    headers: Message
    body: bytes


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
        """Whether the right answer comes, but late."""
        return self.answer is None and self.delay > 0


DROPPED = Fault()


class LoopbackServer(ABC):
    """Answers from ``start`` to ``stop``, or within ``with``; with a certificate, over TLS."""

    content_type = "application/json"

    def __init__(self, certificate: Certificate | None = None) -> None:
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._http = _HttpServer(self, certificate)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        scheme = "https" if certificate else "http"
        self.url = f"{scheme}://{LOOPBACK}:{self._http.server_address[1]}"

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop listening, and close the remaining connections."""
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._http.close_connections()
        self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @abstractmethod
    def handle(self, arrived: Arrived) -> tuple[Answer | None, Fault | None]:
        """Answer one request and record it; no answer means that the connection must be dropped."""

    @property
    def connections(self) -> int:
        """The number of connections to it, with or without a request."""
        return self._http.accepted

    def wait(self, seconds: float) -> None:
        """Wait for the duration of a fault, but not longer than the server runs."""
        self._stopping.wait(seconds)


@dataclass
class _Rule:
    fault: Fault
    times: int | None
    path: str


class FaultyServer(LoopbackServer):
    """Answers wrongly for some time, for requests of some paths."""

    def __init__(self, certificate: Certificate | None = None) -> None:
        super().__init__(certificate)
        self._rules: list[_Rule] = []

    @abstractmethod
    def paths(self) -> list[str]:
        """Return the paths of the requests so far, in order."""

    def count(self, words: str) -> int:
        """Return how many requests so far had this text in their path."""
        return sum(words in path for path in self.paths())

    def inject(self, fault: Fault | Answer, *, times: int | None = 1, path: str = "") -> None:
        """Answer with a fault for a number of times, or always, if a request's path contains this text."""
        made = fault if isinstance(fault, Fault) else Fault(fault)
        with self._lock:
            self._rules.append(_Rule(made, times, path))

    def heal(self) -> None:
        """Answer correctly again."""
        with self._lock:
            self._rules.clear()

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

    def __init__(self, fake: LoopbackServer, certificate: Certificate | None) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.fake = fake
        self.accepted = 0
        self._open: set[socket.socket] = set()
        self._tls: ssl.SSLContext | None = None
        if certificate:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate.chain, certificate.key)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self.accepted += 1
        if self._tls:
            # The connection's own thread does the handshake.
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
        """Ignore clients that end a handshake or a connection: some tests do that."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _HttpServer

    def _serve(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fake = self.server.fake
        answer, fault = fake.handle(Arrived(str(self.command), self.path, self.headers, content))
        if fault and not fault.cut:
            fake.wait(fault.delay)
        if answer and not (fault and fault.cut):
            return self._send(answer)
        if answer and fault:
            self._send(answer, cut=True)
            fake.wait(fault.delay)
        self.close_connection = True
        return None

    do_CONNECT = do_GET = do_POST = do_PUT = _serve  # noqa: N815 the names are http.server's

    def _send(self, answer: Answer, *, cut: bool = False) -> None:
        content = answer.content()
        self.send_response(answer.status)
        for name, value in {"Content-Type": self.server.fake.content_type, **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name is http.server's
        """Write nothing to stderr."""
