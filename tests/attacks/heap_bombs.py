"""Small files that would fill a small heap if a reader trusted their sizes, or merely decompressed them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import zstandard

from tests.attacks.bombs import field, opened
from tests.attacks.insiders import Made
from tests.support.files import anatomy, bend, forge, thrift
from tests.support.files.anatomy import Anatomy, Kind
from tests.support.files.thrift import varint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.files.anatomy import Chunk, Module

ZSTD = 6
MEBIBYTE = 1024 * 1024

# Just below the limit for parsing with a heap of 512 MiB, which is a thirty-second part of it.
FOOTER_BYTES = 14 * MEBIBYTE

VERSION = opened(field(1, thrift.I32, 1))
EMPTY_SCHEMA = b"\x19\x0c"
ROWS = b"\x16\x00"

# The smallest list elements in FileMetaData: the bytes before the list, and one element.
DENSE: dict[str, tuple[bytes, bytes]] = {
    "schema elements": (VERSION + b"\x19", b"\x48\x00\x00"),
    "row groups": (VERSION + EMPTY_SCHEMA + ROWS + b"\x19", b"\x19\x0c\x16\x00\x16\x00\x00"),
    "column chunks": (VERSION + EMPTY_SCHEMA + ROWS + b"\x19\x1c\x19", b"\x26\x00\x00"),
    "key-value metadata": (VERSION + EMPTY_SCHEMA + ROWS + b"\x19\x0c\x19", b"\x18\x00\x00"),
    "column orders": (VERSION + EMPTY_SCHEMA + ROWS + b"\x19\x0c\x39", b"\x1c\x00\x00"),
    "nothing known": (VERSION + b"\xa9", b"\x00"),
}


def dense_footers() -> dict[str, bytes]:
    """Return FileMetaData of many tiny elements, each of which becomes an object."""
    found = {}
    for name, (before, element) in DENSE.items():
        count = FOOTER_BYTES // len(element)
        ends = b"\x00" * 32  # of the structs around the list
        found[name] = before + b"\xfc" + varint(count) + element * count + ends
    return found


def unsigned_footers(file: Anatomy) -> Iterator[Made]:
    """Put dense footers behind a file with a readable footer: this needs no key."""
    for name, footer in dense_footers().items():
        content = bend.with_footer(file.content, footer + bytes(bend.SIGNATURE_BYTES))
        yield Made(f"readable footer of {name}", content)


def sealed_footers(file: Anatomy) -> Iterator[Made]:
    """Seal dense footers, as a holder of the footer key can."""
    for name, footer in dense_footers().items():
        yield Made(f"encrypted footer of {name}", forge.with_raw_footer(file, footer))


def unpacked(file: Anatomy, chunk: Chunk, header: Module, page: Module, size: int) -> bytes:
    """Return a page and its header: the page as it was, with zeros behind its values up to a size."""
    plain = page.seal.open(file.bytes_of(page))
    sealed = page.seal.seal(zstandard.compress(plain.ljust(size, b"\0")))
    fields = forge.put_int(file.parsed(header), anatomy.COMPRESSED_SIZE, len(sealed))
    fields = forge.put_int(fields, anatomy.UNCOMPRESSED_SIZE, size)
    return header.seal.seal(thrift.write_struct(fields)) + sealed


def with_unpacked_pages(file: Anatomy, column: str, size: int) -> Anatomy:
    """Return an uncompressed file with one column chunk whose pages decompress to this many bytes each."""
    chunk = file.named(column)
    pairs = zip(chunk.of(Kind.DATA_PAGE_HEADER), chunk.of(Kind.DATA_PAGE), strict=True)
    content = b"".join(unpacked(file, chunk, header, page, size) for header, page in pairs)
    moved = Anatomy(forge.with_chunk(file, chunk, content))
    codec = moved.named(column)
    return Anatomy(forge.with_metadata(moved, codec, lambda fields: forge.put_int(fields, anatomy.CODEC, ZSTD)))


def decompression_bombs(file: Anatomy) -> Iterator[Made]:
    """Let pages of several columns each decompress to just under a quarter of the heap."""
    for columns in (["salary"], ["note", "salary", "id", "twin"]):
        bent = file
        for column in columns:
            bent = with_unpacked_pages(bent, column, 100 * MEBIBYTE)
        yield Made(f"pages of 100 MiB in {len(columns)} columns", bent.content)
