"""Bounded parsing of protobuf's wire format: each message is parsed by the fields that are needed.

No length or count leads to an allocation before it is checked against the remaining bytes. Other fields are skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# The longest number has 64 bits in groups of seven.
_MAX_NUMBER_BYTES = 10
_CONTINUES = 0x80
_NUMBER, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}
_TAG_BITS = 3
_MAX_FIELD = (1 << 29) - 1
# What Java has of a uint32 or an enum, and of a uint64.
_INT_BITS, _LONG_BITS = 31, 63
# A footer of fifty thousand columns has fewer.
MAX_VALUES = 2_000_000
Message = dict[str, Any]


class MalformedError(Exception):
    """The bytes are not what they should be; the message gives the reason, as the end of *because*."""


class LongerError(MalformedError):
    """They are longer than the caller accepts."""


class UnknownError(Exception):
    """A later version of the format, or a missing package; the message says what, as a clause."""


class Field(NamedTuple):
    """A field to read.

    Attributes:
        name: its name in the format.
        wire: its wire type.
        read: makes its value from a number or from bytes.
        most: how often it may occur; None for a field that occurs once.
        bits: the most of a number. ORC's own parser cuts a longer one, or takes it for negative.
        fields: of a message.
    """

    name: str
    wire: int
    read: Callable[[Any], Any]
    most: int | None = None
    bits: int = _INT_BITS
    fields: Mapping[int, Field] | None = None


def number(name: str) -> Field:
    """A whole number from 0 on: one of an enum, or a `uint32` that Java does not take for negative."""
    return Field(name, _NUMBER, int)


def long(name: str) -> Field:
    """A `uint64` that Java does not take for negative."""
    return Field(name, _NUMBER, int, bits=_LONG_BITS)


def numbers(name: str, most: int) -> Field:
    """Several numbers, packed or not."""
    return Field(name, _NUMBER, int, most)


def binary(name: str, most_bytes: int | None = None) -> Field:
    """Bytes."""
    return Field(name, _BYTES, lambda content: _short(name, content, most_bytes))


def binaries(name: str, most: int, most_bytes: int | None = None) -> Field:
    """Several of them."""
    return Field(name, _BYTES, lambda content: _short(name, content, most_bytes), most)


def text(name: str) -> Field:
    """A text. Bytes that are not UTF-8 are written as escapes."""
    return Field(name, _BYTES, _text)


def texts(name: str, most: int) -> Field:
    """Several of them."""
    return Field(name, _BYTES, _text, most)


def presence(name: str) -> Field:
    """A value whose presence alone matters."""
    return Field(name, _BYTES, lambda _: True)


def message(name: str, fields: Mapping[int, Field]) -> Field:
    """A message within a message."""
    return Field(name, _BYTES, bytes, fields=fields)


def messages(name: str, fields: Mapping[int, Field], most: int) -> Field:
    """Several of them."""
    return Field(name, _BYTES, bytes, most, fields=fields)


class Budget:
    """Counts the values of one structure: each takes memory and time."""

    def __init__(self) -> None:
        self.used = 0

    def take(self) -> None:
        """Counts one.

        Raises:
            MalformedError: there are too many.
        """
        self.used += 1
        if self.used > MAX_VALUES:
            raise MalformedError(f"it has more than {MAX_VALUES} values")


def parse(content: bytes, fields: Mapping[int, Field], budget: Budget | None = None) -> Message:
    """The fields of a message by name: those that may be there several times as lists, which may be empty."""
    budget = budget or Budget()
    values: Message = {}
    for field in fields.values():
        if field.most is not None:
            budget.take()
            values[field.name] = []
    at = 0
    while at < len(content):
        tag, at = _number(content, at)
        kind = tag & ((1 << _TAG_BITS) - 1)
        which = tag >> _TAG_BITS
        # ORC's own parser cuts a longer tag, and so would see another field.
        if not 0 < which <= _MAX_FIELD:
            raise MalformedError("it is not valid protobuf")
        value, at = _value(content, at, kind)
        known = fields.get(which)
        if known is None:
            budget.take()
        else:
            _put(values, known, kind, value, budget)
    return values


def _put(values: Message, field: Field, kind: int, value: Any, budget: Budget) -> None:  # noqa: ANN401 number or bytes
    if field.most is None:
        if kind != field.wire:
            raise MalformedError(f"its {field.name} is of another type")
        if field.name in values:
            raise MalformedError(f"it has {field.name} twice")
        values[field.name] = _read(field, value, budget)
        return
    found = values[field.name]
    if kind == _BYTES and field.wire == _NUMBER:
        # Without numbers, it still takes time.
        budget.take()
        at = 0
        while at < len(value):
            one, at = _number(value, at)
            _append(found, field, one, budget)
    elif kind != field.wire:
        raise MalformedError(f"its {field.name} are of another type")
    else:
        _append(found, field, value, budget)


def _append(found: list[Any], field: Field, value: Any, budget: Budget) -> None:  # noqa: ANN401 as above
    if len(found) == field.most:
        raise MalformedError(f"it has {field.name} more than {field.most} times")
    found.append(_read(field, value, budget))


def _read(field: Field, value: Any, budget: Budget) -> Any:  # noqa: ANN401 as above
    budget.take()
    if field.fields is not None:
        return parse(value, field.fields, budget)
    if field.wire == _NUMBER and value >> field.bits:
        raise MalformedError(f"its {field.name} is a number of more than {field.bits} bits")
    return field.read(value)


def _value(content: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind == _NUMBER:
        return _number(content, at)
    if kind == _BYTES:
        length, at = _number(content, at)
    elif kind in _FIXED:
        length = _FIXED[kind]
    else:
        raise MalformedError("it is not valid protobuf")
    if length > len(content) - at:
        raise MalformedError("the data ends too early")
    return content[at : at + length], at + length


def _number(content: bytes, at: int) -> tuple[int, int]:
    # Most have one byte.
    if at < len(content) and content[at] < _CONTINUES:
        return content[at], at + 1
    value = 0
    for shift in range(_MAX_NUMBER_BYTES):
        if at == len(content):
            raise MalformedError("the data ends too early")
        byte = content[at]
        at += 1
        value |= (byte & ~_CONTINUES) << (7 * shift)
        if byte < _CONTINUES:
            return value & ((1 << 64) - 1), at
    raise MalformedError("a number has more than 64 bits")


def _short(name: str, content: bytes, most: int | None) -> bytes:
    if most is not None and len(content) > most:
        raise MalformedError(f"its {name} has {len(content)} bytes")
    return content


def _text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")
