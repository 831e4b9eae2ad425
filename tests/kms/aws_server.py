"""A server between the client and moto: it records each call, and answers wrongly if a test wants that."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, NamedTuple

from tests.kms.answers import Answer
from tests.kms.loopback import Fault, LoopbackServer

if TYPE_CHECKING:
    from tests.kms.loopback import Arrived
    from tests.support.kms.moto_server import Moto

PASSED_ON = ("X-Amz-Target", "Authorization", "Content-Type", "X-Amz-Date", "X-Amz-Security-Token")
_SCOPE = re.compile(r"Credential=([^/]+)/\d+/([^/]+)/([^/]+)/")


class AwsCall(NamedTuple):
    """One request as it arrived: STS puts its parameters elsewhere, and names no key."""

    action: str
    key: str
    region: str
    service: str
    user: str
    context: dict[str, str]


class AwsServer(LoopbackServer):
    """The address of AWS KMS in one test."""

    content_type = "application/x-amz-json-1.1"

    def __init__(self, moto: Moto) -> None:
        super().__init__()
        self.moto = moto
        self.calls: list[AwsCall] = []
        self.connects: list[str] = []
        self.faults: dict[str, Fault] = {}
        self.times: int | None = None

    def fail(self, key: str, answer: Answer | None, *, delay: float = 0, times: int | None = None) -> None:
        """Answer calls for this key with an error, this many times or always; without one, drop the connection."""
        self.faults[key] = Fault(answer, delay)
        self.times = times

    def actions(self) -> list[tuple[str, str]]:
        """Return action and key of each call, sorted."""
        return sorted((call.action, call.key) for call in self.calls)

    def handle(self, arrived: Arrived) -> tuple[Answer | None, Fault | None]:
        if arrived.method == "CONNECT":
            # It is not a proxy, but remembers the host that a client wanted it to connect to.
            self.connects.append(arrived.target)
            return Answer(403, b"", {"Connection": "close"}), None
        headers = {name: value for name in PASSED_ON if (value := arrived.headers.get(name))}
        call = _call(headers, arrived.body)
        with self._lock:
            self.calls.append(call)
            fault = self.faults.get(call.key)
            if fault and self.times is not None:
                self.times -= 1
                if self.times <= 0:
                    self.faults.clear()
        return (fault.answer if fault else self._of_moto(arrived.target, headers, arrived.body)), fault

    def _of_moto(self, path: str, headers: dict[str, str], content: bytes) -> Answer:
        request = urllib.request.Request(self.moto.url + path, content, headers)  # noqa: S310 moto's address
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310 moto's address
                return Answer(answer.status, answer.read(), {"Content-Type": answer.headers["Content-Type"]})
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.read(), {"Content-Type": error.headers["Content-Type"]})


def aws_error(code: str, status: int = 400) -> Answer:
    """Return an error in the JSON protocol of AWS."""
    return Answer(status, {"__type": code, "message": f"what AWS says with {code}"})


def _call(headers: dict[str, str], content: bytes) -> AwsCall:
    scope = _SCOPE.search(headers.get("Authorization", ""))
    user, region, service = scope.groups() if scope else ("", "", "")
    target = headers.get("X-Amz-Target")
    if target is None:
        return AwsCall(content.decode(), "", region, service, user, {})
    body = json.loads(content)
    action = target.rpartition(".")[2]
    return AwsCall(action, body.get("KeyId", ""), region, service, user, body.get("EncryptionContext", {}))
