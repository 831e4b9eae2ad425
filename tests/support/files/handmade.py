"""Small files made by hand, to be read without keys: a footer and the rest that a Parquet file needs, and manifests.

Seals of manifests have the right form and prove nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from typing import TYPE_CHECKING, Any

from tests.support.files import thrift
from tests.support.files.thrift import BINARY, I64, LIST, STRUCT, TRUE, Field, Struct

if TYPE_CHECKING:
    from pathlib import Path

UNIQUE = b"\x01" * 8
WRAPPED = {16: "A" * 59 + "=", 32: "A" * 80}


def encrypted(key_metadata: bytes | None = None, *, algorithm: Struct | None = None, module: int = 40) -> bytes:
    """Return a file with an encrypted footer; the footer's module is zeros."""
    crypto = [Field(1, STRUCT, [Field(1, STRUCT, gcm() if algorithm is None else algorithm)])]
    if key_metadata is not None:
        crypto.append(Field(2, BINARY, key_metadata))
    footer = thrift.write_struct(crypto) + struct.pack("<I", module) + bytes(module)
    return framed(footer, b"PARE")


def gcm(*, unique: bytes = UNIQUE, prefix: bytes | None = None, supply: bool = False) -> Struct:
    """Return an AesGcmV1."""
    fields = [Field(2, BINARY, unique)]
    fields = fields if prefix is None else [Field(1, BINARY, prefix), *fields]
    return [*fields, Field(3, TRUE, True)] if supply else fields  # noqa: FBT003 a Thrift value


def readable(columns: list[Struct], *, signed: bool = False, rows: int = 3, groups: int = 1) -> bytes:
    """Return a file with a readable footer."""
    group = [Field(1, LIST, (STRUCT, columns))]
    footer = [Field(3, I64, rows), Field(4, LIST, (STRUCT, [group] * groups)), Field(6, BINARY, b"by hand")]
    if signed:
        footer += [Field(8, STRUCT, [Field(1, STRUCT, gcm())]), Field(9, BINARY, b"footer")]
    return framed(thrift.write_struct(footer) + bytes(28 if signed else 0), b"PAR1")


def column(*path: bytes, size: int = 10, key: bytes | None = None, footer_key: bool = False) -> Struct:
    """Return a ColumnChunk, perhaps encrypted."""
    fields = [Field(3, STRUCT, [Field(3, LIST, (BINARY, list(path))), Field(7, I64, size)])]
    if footer_key:
        fields.append(Field(8, STRUCT, [Field(1, STRUCT, [])]))
    if key is not None:
        own = [Field(1, LIST, (BINARY, list(path))), Field(2, BINARY, key)]
        fields.append(Field(8, STRUCT, [Field(2, STRUCT, own)]))
    return fields


def framed(footer: bytes, magic: bytes) -> bytes:
    """Return a file with only this footer."""
    return magic + footer + struct.pack("<I", len(footer)) + magic


def kek_id(number: int = 0) -> str:
    """Return the id of a key-encryption key."""
    return base64.b64encode(number.to_bytes(16, "big")).decode()


def material(master_key: str = "footer", **changes: object) -> bytes:
    """Return internal key material."""
    fields: dict[str, object] = {
        "keyMaterialType": "PKMT1",
        "internalStorage": True,
        "isFooterKey": True,
        "kmsInstanceID": "DEFAULT",
        "kmsInstanceURL": "DEFAULT",
        "masterKeyID": master_key,
        "wrappedDEK": WRAPPED[16],
        "doubleWrapping": True,
        "keyEncryptionKeyID": kek_id(),
        "wrappedKEK": WRAPPED[32],
    }
    return json.dumps(fields | changes).encode()


def reference(name: str) -> bytes:
    """Return key metadata that points to a file of key material."""
    return json.dumps({"keyMaterialType": "PKMT1", "internalStorage": False, "keyReference": name}).encode()


def beside(file: Path, **keys: str) -> Path:
    """Write the file of key material beside a file."""
    path = file.with_name(f"_KEY_MATERIAL_FOR_{file.name}.json")
    path.write_bytes(entries(**keys))
    return path


def entries(**keys: str) -> bytes:
    """Return the content of a file of key material."""
    return json.dumps(keys).encode()


# What manifests name.
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
