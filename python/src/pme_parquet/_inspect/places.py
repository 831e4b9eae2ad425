"""Where the parts of a file lie, as far as its end shows without a key. A report draws a picture of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pme_parquet._inspect.footers import MAX_CRYPTO_METADATA_BYTES
from pme_parquet._inspect.names import Names
from pme_parquet._inspect.tails import TAIL_BYTES, footer_of
from pme_parquet._inspect.thrift import Struct, binaries, each, i32, i64, parse, struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pme_parquet._storage import Found, Storage

# A picture with more parts would be unreadable.
MAX_CHUNKS = 20_000
_CHUNK = {
    3: struct(
        "meta_data",
        {
            3: binaries("path_in_schema"),
            7: i64("total_compressed_size"),
            9: i64("data_page_offset"),
            11: i64("dictionary_page_offset"),
            14: i64("bloom_filter_offset"),
            15: i32("bloom_filter_length"),
        },
    ),
    4: i64("offset_index_offset"),
    5: i32("offset_index_length"),
    6: i64("column_index_offset"),
    7: i32("column_index_length"),
}
_INDEXES = {"column index": "column_index", "offset index": "offset_index"}


class Place(NamedTuple):
    """A part of a column chunk; `pages` stands for all of its pages."""

    kind: str
    row_group: int
    column: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Ends:
    """Where a footer lies.

    Attributes:
        encrypted: whether the footer is.
        at: its offset.
        readable: the length of what can be read of it: the footer, or the part before an encrypted one.
        sealed: the length of the encrypted footer, or of the signature.
        places: what a readable footer shows of the rest of the file.
    """

    encrypted: bool
    at: int
    readable: int
    sealed: int
    places: tuple[Place, ...]


def ends(storage: Storage, found: Found) -> Ends:
    """What the end of a file shows.

    Raises:
        PmeError: the storage failed.
        MalformedError: it is not a footer.
    """
    with footer_of(storage, found) as (encrypted, footer):
        at = found.bytes - TAIL_BYTES - len(footer)
        if encrypted:
            _, end = parse(footer[:MAX_CRYPTO_METADATA_BYTES], {})
            return Ends(encrypted, at, end, len(footer) - end, ())
        places: list[Place] = []
        end = _read(footer, places)
        return Ends(encrypted, at, end, len(footer) - end, tuple(places))


def _read(footer: bytes, places: list[Place]) -> int:
    """Adds the places of a footer, and returns where its own part ends."""
    chunks: list[Struct] = []
    groups: list[list[Struct]] = []
    names = Names()
    count = 0

    def chunk(found: Struct) -> None:
        nonlocal count
        count += 1
        if count <= MAX_CHUNKS:
            chunks.append(found)

    def group(_: Struct) -> None:
        if len(groups) < MAX_CHUNKS:
            groups.append(chunks.copy())
        chunks.clear()

    _, end = parse(footer, {2: names.field, 4: each("row_groups", {1: each("columns", _CHUNK, chunk)}, group)})
    for number, of_group in enumerate(groups):
        for found in of_group:
            places.extend(_of_chunk(number, found, names))
    return end


def _of_chunk(row_group: int, chunk: Struct, names: Names) -> Iterator[Place]:
    metadata = chunk.get("meta_data", {})
    column = names.of(metadata.get("path_in_schema", ()))
    data, dictionary = metadata.get("data_page_offset"), metadata.get("dictionary_page_offset")
    start = dictionary if dictionary and data and dictionary < data else data
    if start and "total_compressed_size" in metadata:
        yield Place("pages", row_group, column, start, metadata["total_compressed_size"])
    for kind, name in _INDEXES.items():
        if f"{name}_offset" in chunk and f"{name}_length" in chunk:
            yield Place(kind, row_group, column, chunk[f"{name}_offset"], chunk[f"{name}_length"])
    if "bloom_filter_offset" in metadata and "bloom_filter_length" in metadata:
        offset, length = metadata["bloom_filter_offset"], metadata["bloom_filter_length"]
        yield Place("Bloom filter", row_group, column, offset, length)
