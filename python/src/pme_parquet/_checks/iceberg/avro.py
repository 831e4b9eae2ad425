"""Bounded reading of Avro's container files. Anyone who can write to the storage can write these files.

`fastavro` decodes the header, blocks and rows. It gets neither a schema nor a block that it would need much time or
memory for.
"""

from __future__ import annotations

import io
import json
import zlib
from typing import TYPE_CHECKING, Any

from fastavro import parse_schema, schemaless_reader

from pme_parquet._storage import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_HEADER = 4 * 1024 * 1024
MAX_BLOCK = 16 * 1024 * 1024
MAX_TOTAL = 256 * 1024 * 1024
MAX_ROW = 1024 * 1024
# Rows times fields of the schema: a field may need no byte.
MAX_CELLS = 100_000_000
MAX_FIELDS = 10_000
_DEPTH = 16
_MAGIC = b"Obj\x01"
# Of the specification, "Object Container Files".
_SYNC = {"name": "sync", "type": {"name": "Sync", "type": "fixed", "size": 16}}
# A map has the same bytes, but fastavro fails at a name that is no text.
_ENTRY = {
    "name": "Entry",
    "type": "record",
    "fields": [{"name": "key", "type": "bytes"}, {"name": "value", "type": "bytes"}],
}
_META = {"name": "meta", "type": {"type": "array", "items": _ENTRY}}
_HEADER = parse_schema(
    {
        "name": "Header",
        "type": "record",
        "fields": [{"name": "magic", "type": {"name": "Magic", "type": "fixed", "size": 4}}, _META, _SYNC],
    }
)
_BLOCK = parse_schema(
    {
        "name": "Block",
        "type": "record",
        "fields": [{"name": "count", "type": "long"}, {"name": "content", "type": "bytes"}, _SYNC],
    }
)
# Of these, each value needs a byte, and `fastavro` fails if the bytes end.
_WIDE = frozenset({"boolean", "int", "long", "string", "bytes"})
_PRIMITIVE = _WIDE | {"null", "float", "double"}
# A field of an item needs a byte at least, so memory is bounded by bytes.
_MAX_ITEM = 8


class Container:
    """A file of Avro.

    Attributes:
        name: the name of its rows' type, without a namespace; empty if they are no records.
    """

    def __init__(self, content: bytes) -> None:
        """Reads the header.

        Args:
            content: the file, or its first `MAX_HEADER` bytes, which suffice for the name.

        Raises:
            UnreadableError: it is no file of Avro.
        """
        if not content.startswith(_MAGIC):
            raise UnreadableError("it is no file of Avro")
        self._length, self._from = len(content), io.BytesIO(content)
        header = self._next(_HEADER)
        self._sync = header["sync"]
        meta = {entry["key"]: entry["value"] for entry in header["meta"]}
        self._codec = meta.get(b"avro.codec", b"null")
        try:
            self._schema = json.loads(meta.get(b"avro.schema", b""))
        except (ValueError, RecursionError):
            raise UnreadableError("its schema is not JSON") from None
        name = self._schema.get("name") if isinstance(self._schema, dict) else None
        self.name = name.rsplit(".", 1)[-1] if isinstance(name, str) else ""

    def rows(self) -> Iterator[Any]:
        """The rows, one after the other.

        Raises:
            UnreadableError: the file is not as Iceberg writes it, or exceeds a bound.
            Exception: any of `fastavro`, for bytes that are not of the schema.
        """
        checked = _Schema()
        schema = parse_schema(checked.type(self._schema, 0))
        left, rows = MAX_TOTAL, MAX_CELLS // max(checked.fields, 1)
        while self._from.tell() < self._length:
            block = self._next(_BLOCK)
            if block["sync"] != self._sync:
                raise UnreadableError("a block of it is damaged")
            content, count = self._unpacked(block["content"], min(MAX_BLOCK, left)), block["count"]
            left -= len(content)
            rows -= count
            if not 0 <= count <= len(content) or rows < 0:
                raise UnreadableError("it has too many rows")
            yield from _rows(content, count, schema)

    def _next(self, schema: Any) -> Any:  # noqa: ANN401 of fastavro
        """The next part of the file."""
        try:
            return schemaless_reader(self._from, schema, None)
        except EOFError:
            raise UnreadableError("it is cut") from None
        except Exception:  # noqa: BLE001 fastavro fails in many ways at bytes that are none of Avro's
            raise UnreadableError("it is cut or damaged") from None

    def _unpacked(self, packed: bytes, most: int) -> bytes:
        content, unpacking = packed, None
        if self._codec == b"deflate":
            unpacking = zlib.decompressobj(-zlib.MAX_WBITS)
            content = unpacking.decompress(packed, most + 1)
        elif self._codec != b"null":
            raise UnreadableError("it is compressed with a codec that this does not read")
        if len(content) > most:
            raise UnreadableError("a block of it is too long, or all of them")
        if unpacking is not None and (not unpacking.eof or unpacking.unused_data):
            raise UnreadableError("a block of it is damaged")
        return content


