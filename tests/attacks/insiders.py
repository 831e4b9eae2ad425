"""Hostile content with valid tags: what a holder of the keys, or a broken writer, can put into each structure."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from tests.support.files import anatomy, forge, thrift
from tests.support.files.anatomy import Anatomy, Chunk, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.files.forge import Change
    from tests.support.files.thrift import Struct

HUGE, LARGEST, SMALLEST = 0x7FFFFFF0, 0x7FFFFFFF, -(2**31)
LARGEST_LONG, SMALLEST_LONG = 2**63 - 1, -(2**63)

# Fields of PageHeader, DataPageHeader, DataPageHeaderV2, DictionaryPageHeader.
V1_HEADER, DICTIONARY_HEADER, V2_HEADER = 5, 7, 8
VALUES, ENCODING, DEFINITION_ENCODING, REPETITION_ENCODING = 1, 2, 3, 4
INDEX_PAGE, V2_PAGE = 1, 3
# Fields of FileMetaData, SchemaElement, RowGroup, ColumnIndex, OffsetIndex and PageLocation.
FILE_ROWS = 3
TYPE, TYPE_LENGTH, REPETITION, CHILDREN = 1, 2, 3, 5
TOTAL_BYTES, FILE_OFFSET, GROUP_SIZE = 2, 5, 6
NULL_PAGES, MINIMA, MAXIMA, ORDER = 1, 2, 3, 4
LOCATIONS = 1
PAGE_OFFSET, PAGE_SIZE, FIRST_ROW = 1, 2, 3

NUMBERS: dict[str, int] = {
    "negative": -1,
    "the smallest": SMALLEST,
    "zero": 0,
    "huge": HUGE,
    "the largest": LARGEST,
}
LONGS: dict[str, int] = {**NUMBERS, "the smallest long": SMALLEST_LONG, "the largest long": LARGEST_LONG}


class Made(NamedTuple):
    """A file with one hostile change."""

    name: str
    content: bytes


def within(number: int, change: Change) -> Change:
    """Return a change of a struct that changes the struct in one of its fields."""
    return lambda fields: thrift.put(fields, number, thrift.STRUCT, change(thrift.get(fields, number)))


def setting(number: int, value: int) -> Change:
    return lambda fields: forge.put_int(fields, number, value)


def near(fields: Struct, number: int) -> dict[str, int]:
    now = int(thrift.get(fields, number))
    return {"one more": now + 1, "one less": now - 1}


def page_headers(file: Anatomy) -> Iterator[Made]:
    """Change sizes, counts, encodings and kinds in headers of data pages."""
    chunk = file.named("salary")
    header = chunk.pages[0]
    fields = file.parsed(header)
    for what, number in (("uncompressed", anatomy.UNCOMPRESSED_SIZE), ("compressed", anatomy.COMPRESSED_SIZE)):
        for name, value in (NUMBERS | near(fields, number)).items():
            yield Made(f"{what} size: {name}", forge.with_header(file, chunk, header, setting(number, value)))
    for name, value in (NUMBERS | near(thrift.get(fields, V1_HEADER), VALUES)).items():
        change = within(V1_HEADER, setting(VALUES, value))
        yield Made(f"values: {name}", forge.with_header(file, chunk, header, change))
    # 1 is not an encoding; levels cannot have 2, and a flat column has no repetition levels.
    for what, number, codes in (
        ("encoding", ENCODING, (-1, 1, 2, 99)),
        ("definition", DEFINITION_ENCODING, (-1, 1, 2, 99)),
        ("repetition", REPETITION_ENCODING, (-1, 1, 99)),
    ):
        for code in codes:
            change = within(V1_HEADER, setting(number, code))
            yield Made(f"{what}: {code}", forge.with_header(file, chunk, header, change))
    for kind in (-1, INDEX_PAGE, anatomy.DICTIONARY_TYPE, V2_PAGE, 99):
        yield Made(f"type: {kind}", forge.with_header(file, chunk, header, setting(anatomy.PAGE_TYPE, kind)))
    for what, number in (("V1 header", V1_HEADER), ("type", anatomy.PAGE_TYPE)):
        change_ = lambda fields, number=number: thrift.drop(fields, number)  # noqa: E731 -- a change of its own
        yield Made(f"no {what}", forge.with_header(file, chunk, header, change_))


def v2(nulls: int = 0, rows: int = 50, definition: int = 0, repetition: int = 0) -> Change:
    """Return a change of a V1 page's header to that of a V2 page of 50 values."""
    page = [
        thrift.Field(number, thrift.I32, value)
        for number, value in enumerate((50, nulls, rows, 0, definition, repetition), 1)
    ]

    def changed(fields: Struct) -> Struct:
        return thrift.put(
            forge.put_int(thrift.drop(fields, V1_HEADER), anatomy.PAGE_TYPE, V2_PAGE), V2_HEADER, thrift.STRUCT, page
        )

    return changed


