"""The content of a file besides its keys: every decrypted module, every field that does not depend on the encryption.

``anatomy`` parses the file; it shares no code with what is tested.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.files import thrift
from tests.support.files.anatomy import (
    BLOOM_LENGTH,
    BLOOM_OFFSET,
    BLOOMS,
    COLUMN_INDEX,
    COLUMNS,
    COMPRESSED_SIZE,
    CRYPTO_METADATA,
    DATA_PAGE,
    DICTIONARY_PAGE,
    ENCRYPTED_METADATA,
    META_DATA,
    OFFSET_INDEX,
    PAGE_HEADERS,
    PAGES,
    ROW_GROUPS,
    TOTAL_SIZE,
    TOTAL_UNCOMPRESSED,
    Anatomy,
    Chunk,
    Kind,
)
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from tests.support.files.thrift import Struct

ALGORITHM, SIGNING_KEY = 8, 9
FILE_OFFSET, ORDINAL_OF_GROUP, GROUP_BYTES, GROUP_COMPRESSED, GROUP_OFFSET = 2, 7, 2, 6, 5
CRC = 4
FILE_PATH = 1
STATISTICS, SIZES, EXACT = 12, 16, (7, 8)
LOCATIONS, FIRST_ROW, LOCATION, LOCATION_SIZE = 1, 3, 1, 2


def content(file: Anatomy, *, newer: bool = True) -> dict[str, Any]:
    """Return everything that a copy under other keys must keep.

    parquet-java 1.13 does not write what is ``newer``: sizes of columns, and whether bounds are exact.
    """
    _, groups = thrift.get(file.footer, ROW_GROUPS)
    return {
        "footer": thrift.drop(file.footer, ROW_GROUPS, ALGORITHM, SIGNING_KEY),
        "groups": [
            thrift.drop(group, COLUMNS, GROUP_BYTES, GROUP_COMPRESSED, GROUP_OFFSET, ORDINAL_OF_GROUP)
            for group in groups
        ],
        "chunks": [chunk_content(file, chunk, newer=newer) for chunk in file.chunks],
    }


def copied(file: Anatomy) -> dict[str, Any]:
    """Return the content that this Spark's copy of a file must have."""
    return content(file, newer=SPARK_VERSION >= (4, 0))


def chunk_content(file: Anatomy, chunk: Chunk, *, newer: bool) -> dict[str, Any]:
    places = (META_DATA, CRYPTO_METADATA, ENCRYPTED_METADATA, FILE_OFFSET, FILE_PATH, *COLUMN_INDEX, *OFFSET_INDEX)
    moved = (TOTAL_SIZE, TOTAL_UNCOMPRESSED, DATA_PAGE, DICTIONARY_PAGE, BLOOM_OFFSET, BLOOM_LENGTH)
    metadata = thrift.drop(chunk.metadata, *moved)
    return {
        "place": (chunk.row_group, chunk.column),
        "fields": thrift.drop(chunk.fields, *places),
        "metadata": metadata if newer else as_of_1_13(metadata),
        "headers": [
            thrift.drop(file.parsed(module), COMPRESSED_SIZE, CRC)
            for module in chunk.modules
            if module.kind in PAGE_HEADERS
        ],
        "pages": [opened(file, chunk, kind) for kind in PAGES],
        "column index": [stripped(text) for text in opened(file, chunk, Kind.COLUMN_INDEX)],
        "rows of pages": [rows_of(file.parsed(module)) for module in chunk.of(Kind.OFFSET_INDEX)],
        "Bloom filter": [[stripped(text) for text in opened(file, chunk, kind)] for kind in BLOOMS],
    }


def as_of_1_13(metadata: Struct) -> Struct:
    return [
        field._replace(value=thrift.drop(field.value, *EXACT)) if field.number == STATISTICS else field
        for field in thrift.drop(metadata, SIZES)
    ]


def opened(file: Anatomy, chunk: Chunk, kind: Kind) -> list[bytes]:
    return [module.seal.open(file.bytes_of(module)) for module in chunk.of(kind)]


def stripped(text: bytes) -> bytes:
    """Remove the zeros with which parquet-java pads some modules."""
    return text.rstrip(b"\0")


def rows_of(index: Struct) -> list[int]:
    _, locations = thrift.get(index, LOCATIONS)
    return [thrift.get(location, FIRST_ROW) for location in locations]


def assert_places_are_true(file: Anatomy) -> None:
    """Fail unless offset indexes and sizes point to the pages."""
    _, groups = thrift.get(file.footer, ROW_GROUPS)
    for chunk in file.chunks:
        headers = chunk.of(Kind.DATA_PAGE_HEADER)
        bodies = chunk.of(Kind.DATA_PAGE)
        assert thrift.get(chunk.metadata, DATA_PAGE) == headers[0].offset
        assert thrift.get(chunk.metadata, TOTAL_SIZE) == chunk.pages[-1].end - chunk.start
        for module in chunk.of(Kind.OFFSET_INDEX):
            _, locations = thrift.get(file.parsed(module), LOCATIONS)
            named = [(thrift.get(one, LOCATION), thrift.get(one, LOCATION_SIZE)) for one in locations]
            there = [(head.offset, body.end - head.offset) for head, body in zip(headers, bodies, strict=True)]
            assert named == there
        if (length := thrift.get(chunk.metadata, BLOOM_LENGTH)) is not None:
            assert length == sum(module.size for kind in BLOOMS for module in chunk.of(kind))
    for number, group in enumerate(groups):
        chunks = [chunk for chunk in file.chunks if chunk.row_group == number]
        assert thrift.get(group, GROUP_OFFSET) == chunks[0].start
        assert thrift.get(group, GROUP_COMPRESSED) == sum(chunk.size for chunk in chunks)
