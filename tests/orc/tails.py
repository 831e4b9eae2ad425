"""ORC tails made by hand: protobuf messages of numbers, bytes and messages, and the frame around a footer."""

from __future__ import annotations

import zlib
from typing import Any

from tests.support.files.thrift import varint

LONG, STRING, LIST, STRUCT = 4, 7, 10, 12
NONE, ZLIB = 0, 1
RAW_KEY = bytes(16)


def message(*fields: tuple[int, Any]) -> bytes:
    """Return a message of fields: a number, bytes, a text, or a list of numbers, which is packed."""
    return b"".join(_field(number, value) for number, value in fields)


def _field(number: int, value: Any) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, list):
        value = b"".join(map(varint, value))
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def type_of(kind: int, children: list[int] | None = None, *names: str) -> tuple[int, bytes]:
    """Return the field of a type."""
    of = [(2, children)] if children else []
    return 4, message((1, kind), *of, *((3, name) for name in names))


COLUMNS = (type_of(STRUCT, [1, 2], "id", "card"), type_of(LONG), type_of(STRING))


def wide(count: int) -> tuple[tuple[int, bytes], ...]:
    """Return the fields of so many types: a struct, and all others in it."""
    names = [f"c{column}" for column in range(1, count)]
    return (type_of(STRUCT, list(range(1, count)), *names), *[type_of(LONG)] * (count - 1))


def key(name: str = "pii", version: int = 0, algorithm: int = 1) -> tuple[int, bytes]:
    """Return the field of a key."""
    return 2, message((1, name), (2, version), (3, algorithm))


def variant(root: int = 2, of: int = 0, encrypted: bytes = RAW_KEY) -> tuple[int, bytes]:
    """Return the field of an encrypted copy of a column."""
    return 3, message((1, root), (2, of), (3, encrypted))


def mask(name: str, *columns: int, parameters: tuple[str, ...] = ()) -> tuple[int, bytes]:
    """Return the field of a mask."""
    return 1, message((1, name), *((2, one) for one in parameters), (3, list(columns)))


def footer(*encryption: tuple[int, bytes], types: tuple[tuple[int, bytes], ...] = COLUMNS, more: bytes = b"") -> bytes:
    """Return a footer without stripes."""
    return message(*types, (6, 0), *([(10, message(*encryption))] if encryption else [])) + more


def chunk(content: bytes, *, original: bool = False) -> bytes:
    """Return a chunk of zlib's compression, or one that is stored."""
    deflate = zlib.compressobj(wbits=-15)
    stored = content if original else deflate.compress(content) + deflate.flush()
    return (len(stored) << 1 | original).to_bytes(3, "little") + stored


def framed(content: bytes, compression: int = NONE, *more: tuple[int, Any], length: int | None = None) -> bytes:
    """Return a file with this footer, and nothing before it."""
    stated = len(content) if length is None else length
    postscript = message((1, stated), (2, compression), (4, [0, 12]), *more, (8000, b"ORC"))
    return b"ORC" + content + postscript + bytes([len(postscript)])
