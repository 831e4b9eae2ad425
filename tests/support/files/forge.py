"""Build altered files: replaced bytes, and whole footers, chunks and indexes sealed again with known keys.

What is sealed again passes every tag check: someone with the keys, or a broken writer, can make it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.support.files import anatomy, bend, thrift
from tests.support.files.anatomy import Anatomy, Kind, place
from tests.support.files.bend import NONCE_BYTES, TAG_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.files.anatomy import Chunk, Module
    from tests.support.files.thrift import Struct

    Change = Callable[[Struct], Struct]


def put(content: bytes, at: int, piece: bytes) -> bytes:
    """Return the content with a part replaced by bytes of the same length."""
    return content[:at] + piece + content[at + len(piece) :]


def flip(content: bytes, at: int) -> bytes:
    """Return the content with one bit of a byte flipped."""
    return put(content, at, bytes([content[at] ^ 1]))


def put_int(fields: Struct, number: int, value: int) -> Struct:
    """Return the struct with an integer field set, whatever its width."""
    kind = next((field.type for field in fields if field.number == number), thrift.I32)
    return thrift.put(fields, number, kind, value)


def signed(file: Anatomy, footer: bytes) -> bytes:
    """Return a plaintext footer with its signature."""
    nonce = os.urandom(NONCE_BYTES)
    key = file.footer_key
    tag = AESGCM(key).encrypt(nonce, footer, file.footer_seal.aad)[-TAG_BYTES:]
    return footer + nonce + tag


def with_raw_footer(file: Anatomy, footer: bytes, content: bytes | None = None) -> bytes:
    """Return the file with FileMetaData given as bytes, sealed or signed; ``content`` has more data before it."""
    data = file.content[: file.footer_at] if content is None else content
    crypto = thrift.write_struct(file.crypto)
    whole = signed(file, footer) if file.plain_footer else crypto + file.footer_seal.seal(footer)
    return data + len_and_magic(whole, file.content)


def len_and_magic(footer: bytes, content: bytes) -> bytes:
    return footer + len(footer).to_bytes(bend.LENGTH_BYTES, "little") + content[-bend.MAGIC_BYTES :]


def with_footer(file: Anatomy, change: Change, content: bytes | None = None) -> bytes:
    """Return the file with its FileMetaData changed, and sealed or signed again."""
    return with_raw_footer(file, thrift.write_struct(change(file.footer)), content)


def in_group(row_group: int, change: Change) -> Change:
    """Return a change of a footer that changes one row group."""

    def changed(footer: Struct) -> Struct:
        kind, groups = thrift.get(footer, anatomy.ROW_GROUPS)
        new = [change(group) if number == row_group else group for number, group in enumerate(groups)]
        return thrift.put(footer, anatomy.ROW_GROUPS, thrift.LIST, (kind, new))

    return changed


def in_chunk(chunk: Chunk, change: Change) -> Change:
    """Return a change of a footer that changes one ColumnChunk."""

    def changed(group: Struct) -> Struct:
        kind, chunks = thrift.get(group, anatomy.COLUMNS)
        new = [change(one) if number == chunk.column else one for number, one in enumerate(chunks)]
        return thrift.put(group, anatomy.COLUMNS, thrift.LIST, (kind, new))

    return in_group(chunk.row_group, changed)


def sealed_metadata(fields: Struct) -> bytes:
    """Return the encrypted metadata of a ColumnChunk."""
    return bytes(thrift.get(fields, anatomy.ENCRYPTED_METADATA))


def with_sealed_metadata(file: Anatomy, chunk: Chunk, sealed: bytes) -> bytes:
    """Return the file with other encrypted metadata of one chunk, as the holder of only the footer key can make it."""
    new = in_chunk(chunk, lambda fields: thrift.put(fields, anatomy.ENCRYPTED_METADATA, thrift.BINARY, sealed))
    return with_footer(file, new)


def raw_metadata(file: Anatomy, chunk: Chunk, metadata: bytes) -> Change:
    """Return a change of a ColumnChunk whose encrypted metadata become these bytes, sealed."""
    seal = file.seal(Kind.COLUMN_METADATA, chunk.key, chunk.row_group, chunk.column)
    sealed = seal.seal(metadata)
    return lambda fields: thrift.put(fields, anatomy.ENCRYPTED_METADATA, thrift.BINARY, sealed)


def metadata(file: Anatomy, chunk: Chunk, change: Change) -> Change:
    """Return a change of a ColumnChunk that changes its metadata in the place where a reader with all keys looks."""
    new = change(chunk.metadata)
    if thrift.get(chunk.fields, anatomy.ENCRYPTED_METADATA):
        return raw_metadata(file, chunk, thrift.write_struct(new))
    return lambda fields: thrift.put(fields, anatomy.META_DATA, thrift.STRUCT, new)


def with_metadata(file: Anatomy, chunk: Chunk, change: Change) -> bytes:
    """Return the file with the metadata of one chunk changed."""
    return with_footer(file, in_chunk(chunk, metadata(file, chunk, change)))


def moved_metadata(chunk: Chunk, start: int, size: int) -> Change:
    """Return a change of a chunk's metadata that places it elsewhere."""
    by = start - chunk.start

    def changed(fields: Struct) -> Struct:
        for number in (anatomy.DATA_PAGE, anatomy.DICTIONARY_PAGE):
            if old := thrift.get(fields, number):
                fields = put_int(fields, number, old + by)
        return put_int(fields, anatomy.TOTAL_SIZE, size)

    return changed