def v2_headers(file: Anatomy) -> Iterator[Made]:
    """Change the lengths and counts that headers of V2 pages say."""
    chunk = file.named("salary")
    header = chunk.pages[0]
    for what in ("nulls", "rows", "definition", "repetition"):
        for name, value in NUMBERS.items():
            if value:
                change = v2(**{what: value})
                yield Made(f"{what}: {name}", forge.with_header(file, chunk, header, change))
    both = v2(definition=HUGE, repetition=HUGE)
    yield Made("levels of four GiB", forge.with_header(file, chunk, header, both))


def dictionaries(file: Anatomy) -> Iterator[Made]:
    """Change header and content of a dictionary page."""
    chunk = file.named("name")
    header, page = chunk.pages[:2]
    fields = file.parsed(header)
    for what, number in (("uncompressed", anatomy.UNCOMPRESSED_SIZE), ("compressed", anatomy.COMPRESSED_SIZE)):
        for name, value in (NUMBERS | near(fields, number)).items():
            yield Made(f"{what} size: {name}", forge.with_header(file, chunk, header, setting(number, value)))
    for name, value in (NUMBERS | near(thrift.get(fields, DICTIONARY_HEADER), VALUES)).items():
        change = within(DICTIONARY_HEADER, setting(VALUES, value))
        yield Made(f"values: {name}", forge.with_header(file, chunk, header, change))
    for code in (-1, 5, 99):
        change = within(DICTIONARY_HEADER, setting(ENCODING, code))
        yield Made(f"encoding: {code}", forge.with_header(file, chunk, header, change))
    for kind in (0, INDEX_PAGE, V2_PAGE):
        yield Made(f"type: {kind}", forge.with_header(file, chunk, header, setting(anatomy.PAGE_TYPE, kind)))
    for length in (HUGE, LARGEST, -1, SMALLEST, 1000):
        size = len(page.seal.open(file.bytes_of(page)))
        plain = struct.pack("<i", length).ljust(size, b"x")
        yield Made(f"a string of {length}", forge.with_page(file, chunk, page, plain))


def page_contents(file: Anatomy) -> Iterator[Made]:
    """Change the contents of pages but not their sizes: levels, indices into the dictionary, strings."""
    for column in ("name", "note", "salary"):
        chunk = file.named(column)
        page = chunk.of(Kind.DATA_PAGE)[0]
        size = len(page.seal.open(file.bytes_of(page)))
        for name, plain in garbage(size).items():
            yield Made(f"{column}: {name}", forge.with_page(file, chunk, page, plain))


def garbage(size: int) -> dict[str, bytes]:
    # One run of 50 defined values fits into two bytes of levels: 100 is its length, doubled.
    levels = struct.pack("<i", 2) + b"\x64\x01"
    starts: dict[str, bytes] = {
        "levels of two GiB": struct.pack("<i", HUGE),
        "levels of negative length": struct.pack("<i", -1),
        "levels of no length": struct.pack("<i", 0),
        "levels that end too early": struct.pack("<i", 2) + b"\x02\x01",
        "a run of levels of two billion": struct.pack("<i", 6) + b"\xfe\xff\xff\xff\x0f\x01",
        "a group of levels of two billion": struct.pack("<i", 6) + b"\xff\xff\xff\xff\x0f\x01",
        "groups of a billion levels": struct.pack("<i", 6) + b"\x81\x80\x80\x80\x01\x01",
        "indices of 255 bits": levels + b"\xff" + b"\xff" * 20,
        "indices of 33 bits": levels + b"\x21" + b"\xff" * 20,
        "indices far out of the dictionary": levels + b"\x20" + b"\x64" + b"\xff\xff\xff\x7f",
        "negative indices": levels + b"\x20" + b"\x64" + b"\xff\xff\xff\xff",
        "a run of indices of two billion": levels + b"\x02" + b"\xfe\xff\xff\xff\x0f\x01",
        "groups of a billion indices": levels + b"\x02" + b"\x81\x80\x80\x80\x01\x01",
        "a string of two GiB": levels + struct.pack("<i", HUGE),
        "a string of negative length": levels + struct.pack("<i", -1),
    }
    return {"zeros": bytes(size), "ones": b"\xff" * size, "nothing": b""} | {
        name: start[:size].ljust(size, b"\0") for name, start in starts.items()
    }


