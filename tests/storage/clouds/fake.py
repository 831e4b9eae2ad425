"""What the servers share that answer in the place of a cloud's store, on a loopback address, in this process."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

from tests.support.kms.certificates import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from typing_extensions import Self


class Asked(NamedTuple):
    """What was asked of a store.

    Attributes:
        operation: its name in the store's documents, or the method.
        key: of which object.
        status: what was answered.
        login: the header or the signature in the URL that says who asks; empty without any.
    """

    operation: str
    key: str
    status: int
    login: str = ""


class Stored(NamedTuple):
    """An object or a directory."""

    content: bytes
    version: int
    changed: datetime


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Print nothing."""


class Fake(ABC):
    """A store from ``with`` to its end.

    Attributes:
        objects: everything in it, by key.
        requests: everything that it answered.
    """

    def __init__(self) -> None:
        self.objects: dict[str, Stored] = {}
        self.requests: list[Asked] = []
        self._lock = threading.RLock()
        self._version = 0
        self._busy: list[Callable[[str, str], bool]] = []
        self._http = make_server(LOOPBACK, 0, self._serve, threaded=True, request_handler=_Quiet)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.port = int(self._http.server_address[1])
        self.url = f"http://{LOOPBACK}:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @abstractmethod
    def answer(self, request: Request, path: list[str]) -> tuple[str, str, Response]:
        """Return the operation, the key, and the answer; nobody else is answered meanwhile.

        Args:
            path: the parts of the path, decoded.
        """

    def put(self, key: str, content: bytes) -> Stored:
        self._version += 1
        self.objects[key] = Stored(content, self._version, datetime.now(timezone.utc))
        return self.objects[key]

    @contextmanager
    def busy(self, which: Callable[[str, str], bool]) -> Iterator[None]:
        """Answer 503 to the requests, by method and decoded URL, for which the function is true, and do nothing."""
        self._busy.append(which)
        try:
            yield
        finally:
            self._busy.remove(which)

    def _serve(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        request = Request(environ)
        # Read whole, so that the rest is not taken for the next request.
        request.get_data()
        raw = environ["REQUEST_URI"]
        path = [unquote(part) for part in raw.partition("?")[0].strip("/").split("/")]
        if any(which(request.method, unquote(raw)) for which in list(self._busy)):
            self.requests.append(Asked(request.method, "/".join(path), 503))
            return Response(status=503)(environ, start_response)
        with self._lock:
            operation, key, response = self.answer(request, path)
            login = request.headers.get("Authorization") or request.args.get("sig", "")
            self.requests.append(Asked(operation, key, response.status_code, login))
        return response(environ, start_response)


def part(request: Request, content: bytes) -> tuple[bytes, dict[str, str]]:
    """Return the part of the content that a request's range names, and the header that says which it is."""
    unit, _, ends = (request.headers.get("x-ms-range") or request.headers.get("Range", "")).partition("=")
    if unit != "bytes":
        return content, {}
    first, _, last = ends.partition("-")
    start, end = int(first), min(int(last or len(content) - 1), len(content) - 1)
    return content[start : end + 1], {"Content-Range": f"bytes {start}-{end}/{len(content)}"}
