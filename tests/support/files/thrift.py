"""The part of Thrift's compact protocol that altering a Parquet footer needs: a struct is a list of typed fields."""

from __future__ import annotations

from typing import Any, NamedTuple

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 12
DOUBLE_BYTES = 8
LONG_LIST = 15


class Field(NamedTuple):
    """One field of a struct. A list is ``(element type, values)``, a struct a list of fields."""

    number: int
    type: int
    value: Any


Struct = list[Field]


class Reader:
    """Reads structs from the start of some bytes; ``at`` is where the next one begins."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def take(self, count: int) -> bytes:
        self.at += count
        return self.content[self.at - count : self.at]

    def varint(self) -> int:
        result = shift = 0
        while True:
            byte = self.byte()
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result
            shift += 7

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def struct(self) -> Struct:
        fields: Struct = []
        number = 0
        while header := self.byte():
            delta, kind = header >> 4, header & 0x0F
            number = number + delta if delta else self.zigzag()
            fields.append(Field(number, kind, kind == TRUE if kind in (TRUE, FALSE) else self.value(kind)))
        return fields

    def value(self, kind: int) -> Any:
        if kind == STRUCT:
            return self.struct()
        if kind == BINARY:
            return self.take(self.varint())
        if kind == LIST:
            header = self.byte()
            count, element = header >> 4, header & 0x0F
            if count == LONG_LIST:
                count = self.varint()
            return element, [self.value(element) for _ in range(count)]
        if kind == DOUBLE:
            return self.take(DOUBLE_BYTES)
        return self.byte() if kind in (BYTE, TRUE, FALSE) else self.zigzag()


def varint(value: int) -> bytes:
    """Return the number in base 128, least significant first."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> bytes:
    """Return the signed number as a varint."""
    return varint((value << 1) ^ (value >> 63))


def write_struct(fields: Struct) -> bytes:
    """Return the struct as the compact protocol writes it."""
    out = bytearray()
    number = 0
    for field in fields:
        kind = (TRUE if field.value else FALSE) if field.type in (TRUE, FALSE) else field.type
        delta = field.number - number
        out += bytes([delta << 4 | kind]) if 0 < delta < LONG_LIST + 1 else bytes([kind]) + zigzag(field.number)
        if kind not in (TRUE, FALSE):
            out += write_value(kind, field.value)
        number = field.number
    return bytes(out) + b"\0"


def write_value(kind: int, value: Any) -> bytes:
    """Return one value as the compact protocol writes it."""
    if kind == STRUCT:
        return write_struct(value)
    if kind == BINARY:
        return varint(len(value)) + bytes(value)
    if kind == LIST:
        element, values = value
        count = len(values)
        head = bytes([count << 4 | element]) if count < LONG_LIST else bytes([0xF0 | element]) + varint(count)
        return head + b"".join(write_value(element, one) for one in values)
    if kind == DOUBLE:
        return bytes(value)
    return bytes([value]) if kind in (BYTE, TRUE, FALSE) else zigzag(value)


def get(fields: Struct, number: int) -> Any:
    """Return the value of a field, or None."""
    return next((field.value for field in fields if field.number == number), None)


def put(fields: Struct, number: int, kind: int, value: Any) -> Struct:
    """Return the struct with a field set."""
    return sorted([*drop(fields, number), Field(number, kind, value)], key=lambda field: field.number)


def drop(fields: Struct, *numbers: int) -> Struct:
    """Return the struct without some fields."""
    return [field for field in fields if field.number not in numbers]
