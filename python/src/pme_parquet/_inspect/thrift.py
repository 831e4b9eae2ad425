"""Bounded parsing of Thrift's compact protocol: Apache Thrift reads it, and this module says which fields are needed.

No length or count leads to an allocation before it is checked against the remaining bytes. Other fields are skipped,
up to a maximum depth.
"""

from __future__ import annotations

import struct as packed
from typing import TYPE_CHECKING, Any, NamedTuple

from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.Thrift import TException, TType
from thrift.transport.TTransport import TTransportBase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# Structs within structs; Parquet's own go eight deep.
DEPTH = 32
# Maximum number of parts in a column's path.
MAX_PARTS = 1024

# Thrift's reader also raises KeyError, for a type that does not exist, and AssertionError, for an impossible state of
# its protocol.
_FAILURES = (TException, EOFError, ValueError, KeyError, AssertionError, RecursionError, packed.error)
Struct = dict[str, Any]


class MalformedError(Exception):
    """The bytes are not the expected struct; the message gives the reason, as the end of *because*."""


class _Bytes(TTransportBase):  # type: ignore[misc] # Thrift has no types
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def readAll(self, sz: int) -> bytes:  # noqa: N802 Thrift's name
        end = self.at + sz
        if end > len(self.content):
            raise EOFError
        read = self.content[self.at : end]
        self.at = end
        return read


class Reader(TCompactProtocol):  # type: ignore[misc] # as above
    """Reads structs from bytes."""

    def __init__(self, content: bytes) -> None:
        super().__init__(_Bytes(content), string_length_limit=len(content), container_length_limit=len(content))

    def readString(self) -> bytes:  # noqa: N802 as above
        """Bytes: this also skips fields that need not be text, such as bounds in statistics."""
        read: bytes = self.readBinary()
        return read


class Field(NamedTuple):
    """A field to read: its name in the specification, its Thrift type, and the function that reads its value."""

    name: str
    type: int
    read: Callable[[Reader], Any]


def binary(name: str) -> Field:
    """A field of bytes."""
    return Field(name, TType.STRING, lambda reader: reader.readBinary())


def i32(name: str) -> Field:
    """A number of 32 bits."""
    return Field(name, TType.I32, lambda reader: reader.readI32())


def i64(name: str) -> Field:
    """A number of 64 bits."""
    return Field(name, TType.I64, lambda reader: reader.readI64())


def boolean(name: str) -> Field:
    """A truth value."""
    return Field(name, TType.BOOL, lambda reader: reader.readBool())


def struct(name: str, fields: Mapping[int, Field]) -> Field:
    """A struct with some fields to read."""
    return Field(name, TType.STRUCT, lambda reader: _struct(reader, fields))


def presence(name: str) -> Field:
    """Bytes whose presence alone matters."""
    return Field(name, TType.STRING, lambda reader: reader.readBinary() is not None)


def binaries(name: str) -> Field:
    """A short list of bytes."""
    element = binary("element")
    return Field(name, TType.LIST, lambda reader: list(_elements(reader, name, element, MAX_PARTS)))


def each(name: str, fields: Mapping[int, Field], take: Callable[[Struct], None]) -> Field:
    """A list of structs, read one at a time so that a long one needs no memory; its value is their number."""

    def read(reader: Reader) -> int:
        count = 0
        for value in _elements(reader, name, struct("element", fields)):
            take(value)
            count += 1
        return count

    return Field(name, TType.LIST, read)


def parse(content: bytes, fields: Mapping[int, Field]) -> tuple[Struct, int]:
    """The struct at the beginning of the bytes, and its end."""
    reader = Reader(content)
    try:
        return _struct(reader, fields), reader.trans.at
    except _FAILURES as failure:
        why = "the data ends too early" if isinstance(failure, EOFError) else "it is not valid Thrift"
        raise MalformedError(why) from failure


def _struct(reader: Reader, fields: Mapping[int, Field]) -> Struct:
    values: Struct = {}
    reader.readStructBegin()
    while True:
        _, kind, number = reader.readFieldBegin()
        if kind == TType.STOP:
            break
        field = fields.get(number)
        if field is None:
            reader.skip(kind, DEPTH)
        elif field.type != kind:
            raise MalformedError(f"its {field.name} is of another type")
        elif field.name in values:
            raise MalformedError(f"it has {field.name} twice")
        else:
            values[field.name] = field.read(reader)
        reader.readFieldEnd()
    reader.readStructEnd()
    return values


def _elements(reader: Reader, name: str, element: Field, most: int | None = None) -> Iterator[Any]:
    kind, count = reader.readListBegin()
    if most is not None and count > most:
        raise MalformedError(f"its {name} has more than {most} elements")
    if count and kind != element.type:
        raise MalformedError(f"its {name} are of another type")
    for _ in range(count):
        yield element.read(reader)
    reader.readListEnd()
