"""Bytes that are not a valid structure, or a structure whose parsing would take all memory or the whole stack."""

from __future__ import annotations

from tests.support.files import thrift

TWO_BILLION = b"\xff\xff\xff\xff\x07"
MINUS_ONE = b"\xff\xff\xff\xff\x0f"

# A field of Thrift's compact protocol begins with the increase of its number and its type; 0xF0 in a list's head
# means that a count follows.
STRUCT_1, BINARY_1, LIST_1, MAP_1, LONG_1 = b"\x1c", b"\x18", b"\x19", b"\x1b", b"\x16"


def bombs(room: int) -> dict[str, bytes]:
    """Return bombs of at most this many bytes, for any structure."""
    whole: dict[str, bytes] = {
        "not Thrift": b"\xff" * room,
        "structs in structs": STRUCT_1 * room,
        "lists in lists": LIST_1 * room,
        "lists of structs in structs": (b"\x19\x1c" * room)[:room],
        "maps in maps": (b"\x1b\x01\xbb" * room)[:room],
        "a field of no type": b"\x1e" * room,
    }
    short = {
        "a string of two GiB": BINARY_1 + TWO_BILLION,
        "a string of negative length": BINARY_1 + MINUS_ONE,
        "a list of two billion structs": LIST_1 + b"\xfc" + TWO_BILLION,
        "a list of two billion bytes": LIST_1 + b"\xf3" + TWO_BILLION,
        "a list of two billion truths": LIST_1 + b"\xf1" + TWO_BILLION,
        "a list of negative length": LIST_1 + b"\xfc" + MINUS_ONE,
        "a map of two billion": MAP_1 + TWO_BILLION + b"\xcc",
        "a number without end": LONG_1 + b"\xff" * 12,
    }
    return whole | {name: bomb.ljust(room, b"x") for name, bomb in short.items()} | {"zeros": bytes(room)}


def field(number: int, kind: int, value: object) -> thrift.Field:
    return thrift.Field(number, kind, value)


def opened(*fields: thrift.Field) -> bytes:
    """Return a struct that does not end, with a bomb in its next field."""
    return thrift.write_struct(list(fields))[:-1]


# FileMetaData with too much in its own fields, not in unknown ones.
FOOTERS: dict[str, bytes] = {
    "a schema of two billion": opened(field(1, thrift.I32, 1)) + b"\x19\xfc" + TWO_BILLION,
    "row groups by the billion": opened(field(1, thrift.I32, 1), field(2, thrift.LIST, (thrift.STRUCT, [])))
    + b"\x16\x02\x19\xfc"
    + TWO_BILLION,
    "a name of two GiB": opened(field(1, thrift.I32, 1)) + b"\x19\x1c\x48" + TWO_BILLION,
    "key-value metadata by the billion": opened(field(1, thrift.I32, 1)) + b"\x49\xfc" + TWO_BILLION,
    "a writer's name of two GiB": opened(field(1, thrift.I32, 1)) + b"\x58" + TWO_BILLION,
    "an algorithm's prefix of two GiB": opened(field(1, thrift.I32, 1)) + b"\x7c\x1c\x18" + TWO_BILLION,
}

SIZES = (field(1, thrift.I32, 0), field(2, thrift.I32, 100), field(3, thrift.I32, 100))
PAGE = (field(1, thrift.I32, 10), field(2, thrift.I32, 0), field(3, thrift.I32, 3), field(4, thrift.I32, 3))

# The same for PageHeader.
PAGE_HEADERS: dict[str, bytes] = {
    "a largest value of two GiB": opened(*SIZES) + b"\x2c" + opened(*PAGE) + b"\x1c\x18" + TWO_BILLION,
    "a smallest value of negative length": opened(*SIZES) + b"\x2c" + opened(*PAGE) + b"\x1c\x28" + MINUS_ONE,
}


def sizes(uncompressed: int, compressed: int, values: int) -> bytes:
    """Return the header of a V1 data page with these sizes."""
    page = [field(1, thrift.I32, values), *PAGE[1:]]
    fields = [field(1, thrift.I32, 0), field(2, thrift.I32, uncompressed), field(3, thrift.I32, compressed)]
    return thrift.write_struct([*fields, field(5, thrift.STRUCT, page)])


HUGE, NEGATIVE = 0x7FFFFFF0, -1
HEADER_SIZES: dict[str, bytes] = {
    "a page of two GiB": sizes(100, HUGE, 10),
    "a page of negative length": sizes(100, NEGATIVE, 10),
    "a page that decompresses to two GiB": sizes(HUGE, 100, 10),
    "a page that decompresses to less than nothing": sizes(NEGATIVE, 100, 10),
    "a page of two billion values": sizes(100, 100, HUGE),
    "a page of less than no values": sizes(100, 100, NEGATIVE),
}


def dictionary(uncompressed: int, values: int) -> bytes:
    """Return the header of a dictionary page with these sizes."""
    page = [field(1, thrift.I32, values), field(2, thrift.I32, 0)]
    fields = [field(1, thrift.I32, 2), field(2, thrift.I32, uncompressed), field(3, thrift.I32, 100)]
    return thrift.write_struct([*fields, field(7, thrift.STRUCT, page)])


# It replaces the first page of a chunk without a dictionary: only the header says which of the two a page is.
DICTIONARIES: dict[str, bytes] = {
    "a dictionary of two billion values": dictionary(100, HUGE),
    "a dictionary of less than no values": dictionary(100, NEGATIVE),
    "a dictionary of two GiB": dictionary(HUGE, 10),
    "a dictionary that decompresses to less than nothing": dictionary(NEGATIVE, 10),
}
