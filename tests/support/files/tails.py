"""Small files made by hand: a footer and the rest that a Parquet file needs."""

from __future__ import annotations

import base64
import json
import struct
from typing import TYPE_CHECKING

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
