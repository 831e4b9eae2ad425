"""The Blob interface of a storage account with a hierarchical namespace, as far as adlfs reads with it.

A directory is a blob without content, whose metadata says what it is.
"""

from __future__ import annotations

from email.utils import format_datetime
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from werkzeug.wrappers import Response

from tests.storage.clouds.fake import part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from werkzeug.wrappers import Request

    from tests.storage.clouds.fake import Stored

ACCOUNT = "lake.blob.core.windows.net"
MOST = 5_000
START = "Thu, 01 Jan 2026 00:00:00 GMT"


def answer(
    container: str, key: str, request: Request, objects: Mapping[str, Stored], directories: set[str]
) -> tuple[str, str, Response]:
    """Return the operation, the key, and the answer."""
    if request.args.get("comp") == "list":
        prefix = request.args.get("prefix", "")
        everything = {**objects, **dict.fromkeys(directories - {""})}
        return "list blobs", prefix, _list(container, prefix, request, everything)
    if key in objects:
        return "blob", key, _blob(request, objects[key])
    if key in directories:
        return "blob", key, Response(headers=_about(None) | {"x-ms-meta-hdi_isfolder": "true"})
    code = "BlobNotFound"
    return "blob", key, Response(status=404, headers={"x-ms-error-code": code}, mimetype="application/xml")


def _blob(request: Request, stored: Stored) -> Response:
    content, which = part(request, stored.content)
    return Response(content, 206 if which else 200, _about(stored) | which, mimetype="application/octet-stream")


def _about(stored: Stored | None) -> dict[str, str]:
    changed = format_datetime(stored.changed, usegmt=True) if stored else START
    return {"ETag": f"0x{stored.version if stored else 0:X}", "Last-Modified": changed, "x-ms-blob-type": "BlockBlob"}


def _list(container: str, prefix: str, request: Request, everything: Mapping[str, Stored | None]) -> Response:
    """Return a page, and where the next one starts."""
    most, first = int(request.args.get("maxresults", MOST)), request.args.get("marker", "")
    names = sorted(name for name in everything if name.startswith(prefix) and name >= first)
    page, after = names[:most], names[most : most + 1]
    blobs = "".join(_entry(name, everything[name]) for name in page)
    text = f"<Blobs>{blobs}</Blobs><NextMarker>{escape(''.join(after))}</NextMarker>"
    whole = f'<EnumerationResults ContainerName="{container}">{text}</EnumerationResults>'
    return Response(whole, mimetype="application/xml")


def _entry(name: str, stored: Stored | None) -> str:
    about = {**_about(stored), "BlobType": "BlockBlob", "Content-Length": len(stored.content) if stored else 0}
    properties = "".join(f"<{name}>{value}</{name}>" for name, value in about.items() if not name.startswith("x-"))
    folder = "" if stored else "<hdi_isfolder>true</hdi_isfolder>"
    return f"<Blob><Name>{escape(name)}</Name><Properties>{properties}</Properties><Metadata>{folder}</Metadata></Blob>"
