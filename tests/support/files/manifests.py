"""Manifests made by hand. Their seals have the right form and prove nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

TABLE = "0b0f4c3e-7d1a-4a9e-9d0c-5f0c8d1f2a3b"
PART = "part-00000000-0000-4000-8000-000000000001.parquet"
PART_BYTES = 11
INDEX = "index-00000000-0000-4000-8000-000000000002.parquet"
INDEX_BYTES = 7
ED25519 = {"algorithm": "Ed25519", "key": "signer", "value": base64.b64encode(bytes(64)).decode()}
HMAC = {
    "algorithm": "HMAC-SHA256",
    "key": "footer",
    "wrappedKey": "d3JhcHBlZA==",
    "value": base64.b64encode(bytes(32)).decode(),
}


def content(version: int = 1, previous: str | None = None, **changed: Any) -> dict[str, Any]:
    """Return the content of a manifest, with the changes of a test."""
    return {
        "format": "pme-parquet snapshot",
        "formatVersion": 1,
        "version": version,
        "previous": previous,
        "table": TABLE,
        "location": "/warehouse/people",
        "created": "2026-11-24T01:02:03Z",
        "creator": "ada",
        "writer": "pme-parquet 0.1.0",
        "policy": {
            "footerKey": "footer",
            "columns": [
                {"column": ["address", "zip"], "key": "pii"},
                {"column": ["n"], "key": "footer"},
                {"column": ["city"], "key": None},
            ],
        },
        "partitionColumns": ["day"],
        "files": 2,
        "rows": 1000,
        "bytes": 123456,
        "parts": [part()],
        "indexes": [index("id")],
    } | changed


def index(*column: str, **changed: Any) -> dict[str, Any]:
    """Return an index as a manifest states it."""
    return {
        "kind": "minMax",
        "column": list(column),
        "field": "index_0",
        "type": f"optional int64 {column[-1]}",
        "key": "footer",
        "parameters": {},
    } | changed


def index_file(field: str = "index_0", **changed: Any) -> dict[str, Any]:
    """Return the file of an index, as a part names it."""
    return {"field": field, "name": INDEX, "length": INDEX_BYTES, "sha256": "cd" * 32} | changed


def indexed(*indexes: dict[str, Any]) -> dict[str, Any]:
    """Return what changes in a manifest with these indexes."""
    files = [index_file(one["field"]) for one in indexes]
    return {"indexes": list(indexes), "parts": [part(indexes=files)]}


def part(**changed: Any) -> dict[str, Any]:
    """Return the entry of a part, with one index."""
    return {
        "name": PART,
        "length": PART_BYTES,
        "sha256": "ab" * 32,
        "files": 2,
        "first": "day=1/a.parquet",
        "last": "day=2/b.parquet",
        "indexes": [index_file()],
    } | changed


def manifest(stated: dict[str, Any], seal: dict[str, Any] | None = None) -> bytes:
    """Return the bytes of a manifest."""
    return "".join(f"{json.dumps(line)}\n" for line in (stated, seal or ED25519)).encode()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def put(directory: Path, version: int, manifest: bytes) -> Path:
    """Write a manifest, with the files that it names, into the directory of snapshots."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / PART).write_bytes(bytes(PART_BYTES))
    (directory / INDEX).write_bytes(bytes(INDEX_BYTES))
    path = directory / f"snapshot-{version:010}.json"
    path.write_bytes(manifest)
    return path


def chain(directory: Path, versions: int, **changed: Any) -> list[bytes]:
    """Write a table's versions, each of which names the one before it, and return their manifests."""
    manifests: list[bytes] = []
    for version in range(1, versions + 1):
        previous = digest(manifests[-1]) if manifests else None
        manifests.append(manifest(content(version, previous, **changed)))
        put(directory, version, manifests[-1])
    return manifests