def with_chunk(file: Anatomy, chunk: Chunk, content: bytes) -> bytes:
    """Return the file with other bytes for a column chunk, behind all others, and without its page index."""
    data = file.content[: file.footer_at] + content
    new = metadata(file, chunk, moved_metadata(chunk, file.footer_at, len(content)))

    def changed(fields: Struct) -> Struct:
        return thrift.drop(new(fields), *anatomy.OFFSET_INDEX, *anatomy.COLUMN_INDEX)

    return with_footer(file, in_chunk(chunk, changed), data)


def with_module(file: Anatomy, chunk: Chunk, module: Module, plain: bytes) -> bytes:
    """Return the file with other content of a page or page header, sealed again."""
    sealed = module.seal.seal(plain)
    pages = [sealed if one == module else file.bytes_of(one) for one in chunk.pages]
    return with_chunk(file, chunk, b"".join(pages))


def with_header(file: Anatomy, chunk: Chunk, module: Module, change: Change) -> bytes:
    """Return the file with one page header changed and sealed again."""
    return with_module(file, chunk, module, thrift.write_struct(change(file.parsed(module))))


def with_page(file: Anatomy, chunk: Chunk, module: Module, plain: bytes) -> bytes:
    """Return the file with other content of a page; its header has the new size."""
    pages = chunk.pages
    header = pages[pages.index(module) - 1]
    sealed = module.seal.seal(plain)
    fields = put_int(file.parsed(header), anatomy.COMPRESSED_SIZE, len(sealed))
    new = {header: header.seal.seal(thrift.write_struct(fields)), module: sealed}
    return with_chunk(file, chunk, b"".join(new.get(one) or file.bytes_of(one) for one in pages))


def with_index(file: Anatomy, chunk: Chunk, module: Module, plain: bytes) -> bytes:
    """Return the file with other content of a column or offset index, behind everything else."""
    offset, length = anatomy.COLUMN_INDEX if module.kind == Kind.COLUMN_INDEX else anatomy.OFFSET_INDEX
    sealed = module.seal.seal(plain)

    def changed(fields: Struct) -> Struct:
        return put_int(put_int(fields, offset, file.footer_at), length, len(sealed))

    return with_footer(file, in_chunk(chunk, changed), file.content[: file.footer_at] + sealed)


def with_bloom(file: Anatomy, chunk: Chunk, header: bytes, bitset: bytes) -> bytes:
    """Return the file with another Bloom filter, sealed again, behind everything else."""
    [first] = chunk.of(Kind.BLOOM_HEADER)
    [second] = chunk.of(Kind.BLOOM_BITSET)
    sealed = first.seal.seal(header) + second.seal.seal(bitset)

    def changed(fields: Struct) -> Struct:
        return put_int(put_int(fields, anatomy.BLOOM_OFFSET, file.footer_at), anatomy.BLOOM_LENGTH, len(sealed))

    new = in_chunk(chunk, metadata(file, chunk, changed))
    return with_footer(file, new, file.content[: file.footer_at] + sealed)


def cut(path: Path) -> None:
    bend.replace(path, path.read_bytes()[:-1])


def damage(path: Path) -> None:
    """Flip a bit in the first page."""
    file = Anatomy(path.read_bytes())
    bend.replace(path, flip(file.content, place(file.named("id").of(Kind.DATA_PAGE)[0], "ciphertext")))
