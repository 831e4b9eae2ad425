"""S3 as moto answers it, in this process, and S3A for a session: its jars, which the build collects, and its settings.

Requests are counted, and some are answered otherwise than by moto. A fault is one of these: ``busy`` does nothing and
answers 503, ``gone`` does nothing and closes the connection, ``lost`` does what is asked for and closes the connection,
``cut`` sends half of an answer's body, ``silent`` does nothing and waits until the client closes the connection.
"""

from __future__ import annotations

import re
import socket
import threading
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import parse_qs

import s3fs
from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

from tests.support import java
from tests.support.kms.certificates import LOOPBACK
from tests.support.session import ROOT
from tests.support.storage import Lake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession
    from typing_extensions import Self

    Fault = Literal["busy", "gone", "lost", "cut", "silent"]
    Failing = Callable[[str, str], Fault | None]

JARS = ROOT / "target" / "jars" / "s3a"
# Spark 4.1 has an older Hadoop. Only `make test-all` has these.
OF_SPARK_4_1 = JARS / "4.1"

CONDITION = "HTTP_IF_NONE_MATCH"
CONTENTS = re.compile(rb"<Contents>.*?</Contents>", re.DOTALL)

_LOADED: set[str] = set()


def load(spark: SparkSession) -> None:
    """Put S3A where driver and executors of a local session look for classes, once."""
    if spark.sparkContext.applicationId not in _LOADED:
        jars = sorted(JARS.glob("*.jar"))
        assert jars, f"{JARS} is empty: run `make build` first"
        for jar in jars:
            java.add_to_class_path(spark, jar)
        _LOADED.add(spark.sparkContext.applicationId)


@contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Let the session reach a store within the block."""
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)


class Request(NamedTuple):
    """What was asked of the store: ``LIST`` and ``DELETE*`` of many keys are operations of their own."""

    operation: str
    key: str
    status: int


class _Quiet(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Print nothing."""