def column_metadata(file: Anatomy) -> Iterator[Made]:
    """Change numbers in the metadata of a column."""
    chunk = file.named("name")
    whole = {
        "values": anatomy.NUM_VALUES,
        "size": anatomy.TOTAL_SIZE,
        "first data page": anatomy.DATA_PAGE,
        "dictionary": anatomy.DICTIONARY_PAGE,
    }
    for what, number in whole.items():
        if thrift.get(chunk.metadata, number) is None:
            continue
        for name, value in (LONGS | near(chunk.metadata, number)).items():
            yield Made(f"{what}: {name}", forge.with_metadata(file, chunk, setting(number, value)))
        yield Made(f"{what}: in the footer", forge.with_metadata(file, chunk, setting(number, file.footer_at)))
    for what, number in (("codec", anatomy.CODEC), ("type", 1)):
        for code in (-1, 0, 2, 5, 7, 99):
            if code != thrift.get(chunk.metadata, number):
                yield Made(f"{what}: {code}", forge.with_metadata(file, chunk, setting(number, code)))
    for number in (1, anatomy.ENCODINGS, anatomy.PATH, anatomy.CODEC, anatomy.NUM_VALUES, anatomy.TOTAL_SIZE):
        change = lambda fields, number=number: thrift.drop(fields, number)  # noqa: E731 -- a change of its own
        yield Made(f"no field {number}", forge.with_metadata(file, chunk, change))
    for path in ([], [b"note"], [b"name", b"name"], [b""]):
        change = lambda fields, path=path: thrift.put(fields, anatomy.PATH, thrift.LIST, (thrift.BINARY, path))  # noqa: E731
        yield Made(f"path: {path}", forge.with_metadata(file, chunk, change))


def row_groups(file: Anatomy) -> Iterator[Made]:
    """Change numbers of the footer's first row group, and which columns it has."""
    _, [group, *_] = thrift.get(file.footer, anatomy.ROW_GROUPS)
    for name, value in (LONGS | near(group, anatomy.GROUP_ROWS)).items():
        yield Made(f"rows: {name}", grouped(file, setting(anatomy.GROUP_ROWS, value)))
    for ordinal in (-1, 1, 7, 32767, -32768):
        change = lambda fields, ordinal=ordinal: thrift.put(fields, anatomy.ORDINAL, thrift.I16, ordinal)  # noqa: E731
        yield Made(f"ordinal: {ordinal}", grouped(file, change))
    kind, columns = thrift.get(group, anatomy.COLUMNS)
    lists = {"none": [], "one less": columns[:-1], "one more": [*columns, columns[0]], "reversed": columns[::-1]}
    for name, some in lists.items():
        change = lambda fields, some=some: thrift.put(fields, anatomy.COLUMNS, thrift.LIST, (kind, some))  # noqa: E731
        yield Made(f"columns: {name}", grouped(file, change))


def unread_numbers(file: Anatomy) -> Iterator[Made]:
    """Change numbers that no reader needs: sums, and places that only decide which split reads a row group."""
    for what, number in (("bytes", TOTAL_BYTES), ("offset", FILE_OFFSET), ("size", GROUP_SIZE)):
        for name, value in LONGS.items():
            change = lambda fields, number=number, value=value: thrift.put(fields, number, thrift.I64, value)  # noqa: E731
            yield Made(f"{what}: {name}", grouped(file, change))
    for name, value in LONGS.items():
        yield Made(f"rows of the file: {name}", forge.with_footer(file, setting(FILE_ROWS, value)))


def grouped(file: Anatomy, change: Change) -> bytes:
    return forge.with_footer(file, forge.in_group(0, change))


def schemas(file: Anatomy) -> Iterator[Made]:
    """Change the schema in the footer: a tree that is stored as a list."""
    kind, elements = thrift.get(file.footer, anatomy.SCHEMA)
    root, first, *rest = elements
    for name, value in NUMBERS.items():
        yield Made(f"children: {name}", with_schema(file, kind, [forge.put_int(root, CHILDREN, value), first, *rest]))
    for what, number in (("type", TYPE), ("repetition", REPETITION)):
        for code in (-1, 99):
            changed = forge.put_int(first, number, code)
            yield Made(f"{what}: {code}", with_schema(file, kind, [root, changed, *rest]))
    for name, value in NUMBERS.items():
        fixed = forge.put_int(forge.put_int(first, TYPE, 7), TYPE_LENGTH, value)
        yield Made(f"fixed length: {name}", with_schema(file, kind, [root, fixed, *rest]))
    yield Made("empty", with_schema(file, kind, []))
    yield Made("no columns", with_schema(file, kind, [forge.put_int(root, CHILDREN, 0)]))
    yield Made("one column less", with_schema(file, kind, [root, first, *rest[:-1]]))
    yield Made("one column twice", with_schema(file, kind, [root, first, first, *rest[1:]]))
    # Each group contains the next: as deep as the list is long.
    nest = forge.put_int(thrift.drop(first, TYPE), CHILDREN, 1)
    yield Made("groups in groups", with_schema(file, kind, [root, *[nest] * 10_000, first, *rest]))