def _rows(content: bytes, count: int, schema: Any) -> Iterator[Any]:  # noqa: ANN401 of fastavro
    """The rows of a block. Each comes from a window of it, so that no row is longer than `MAX_ROW`."""
    start = 0
    while count:
        window = io.BytesIO(content[start : start + MAX_ROW])
        read = 0
        while count:
            try:
                row = schemaless_reader(window, schema, None)
            except Exception:
                # The window may have cut a row that is whole in the next one.
                if not read:
                    raise
                break
            read = window.tell()
            count -= 1
            yield row
        start += read
    if start != len(content):
        raise UnreadableError("a block of it is damaged")


class _Schema:
    """A schema without what its reader could be led astray by."""

    def __init__(self) -> None:
        self.fields = 0
        # Each named type, and whether it may be named again.
        self._named: dict[str, bool] = {}

    def type(self, of: object, depth: int) -> Any:  # noqa: ANN401 of JSON
        """The type without logical types, whose conversion nobody needs.

        Raises:
            UnreadableError: it is recursive, or has items that need no byte.
        """
        if depth > _DEPTH:
            raise UnreadableError("its schema is nested too deep")
        if isinstance(of, list):
            return [self.type(one, depth + 1) for one in of]
        kind = of.get("type") if isinstance(of, dict) else of
        if isinstance(of, dict) and isinstance(kind, (dict, list)):
            return self.type(kind, depth + 1)
        if isinstance(kind, str) and kind in _PRIMITIVE:
            return kind
        if isinstance(of, str) and self._named.get(of.rsplit(".", 1)[-1]):
            return of
        if not isinstance(of, dict):
            raise UnreadableError("its schema has an unknown or a recursive type")
        if kind in {"array", "map"}:
            part = "items" if kind == "array" else "values"
            return {"type": kind, part: _item(self.type(of.get(part), depth + 1))}
        return self._name(of, kind, depth)

    def _name(self, of: dict[str, Any], kind: object, depth: int) -> dict[str, Any]:
        """A type that has a name. Of those, only one without fields may be named again."""
        name = str(of.get("name")).rsplit(".", 1)[-1]
        if kind not in {"record", "fixed", "enum"} or name in self._named:
            raise UnreadableError("its schema has an unknown type, or two of one name")
        self._named[name] = kind != "record"
        kept: dict[str, Any] = {
            part: of[part] for part in ("type", "name", "namespace", "size", "symbols") if part in of
        }
        if kind == "record":
            fields = of.get("fields")
            self.fields += len(fields) if isinstance(fields, list) else MAX_FIELDS + 1
            if self.fields > MAX_FIELDS or not isinstance(fields, list):
                raise UnreadableError("its schema has too many fields")
            kept["fields"] = [{"name": one["name"], "type": self.type(one["type"], depth + 1)} for one in fields]
        return kept


def _item(of: Any) -> Any:  # noqa: ANN401 of JSON
    """A type of items."""
    fields = [one["type"] for one in of["fields"]] if isinstance(of, dict) and of["type"] == "record" else [of]
    if not 0 < len(fields) <= _MAX_ITEM or not all(map(_needs_a_byte, fields)):
        raise UnreadableError("its schema has items that Iceberg does not write")
    return of


def _needs_a_byte(of: object) -> bool:
    if isinstance(of, list):
        # A union begins with the number of its branch.
        return all(isinstance(one, str) for one in of)
    return isinstance(of, str) and of in _WIDE
