"""Google Cloud Storage's JSON API, as far as Google's connector for Hadoop and gcsfs use it.

Whoever asks for a token gets one, and no request needs it.
It obeys preconditions on generations: those make an object appear only if none of its name is there.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from email.parser import BytesParser
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from werkzeug.wrappers import Response

from tests.storage.clouds.fake import Fake, part

if TYPE_CHECKING:
    from werkzeug.wrappers import Request

    from tests.storage.clouds.fake import Stored

MOST = 1_000
TOKEN = "token-of-an-account"
TIMES = {"timeCreated": "2026-01-01T00:00:00Z", "updated": "2026-01-01T00:00:00Z"}


def _row(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value


CASTAGNOLI = [_row(value) for value in range(256)]


class Google(Fake):
    """Every bucket exists, and they share their objects."""

    def __init__(self) -> None:
        super().__init__()
        self._uploads: dict[str, tuple[dict[str, str], bytearray]] = {}

    def settings(self) -> dict[str, str]:
        """Return what a session needs to reach it, without a batch of requests in one, and without waiting."""
        return {
            "fs.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
            "fs.AbstractFileSystem.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFS",
            "fs.gs.client.type": "HTTP_API_CLIENT",
            "fs.gs.storage.root.url": f"{self.url}/",
            "fs.gs.auth.type": "UNAUTHENTICATED",
            "fs.gs.project.id": "nobody",
            "fs.gs.max.requests.per.batch": "1",
            "fs.gs.http.max.retry": "1",
            "fs.gs.http.read-timeout": "120000",
            "fs.gs.block.size": "67108864",
        }

    def answer(self, request: Request, path: list[str]) -> tuple[str, str, Response]:
        operation, key = "unknown", "/".join(path)
        response = _failed(501, f"notImplemented {request.method} {path}")
        match [*path, request.method]:
            case ["token", "POST"]:
                operation, response = "token", _json({"access_token": TOKEN, "expires_in": 3600})
            case ["storage", "v1", "b", "POST"]:
                operation, response = "make bucket", _failed(409, "conflict")
            case ["storage", "v1", "b", bucket, "GET"]:
                operation, key = "bucket", bucket
                response = _json({"name": bucket, **TIMES})
            case ["storage", "v1", "b", bucket, "o", "GET"]:
                operation, key = "list", request.args.get("prefix", "")
                response = _json(self._list(bucket, request.args))
            case ["storage", "v1", "b", bucket, "o", key, "GET"]:
                operation, response = "get", self._get(bucket, key, request)
            case ["download", "storage", "v1", "b", bucket, "o", key, "GET"]:
                operation, response = "read", self._get(bucket, key, request)
            case ["storage", "v1", "b", _, "o", key, "DELETE"]:
                operation, response = "delete", self._delete(key, request.args)
            case ["storage", "v1", "b", bucket, "o", source, "moveTo", "o", key, "POST"]:
                operation, response = "move", self._move(bucket, source, key, request.args)
            case ["upload", "storage", "v1", "b", bucket, "o", _]:
                operation = "upload"
                key, response = self._upload(bucket, request)
        return operation, key, response

    def _list(self, bucket: str, asked: Any) -> dict[str, Any]:
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter", "")
        items, prefixes = [], []
        for key in sorted(
            key for key in self.objects if key.startswith(prefix) and key >= asked.get("startOffset", "")
        ):
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                prefixes.append(prefix + rest.partition(delimiter)[0] + delimiter)
            if not (delimiter and delimiter in rest) or (
                asked.get("includeTrailingDelimiter") == "true" and rest.index(delimiter) == len(rest) - 1
            ):
                items.append(_resource(bucket, key, self.objects[key]))
        most = int(asked.get("maxResults", MOST))
        # In one page: connectors ask for a thousand, and tests have less.
        return {"items": items[:most], "prefixes": sorted(set(prefixes))}

    def _get(self, bucket: str, key: str, request: Request) -> Response:
        found = self.objects.get(key)
        if found is None or request.args.get("generation", str(found.version)) != str(found.version):
            return _failed(404, "notFound")
        if request.args.get("alt") != "media":
            return _json(_resource(bucket, key, found))
        content, which = part(request, found.content)
        headers = {"x-goog-generation": str(found.version), "x-goog-stored-content-length": str(len(found.content))}
        return Response(content, 206 if which else 200, headers | which, mimetype="application/octet-stream")

    def _delete(self, key: str, asked: Any) -> Response:
        refused = self._refused(key, asked)
        if refused or key not in self.objects:
            return refused or _failed(404, "notFound")
        del self.objects[key]
        return Response(status=204)

    def _move(self, bucket: str, key: str, to: str, asked: Any) -> Response:
        if key not in self.objects:
            return _failed(404, "notFound")
        if refused := self._refused(to, asked):
            return refused
        return _json(_resource(bucket, to, self.put(to, self.objects.pop(key).content)))

    def _upload(self, bucket: str, request: Request) -> tuple[str, Response]:
        body = request.get_data()
        if request.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if "upload_id" in request.args:
            return self._chunk(bucket, request, body)
        asked = dict(request.args)
        if asked["uploadType"] == "multipart":
            about, content = _parts(request.headers["Content-Type"], body)
            asked.setdefault("name", json.loads(about).get("name", ""))
            return asked["name"], self._finish(bucket, asked, content)
        asked.setdefault("name", json.loads(body or b"{}").get("name", ""))
        made = uuid4().hex
        self._uploads[made] = (asked, bytearray())
        location = f"{self.url}/upload/storage/v1/b/{bucket}/o?uploadType=resumable&upload_id={made}"
        return asked["name"], Response(status=200, headers={"Location": location})

    def _chunk(self, bucket: str, request: Request, body: bytes) -> tuple[str, Response]:
        """Take a part of an upload, which appears with the last one."""
        asked, received = self._uploads[request.args["upload_id"]]
        span, _, total = request.headers.get("Content-Range", "bytes */*").removeprefix("bytes ").partition("/")
        if span != "*":
            del received[int(span.partition("-")[0]) :]
            received += body
        if request.method == "DELETE" or total == "*" or int(total) > len(received):
            seen = {"Range": f"bytes=0-{len(received) - 1}"} if received else {}
            return asked["name"], Response(status=499 if request.method == "DELETE" else 308, headers=seen)
        return asked["name"], self._finish(bucket, asked, bytes(received))

    def _finish(self, bucket: str, asked: dict[str, str], content: bytes) -> Response:
        name = asked["name"]
        return self._refused(name, asked) or _json(_resource(bucket, name, self.put(name, content)))

    def _refused(self, key: str, asked: Any) -> Response | None:
        """Return what says that an object is not of the asked generation; 0 is of none."""
        if "ifGenerationMatch" not in asked:
            return None
        here = self.objects[key].version if key in self.objects else 0
        return None if int(asked["ifGenerationMatch"]) == here else _failed(412, "conditionNotMet")


def _resource(bucket: str, key: str, stored: Stored) -> dict[str, str]:
    changed = stored.changed.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {
        "kind": "storage#object",
        "bucket": bucket,
        "name": key,
        "size": str(len(stored.content)),
        "generation": str(stored.version),
        "metageneration": "1",
        "timeCreated": changed,
        "updated": changed,
        "contentType": "application/octet-stream",
        "crc32c": b64encode(crc32c(stored.content).to_bytes(4, "big")).decode(),
    }


def crc32c(content: bytes) -> int:
    """Return the checksum with which Google's client compares what it sent."""
    value = 0xFFFFFFFF
    for byte in content:
        value = (value >> 8) ^ CASTAGNOLI[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def _parts(kind: str, body: bytes) -> tuple[bytes, bytes]:
    """Return the two parts of a body: what it is, and its content."""
    whole: Any = BytesParser().parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
    about, content = whole.get_payload()
    return about.get_payload(decode=True), content.get_payload(decode=True)


def _json(value: object) -> Response:
    return Response(json.dumps(value), mimetype="application/json")


def _failed(status: int, reason: str) -> Response:
    error = {"code": status, "message": reason, "errors": [{"domain": "global", "reason": reason, "message": reason}]}
    return Response(json.dumps({"error": error}), status, mimetype="application/json")
