"""The REST interface of Azure Data Lake Storage Gen2 with a hierarchical namespace, as far as Hadoop's ABFS uses it.

The same files are behind the Blob interface (`blobs`), which adlfs reads. What is appended to a file appears when it is
flushed. A rename replaces nothing if its condition says so. Signatures of requests are not checked.
"""

from __future__ import annotations

import json
from base64 import b64encode
from email.utils import format_datetime
from typing import TYPE_CHECKING
from urllib.parse import unquote

from werkzeug.wrappers import Response

from tests.storage.clouds import blobs
from tests.storage.clouds.fake import Fake, part

if TYPE_CHECKING:
    from werkzeug.wrappers import Request

ACCOUNT = "lake.dfs.core.windows.net"
CONTAINER = "places"


class Azure(Fake):
    """One container, whose directories are in ``directories``."""

    def __init__(self) -> None:
        super().__init__()
        self.directories: set[str] = {""}
        self._appended: dict[str, bytearray] = {}

    def settings(self) -> dict[str, str]:
        """Return what a session needs to reach it, and to learn soon that it does not answer."""
        return {
            "fs.azure.abfs.endpoint": self.url.removeprefix("http://"),
            "fs.azure.always.use.https": "false",
            f"fs.azure.account.auth.type.{ACCOUNT}": "SharedKey",
            f"fs.azure.account.key.{ACCOUNT}": b64encode(b"nothing").decode(),
            f"fs.azure.account.hns.enabled.{ACCOUNT}": "true",
            "fs.azure.account.expect.header.enabled": "false",
            # The other client wants TLS.
            "fs.azure.networking.library": "JDK_HTTP_URL_CONNECTION",
            # A loaded machine answers late: what is counted must not be asked twice.
            "fs.azure.http.read.timeout": "120000",
            "fs.azure.io.retry.max.retries": "1",
            "fs.azure.io.retry.backoff.interval": "5",
            "fs.azure.io.retry.min.backoff.interval": "5",
        }

    def answer(self, request: Request, path: list[str]) -> tuple[str, str, Response]:
        method = request.headers.get("X-Http-Method-Override", request.method)
        # Account and container come before the path.
        key = "/".join(path[2:])
        if path[0] == blobs.ACCOUNT:
            return blobs.answer(path[1], key, request, self.objects, self.directories)
        if request.args.get("resource") == "filesystem":
            directory = request.args.get("directory", "").strip("/")
            if method == "GET":
                return "list", directory, self._list(directory, request)
            return "container", "", Response(headers={"x-ms-namespace-enabled": "true"})
        operation = {"PUT": "create", "PATCH": request.args.get("action", ""), "HEAD": "status", "GET": "read"}.get(
            method
        )
        if "x-ms-rename-source" in request.headers:
            operation = "rename"
        acts = {"create": self._create, "rename": self._rename, "status": self._status, "read": self._read}
        act = acts.get(operation or "", self._change if operation else self._delete)
        return operation or "delete", key, act(key, request)

    def _list(self, directory: str, request: Request) -> Response:
        if directory not in self.directories and directory not in self.objects:
            return _failed(404, "PathNotFound")
        below = f"{directory}/" if directory else ""
        everything = {**self.objects, **{name: None for name in self.directories if name not in ("", directory)}}
        deep = request.args.get("recursive") == "true"
        paths = []
        for name, stored in sorted(everything.items()):
            # The list of a file is the file.
            if name == directory or (name.startswith(below) and (deep or "/" not in name[len(below) :])):
                entry = {"name": name, "owner": "nobody", "group": "nobody", "permissions": "rwxr-x---"}
                if stored:
                    length, changed = str(len(stored.content)), format_datetime(stored.changed, usegmt=True)
                    entry |= {"contentLength": length, "lastModified": changed, "etag": f"0x{stored.version:X}"}
                else:
                    entry |= {"isDirectory": "true", "lastModified": "Thu, 01 Jan 2026 00:00:00 GMT", "etag": "0x0"}
                paths.append(entry)
        return Response(json.dumps({"paths": paths}), mimetype="application/json")

    def _create(self, key: str, request: Request) -> Response:
        if refused := self._refused(key, request):
            return refused
        if request.args["resource"] == "directory":
            if key in self.objects:
                return _failed(409, "PathAlreadyExists")
            self._make_directories(key)
            return Response(status=201)
        if key in self.directories:
            return _failed(409, "PathAlreadyExists")
        self._make_directories(key.rpartition("/")[0])
        self._appended[key] = bytearray()
        return Response(status=201, headers={"ETag": f"0x{self.put(key, b'').version:X}"})

    def _change(self, key: str, request: Request) -> Response:
        action = request.args["action"]
        if key not in self.objects and key not in self.directories:
            return _failed(404, "PathNotFound")
        if action not in {"append", "flush"}:
            return Response()
        appended, position = (
            self._appended.setdefault(key, bytearray(self.objects[key].content)),
            request.args["position"],
        )
        if action == "append":
            if int(position) > len(appended):
                return _failed(400, "InvalidFlushPosition")
            del appended[int(position) :]
            appended += request.get_data()
        if action == "flush" or request.args.get("flush") == "true":
            if action == "flush" and int(position) != len(appended):
                return _failed(400, "InvalidFlushPosition")
            self.put(key, bytes(appended))
        status = 202 if action == "append" else 200
        return Response(status=status, headers={"ETag": f"0x{self.objects[key].version:X}"})

    def _status(self, key: str, _: Request) -> Response:
        about = {"x-ms-owner": "nobody", "x-ms-group": "nobody", "x-ms-permissions": "rwxr-x---"}
        if key in self.directories:
            about |= {
                "x-ms-resource-type": "directory",
                "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT",
                "ETag": "0x0",
            }
            return Response(headers=about)
        if key not in self.objects:
            return _failed(404, "PathNotFound", "")
        stored = self.objects[key]
        changed = format_datetime(stored.changed, usegmt=True)
        about |= {"x-ms-resource-type": "file", "Last-Modified": changed, "ETag": f"0x{stored.version:X}"}
        return Response(stored.content, headers=about)

    def _read(self, key: str, request: Request) -> Response:
        if key not in self.objects:
            return _failed(404, "PathNotFound")
        if refused := self._refused(key, request):
            return refused
        stored = self.objects[key]
        content, which = part(request, stored.content)
        return Response(content, 206 if which else 200, {"ETag": f"0x{stored.version:X}"} | which)

    def _rename(self, key: str, request: Request) -> Response:
        source = unquote(request.headers["x-ms-rename-source"].partition("?")[0]).strip("/").partition("/")[2]
        if source not in self.objects and source not in self.directories:
            return _failed(404, "SourcePathNotFound")
        if key.rpartition("/")[0] not in self.directories:
            return _failed(404, "RenameDestinationParentPathNotFound")
        if refused := self._refused(key, request):
            return refused
        for name in [name for name in self.objects if name == source or name.startswith(f"{source}/")]:
            self.objects[key + name[len(source) :]] = self.objects.pop(name)
            self._appended.pop(name, None)
        for name in [name for name in self.directories if name == source or name.startswith(f"{source}/")]:
            self.directories.remove(name)
            self.directories.add(key + name[len(source) :])
        return Response(status=201)

    def _delete(self, key: str, request: Request) -> Response:
        if key not in self.objects and key not in self.directories:
            return _failed(404, "PathNotFound")
        names = [name for name in (*self.objects, *self.directories) if name.startswith(f"{key}/")]
        if names and request.args.get("recursive") != "true":
            return _failed(409, "DirectoryNotEmpty")
        for name in (key, *names):
            self.objects.pop(name, None)
            self._appended.pop(name, None)
            self.directories.discard(name)
        return Response()

    def _refused(self, key: str, request: Request) -> Response | None:
        """Return what says that a condition of the request does not hold."""
        if request.headers.get("If-None-Match") == "*" and (key in self.objects or key in self.directories):
            return _failed(409, "PathAlreadyExists")
        wanted = request.headers.get("If-Match", "*").strip('"')
        here = f"0x{self.objects[key].version:X}" if key in self.objects else ""
        return None if wanted in {"*", here} else _failed(412, "ConditionNotMet")

    def _make_directories(self, key: str) -> None:
        parts = key.split("/")
        self.directories |= {"/".join(parts[: at + 1]) for at in range(len(parts))}


def _failed(status: int, code: str, body: str | None = None) -> Response:
    text = json.dumps({"error": {"code": code, "message": code}}) if body is None else body
    return Response(text, status, {"x-ms-error-code": code}, mimetype="application/json")
