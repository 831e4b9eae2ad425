"""Which statistics of a column a footer shows to everybody. Of an encrypted column they are those of its mask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pme_parquet._orc.types import MAX_COLUMNS
from pme_parquet._orc.wire import Field, message, messages, number, presence

if TYPE_CHECKING:
    from pme_parquet._orc.wire import Message

_NUMBER, _FIXED64, _BYTES = 0, 1, 2


def _there(name: str, wire: int) -> Field:
    """A value whose presence alone matters: its size and sign do not."""
    return Field(name, wire, lambda _: True, signed=True)


_RANGES = {
    2: ("int", _NUMBER),
    3: ("double", _FIXED64),
    4: ("string", _BYTES),
    6: ("decimal", _BYTES),
    7: ("date", _NUMBER),
    9: ("timestamp", _NUMBER),
}
_BOUNDS = {name: {1: _there("minimum", wire), 2: _there("maximum", wire)} for name, wire in _RANGES.values()}
_SUMS = {
    "int": {3: _there("sum", _NUMBER)},
    "double": {3: _there("sum", _FIXED64)},
    "decimal": {3: _there("sum", _BYTES)},
    # The sum of a string's statistics is a number of bytes; long bounds are cut, and stand elsewhere.
    "string": {
        3: _there("total length", _NUMBER),
        4: _there("minimum, cut", _BYTES),
        5: _there("maximum, cut", _BYTES),
    },
    "timestamp": {3: _there("minimum in UTC", _NUMBER), 4: _there("maximum in UTC", _NUMBER)},
}
FIELD = messages(
    "statistics",
    {
        1: number("count"),
        **{of: message(name, {**_BOUNDS[name], **_SUMS.get(name, {})}) for of, (name, _) in _RANGES.items()},
        5: presence("bucket"),
        8: presence("binary"),
        10: number("has_null"),
        11: number("bytes_on_disk"),
        12: presence("collection"),
    },
    MAX_COLUMNS,
)
_OTHERS = {"bucket": "number of true values", "binary": "total length", "collection": "numbers of elements"}


def names(of: Message) -> tuple[str, ...]:
    """What the statistics of a column contain, in words."""
    found = [
        word for field, word in (("count", "number of values"), ("has_null", "whether any is null")) if field in of
    ]
    for name, _ in _RANGES.values():
        for one in of.get(name, {}):
            short = one.removesuffix(", cut").removesuffix(" in UTC")
            if short not in found:
                found.append(short)
    return (*found, *(word for name, word in _OTHERS.items() if name in of))