def with_schema(file: Anatomy, kind: int, elements: list[Struct]) -> bytes:
    return forge.with_footer(file, lambda footer: thrift.put(footer, anatomy.SCHEMA, thrift.LIST, (kind, elements)))


def index_places(file: Anatomy) -> Iterator[Made]:
    """Change the places of indexes in the footer."""
    chunk = file.named("salary")
    for what, (offset, length) in (("column index", anatomy.COLUMN_INDEX), ("offset index", anatomy.OFFSET_INDEX)):
        for name, value in LONGS.items():
            yield Made(f"{what} at {name}", forge.with_footer(file, forge.in_chunk(chunk, setting(offset, value))))
        for name, value in (NUMBERS | near(chunk.fields, length)).items():
            change = forge.in_chunk(chunk, setting(length, value))
            yield Made(f"{what} of {name} bytes", forge.with_footer(file, change))


def offset_indexes(file: Anatomy) -> Iterator[Made]:
    """Change the places of pages and their rows in an offset index."""
    chunk = file.named("salary")
    [module] = chunk.of(Kind.OFFSET_INDEX)
    fields = file.parsed(module)
    kind, places = thrift.get(fields, LOCATIONS)
    for what, number in (("offset", PAGE_OFFSET), ("size", PAGE_SIZE), ("row", FIRST_ROW)):
        longs = NUMBERS if number == PAGE_SIZE else LONGS
        for at in range(2):
            for name, value in longs.items():
                if value != thrift.get(places[at], number):
                    new = [forge.put_int(place, number, value) if n == at else place for n, place in enumerate(places)]
                    yield Made(f"{what} of page {at}: {name}", located(file, chunk, kind, new))
    lists = {"none": [], "one": places[:1], "one more": [*places, places[-1]], "reversed": places[::-1]}
    for name, some in lists.items():
        yield Made(f"pages: {name}", located(file, chunk, kind, some))


def located(file: Anatomy, chunk: Chunk, kind: int, places: list[Struct]) -> bytes:
    [module] = chunk.of(Kind.OFFSET_INDEX)
    plain = thrift.write_struct(thrift.put(file.parsed(module), LOCATIONS, thrift.LIST, (kind, places)))
    return forge.with_index(file, chunk, module, plain)


def column_indexes(file: Anatomy) -> Iterator[Made]:
    """Change the statements of a column index about pages."""
    chunk = file.named("salary")
    [module] = chunk.of(Kind.COLUMN_INDEX)
    fields = file.parsed(module)
    for number in (NULL_PAGES, MINIMA, MAXIMA):
        kind, values = thrift.get(fields, number)
        for name, some in {"none": [], "one": values[:1], "many": values * 50}.items():
            changed = thrift.put(fields, number, thrift.LIST, (kind, some))
            yield Made(f"field {number}: {name}", forge.with_index(file, chunk, module, thrift.write_struct(changed)))
    kind, values = thrift.get(fields, MINIMA)
    for name, value in {"empty": b"", "short": b"x", "long": b"x" * 3000}.items():
        changed = thrift.put(fields, MINIMA, thrift.LIST, (kind, [value, *values[1:]]))
        yield Made(f"minimum: {name}", forge.with_index(file, chunk, module, thrift.write_struct(changed)))
    for code in (-1, 99):
        changed = forge.put_int(fields, ORDER, code)
        yield Made(f"order: {code}", forge.with_index(file, chunk, module, thrift.write_struct(changed)))


def bloom_filters(file: Anatomy) -> Iterator[Made]:
    """Change header and size of a Bloom filter, and its place in the footer."""
    chunk = file.named("note")
    [header], [bitset] = chunk.of(Kind.BLOOM_HEADER), chunk.of(Kind.BLOOM_BITSET)
    fields, bits = file.parsed(header), bitset.seal.open(file.bytes_of(bitset))
    for name, value in (NUMBERS | near(fields, anatomy.BLOOM_BYTES)).items():
        changed = thrift.write_struct(forge.put_int(fields, anatomy.BLOOM_BYTES, value))
        yield Made(f"bytes: {name}", forge.with_bloom(file, chunk, changed, bits))
    for size in (0, 1, 31, 33):
        changed = thrift.write_struct(forge.put_int(fields, anatomy.BLOOM_BYTES, size))
        yield Made(f"a bitset of {size}", forge.with_bloom(file, chunk, changed, bytes(size)))
    for name, value in LONGS.items():
        yield Made(f"at {name}", forge.with_metadata(file, chunk, setting(anatomy.BLOOM_OFFSET, value)))
