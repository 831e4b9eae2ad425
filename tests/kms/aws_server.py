"""What stands between the client and moto: it writes down each call, and answers wrongly when it is told to."""

from __future__ import annotations

import json
import re
import socket
import threading
import urllib.error
import urllib.request
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.kms.answers import Answer
from tests.kms.certificates import LOOPBACK

if TYPE_CHECKING:
    from typing_extensions import Self

    from tests.kms.moto_server import Moto

_SCOPE = re.compile(r"Credential=([^/]+)/\d+/([^/]+)/([^/]+)/")


class AwsCall(NamedTuple):
    """One request as it arrived: STS has its parameters elsewhere, and names no key."""

    action: str
    key: str
    region: str
    service: str
    user: str
    context: dict[str, str]


class AwsServer:
    """The address of AWS KMS in one test."""

    def __init__(self, moto: Moto) -> None:
        self.moto = moto
        self.calls: list[AwsCall] = []
        self.connects: list[str] = []
        self.faults: dict[str, tuple[Answer | None, float]] = {}
        self.times: int | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()
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

    def fail(self, key: str, answer: Answer | None, *, delay: float = 0, times: int | None = None) -> None:
        """Answer calls for this key so, the next times or always; no answer means that the connection is dropped."""
        self.faults[key] = (answer, delay)
        self.times = times

    def actions(self) -> list[tuple[str, str]]:
        """Return action and key of each call, in order of names."""
        return sorted((call.action, call.key) for call in self.calls)

    def answer(self, call: AwsCall, path: str, headers: dict[str, str], content: bytes) -> Answer | None:
        with self._lock:
            self.calls.append(call)
            fault = self.faults.get(call.key)
            if fault and self.times is not None:
                self.times -= 1
                if self.times <= 0:
                    self.faults.clear()
        if fault is None:
            return self._of_moto(path, headers, content)
        self._stopping.wait(fault[1])
        return fault[0]

    def _of_moto(self, path: str, headers: dict[str, str], content: bytes) -> Answer:
        request = urllib.request.Request(self.moto.url + path, content, headers)  # noqa: S310 moto's address
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310 moto's address
                return Answer(answer.status, answer.read(), {"Content-Type": answer.headers["Content-Type"]})
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.read(), {"Content-Type": error.headers["Content-Type"]})


def aws_error(code: str, status: int = 400) -> Answer:
    """Return an error as the JSON protocol of AWS has it."""
    return Answer(status, {"__type": code, "message": f"what AWS says with {code}"})


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, aws: AwsServer) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.aws = aws

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that wait no longer: some tests are about that."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _HttpServer

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        passed_on = {"X-Amz-Target", "Authorization", "Content-Type", "X-Amz-Date", "X-Amz-Security-Token"}
        headers = {name: value for name in passed_on if (value := self.headers.get(name))}
        call = _call(headers, content)
        answer = self.server.aws.answer(call, self.path, headers, content)
        if answer is None:
            self.close_connection = True
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        body = answer.content()
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/x-amz-json-1.1", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self) -> None:
        """Refuse to be a proxy, but remember for which host."""
        self.server.aws.connects.append(self.path)
        self.send_error(403)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name is http.server's
        """Write nothing to stderr."""


def _call(headers: dict[str, str], content: bytes) -> AwsCall:
    scope = _SCOPE.search(headers.get("Authorization", ""))
    user, region, service = scope.groups() if scope else ("", "", "")
    target = headers.get("X-Amz-Target")
    if target is None:
        return AwsCall(content.decode(), "", region, service, user, {})
    body = json.loads(content)
    action = target.rpartition(".")[2]
    return AwsCall(action, body.get("KeyId", ""), region, service, user, body.get("EncryptionContext", {}))