class ObjectStore:
    """A store from ``with`` to its end.

    Attributes:
        obeys: whether it honours conditions of writes.
        requests: everything that it answered.
    """

    def __init__(self) -> None:
        self.obeys = True
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._hooks: list[Callable[[str, str], None]] = []
        self._losing: list[Callable[[str, str], bool]] = []
        self._failing: list[Failing] = []
        self._forgotten: list[str] = []
        self._app = create_backend_app("s3")  # it looks for no other service, as moto's dispatcher would each time
        self._http = make_server(LOOPBACK, 0, self._answer, threaded=True, request_handler=_Quiet)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.url = f"http://{LOOPBACK}:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @cached_property
    def files(self) -> s3fs.S3FileSystem:
        """A client of Python."""
        return s3fs.S3FileSystem(**self.storage_options(), use_listings_cache=False, skip_instance_cache=True)

    def make(self, bucket: str) -> dict[str, str]:
        """Make a bucket, and return Hadoop's settings for it."""
        self.files.mkdir(bucket)
        named = {
            "endpoint": self.url,
            "endpoint.region": "us-east-1",
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
            "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
            "access.key": "nobody",
            "secret.key": "nothing",
        }
        return {f"fs.s3a.bucket.{bucket}.{name}": value for name, value in named.items()}

    def storage_options(self) -> dict[str, Any]:
        """Return the options of fsspec for it."""
        return {"key": "nobody", "secret": "nothing", "endpoint_url": self.url}

    def names(self, bucket: str, prefix: str) -> set[str]:
        """Return the keys below a prefix, without it."""
        whole = f"{bucket}/{prefix}"
        return {found.removeprefix(whole) for found in self.files.find(whole)}

    @contextmanager
    def counted(self) -> Iterator[list[Request]]:
        """Yield a list, which has all requests of the block after it."""
        before = len(self.requests)
        found: list[Request] = []
        yield found
        found += self.requests[before:]

    @contextmanager
    def before(self, hook: Callable[[str, str], None]) -> Iterator[None]:
        """Call a function with operation and key before each answer."""
        self._hooks.append(hook)
        try:
            yield
        finally:
            self._hooks.remove(hook)

    @contextmanager
    def losing_an_answer(self, of: Callable[[str, str], bool]) -> Iterator[None]:
        """Do what one such request asks for, and answer that the server failed."""
        self._losing.append(of)
        try:
            yield
        finally:
            arrived = of not in self._losing
            self._losing[:] = [one for one in self._losing if one is not of]
        assert arrived, "no such request arrived"

    @contextmanager
    def failing(self, which: Failing) -> Iterator[None]:
        """Let the store, or the way to it, fail for the requests for which the function returns a fault."""
        self._failing.append(which)
        try:
            yield
        finally:
            self._failing.remove(which)

    @contextmanager
    def forgetting(self, name: str) -> Iterator[None]:
        """Leave an object out of listings, which know what was there before."""
        self._forgotten.append(name)
        try:
            yield
        finally:
            self._forgotten.remove(name)

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        operation, key = _asked(environ)
        for hook in list(self._hooks):
            hook(operation, key)
        fault = next(filter(None, (which(operation, key) for which in list(self._failing))), None)
        if fault is not None and fault in {"busy", "gone", "silent"}:
            self.requests.append(Request(operation, key, 503 if fault == "busy" else 0))
            return _nothing_done(fault, environ, start_response)
        if not self.obeys and operation == "PUT":
            environ.pop(CONDITION, None)
        answered: list[tuple[str, Any]] = []

        def start(status: str, headers: Any, *_: Any) -> Any:
            answered.append((status, headers))

        # Moto looks and then writes, and lists what other threads change meanwhile.
        with self._lock:
            body = b"".join(self._app(environ, start))
        status, headers = answered[-1]
        if operation == "LIST" and self._forgotten:
            headers, body = self._without_forgotten(headers, body)
        for lost in [one for one in self._losing if one(operation, key)][:1]:
            self._losing.remove(lost)
            status, headers, body = "500 Internal Server Error", [("Content-Length", "0")], b""
        self.requests.append(Request(operation, key, int(status.split()[0])))
        if fault == "lost":
            raise _closed(environ)
        if fault == "cut" and body:
            # The length in the headers stays that of the whole.
            start_response(status, headers)
            return _half(body, environ)
        start_response(status, headers)
        return [body]

    def _without_forgotten(self, headers: Any, body: bytes) -> tuple[Any, bytes]:
        found: list[bytes] = CONTENTS.findall(body)
        for one in found:
            if any(name.encode() in one for name in self._forgotten):
                body = body.replace(one, b"")
        return [(name, str(len(body)) if name == "Content-Length" else value) for name, value in headers], body


def _nothing_done(fault: str, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    # The rest of a request must not be taken for the next one.
    environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    if fault == "silent":
        environ["werkzeug.socket"].recv(1)
    if fault != "busy":
        raise _closed(environ)
    start_response("503 Slow Down", [("Content-Length", "0")])
    return [b""]


def _closed(environ: dict[str, Any]) -> ConnectionError:
    """Close the connection, which the server would keep, and return what ends the answer."""
    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    return ConnectionAbortedError()


def _half(body: bytes, environ: dict[str, Any]) -> Iterator[bytes]:
    yield body[: len(body) // 2]
    raise _closed(environ)


def _asked(environ: dict[str, Any]) -> tuple[str, str]:
    """Return the operation that a request asks for, and the key, or the prefix of a listing."""
    query = parse_qs(environ["QUERY_STRING"], keep_blank_values=True)
    _, _, path = environ["PATH_INFO"].lstrip("/").partition("/")
    method = environ["REQUEST_METHOD"]
    if method == "GET" and "list-type" in query:
        return "LIST", query.get("prefix", [""])[0]
    if method == "POST" and "delete" in query:
        return "DELETE*", ""
    if method == "PUT" and "HTTP_X_AMZ_COPY_SOURCE" in environ:
        return "COPY", path
    return method, path


@contextmanager
def lake(jars: Path) -> Iterator[Lake]:
    """Start a store, and yield a directory in it, with the jars to reach it."""
    listed = sorted(map(str, jars.glob("*.jar")))
    assert listed, f"{jars} is empty: run `make build` first, or `make target/jars/iceberg/.all`"
    with ObjectStore() as store:
        yield Lake("s3a://lakes/lake", store.make("lakes"), listed)
