"""Where each module of an encrypted file is, and what opens it: the tests know every key (specification §4.4, §5)."""

from __future__ import annotations

import base64
import json
import os
import struct
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.support.files import bend, thrift
from tests.support.files.bend import LENGTH_BYTES, NONCE_BYTES, TAG_BYTES
from tests.support.files.key_material import unwrap
from tests.support.interop.arrow_files import master_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.files.thrift import Struct

# Fields of parquet.thrift: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData, PageHeader, BloomFilterHeader.
SCHEMA, ROW_GROUPS = 2, 4
COLUMNS, GROUP_ROWS, ORDINAL = 1, 3, 7
META_DATA, CRYPTO_METADATA, ENCRYPTED_METADATA = 3, 8, 9
OFFSET_INDEX, COLUMN_INDEX = (4, 5), (6, 7)
WITH_FOOTER_KEY, COLUMN_KEY_METADATA = 1, 2
ENCODINGS, PATH, CODEC, NUM_VALUES, TOTAL_UNCOMPRESSED, TOTAL_SIZE = 2, 3, 4, 5, 6, 7
DATA_PAGE, DICTIONARY_PAGE = 9, 11
BLOOM_OFFSET, BLOOM_LENGTH = 14, 15
PAGE_TYPE, UNCOMPRESSED_SIZE, COMPRESSED_SIZE = 1, 2, 3
DICTIONARY_TYPE = 2
BLOOM_BYTES = 1

NO_PAGE = -1

# The regions of a module.
REGIONS = LENGTH, NONCE, CIPHERTEXT, TAG = "length", "nonce", "ciphertext", "tag"


class Kind(IntEnum):
    """Module types, with the number each has in its AAD."""

    FOOTER = 0
    COLUMN_METADATA = 1
    DATA_PAGE = 2
    DICTIONARY_PAGE = 3
    DATA_PAGE_HEADER = 4
    DICTIONARY_PAGE_HEADER = 5
    COLUMN_INDEX = 6
    OFFSET_INDEX = 7
    BLOOM_HEADER = 8
    BLOOM_BITSET = 9


PAGES = (Kind.DATA_PAGE, Kind.DICTIONARY_PAGE)
PAGE_HEADERS = (Kind.DATA_PAGE_HEADER, Kind.DICTIONARY_PAGE_HEADER)
INDEXES = (Kind.COLUMN_INDEX, Kind.OFFSET_INDEX)
BLOOMS = (Kind.BLOOM_HEADER, Kind.BLOOM_BITSET)


class Seal(NamedTuple):
    """What seals and opens one module; a module without a key is readable and has no frame."""

    key: bytes | None
    aad: bytes
    ctr: bool = False

    @property
    def overhead(self) -> int:
        if self.key is None:
            return 0
        return LENGTH_BYTES + NONCE_BYTES + (0 if self.ctr else TAG_BYTES)

    def seal(self, plain: bytes) -> bytes:
        if self.key is None:
            return plain
        nonce = os.urandom(NONCE_BYTES)
        sealed = counter(self.key, nonce, plain) if self.ctr else AESGCM(self.key).encrypt(nonce, plain, self.aad)
        return struct.pack("<I", NONCE_BYTES + len(sealed)) + nonce + sealed

    def open(self, module: bytes) -> bytes:
        if self.key is None:
            return module
        nonce, sealed = module[LENGTH_BYTES:][:NONCE_BYTES], module[LENGTH_BYTES + NONCE_BYTES :]
        return counter(self.key, nonce, sealed) if self.ctr else AESGCM(self.key).decrypt(nonce, sealed, self.aad)


def counter(key: bytes, nonce: bytes, text: bytes) -> bytes:
    """Encrypt or decrypt with AES-CTR, whose counter starts at one."""
    cipher = Cipher(algorithms.AES(key), modes.CTR(nonce + b"\0\0\0\1")).encryptor()
    return cipher.update(text) + cipher.finalize()


class Module(NamedTuple):
    """One module with its length field, at its place in the file; or a readable part of a column."""

    kind: Kind
    row_group: int
    column: int
    page: int
    offset: int
    size: int
    seal: Seal

    def __str__(self) -> str:
        page = "" if self.page == NO_PAGE else f" {self.page}"
        return f"{self.kind.name.lower()}{page} of column {self.column} in group {self.row_group}"

    @property
    def end(self) -> int:
        return self.offset + self.size


class Chunk(NamedTuple):
    """One column chunk: its fields in the footer, its metadata, decrypted, and its modules."""

    row_group: int
    column: int
    fields: Struct
    metadata: Struct
    key: bytes | None
    modules: list[Module]

    @property
    def name(self) -> str:
        return bytes(thrift.get(self.metadata, PATH)[1][0]).decode()

    @property
    def start(self) -> int:
        return chunk_start(self.metadata)

    @property
    def size(self) -> int:
        return int(thrift.get(self.metadata, TOTAL_SIZE))

    @property
    def pages(self) -> list[Module]:
        return [module for module in self.modules if module.kind in (*PAGES, *PAGE_HEADERS)]

    def of(self, kind: Kind) -> list[Module]:
        return [module for module in self.modules if module.kind == kind]


def chunk_start(metadata: Struct) -> int:
    """Return the offset of a chunk's first page, which is its dictionary if it has one."""
    dictionary, data = thrift.get(metadata, DICTIONARY_PAGE), thrift.get(metadata, DATA_PAGE)
    return int(dictionary or data)


@lru_cache(maxsize=1000)
def data_key(metadata: bytes) -> bytes:
    """Return the data key from key material in a file, unwrapped as the key tools wrap it."""
    material = json.loads(metadata)
    master = material["masterKeyID"]
    key, aad = master_key(master), master.encode()
    if material["doubleWrapping"]:
        key = unwrap(material["wrappedKEK"], key, aad)
        aad = base64.b64decode(material["keyEncryptionKeyID"])
    return unwrap(material["wrappedDEK"], key, aad)


class Anatomy:
    """A parsed file."""

    def __init__(self, content: bytes, key_of: Callable[[bytes], bytes] = data_key) -> None:
        self.content = content
        self.key_of = key_of
        self.plain_footer = content[-bend.MAGIC_BYTES :] == b"PAR1"
        self.footer_at = bend.footer_start(content)
        reader = thrift.Reader(content[self.footer_at : -bend.TAIL_BYTES])
        self.crypto = reader.struct()
        fields = (8, 9) if self.plain_footer else (bend.ALGORITHM, bend.KEY_METADATA)
        [(algorithm, _, aad)] = thrift.get(self.crypto, fields[0])
        self.ctr = algorithm == bend.CTR
        self.aad = (thrift.get(aad, bend.AAD_PREFIX) or b"") + thrift.get(aad, bend.AAD_FILE_UNIQUE)
        self.footer_key = key_of(thrift.get(self.crypto, fields[1]))
        self.footer_seal = Seal(self.footer_key, self.aad + bytes([Kind.FOOTER]))
        self.footer_module = Module(
            Kind.FOOTER,
            NO_PAGE,
            NO_PAGE,
            NO_PAGE,
            self.footer_at + reader.at,
            len(content) - bend.TAIL_BYTES - self.footer_at - reader.at,
            self.footer_seal,
        )
        self.footer = self.crypto if self.plain_footer else self.parsed(self.footer_module)
        self.chunks = [self.chunk(*place) for place in self.places()]

    @property
    def modules(self) -> list[Module]:
        """All encrypted modules that have a place in the file: a signed footer and column metadata do not."""
        inside = [module for chunk in self.chunks for module in chunk.modules if module.seal.key]
        return inside if self.plain_footer else [*inside, self.footer_module]

    def bytes_of(self, module: Module) -> bytes:
        return self.content[module.offset : module.end]

    def parsed(self, module: Module) -> Struct:
        return thrift.Reader(module.seal.open(self.bytes_of(module))).struct()

    def first_row(self, row_group: int) -> int:
        _, groups = thrift.get(self.footer, ROW_GROUPS)
        return sum(thrift.get(group, GROUP_ROWS) for group in groups[:row_group])

    def named(self, name: str, row_group: int = 0) -> Chunk:
        return next(chunk for chunk in self.chunks if chunk.name == name and chunk.row_group == row_group)

    def seal(self, kind: Kind, key: bytes | None, row_group: int, column: int, page: int = NO_PAGE) -> Seal:
        suffix = struct.pack("<Bhh", kind, row_group, column) + (b"" if page == NO_PAGE else struct.pack("<h", page))
        return Seal(key, self.aad + suffix, ctr=self.ctr and kind in PAGES)

    def places(self) -> Iterator[tuple[int, int, Struct]]:
        _, groups = thrift.get(self.footer, ROW_GROUPS)
        for row_group, group in enumerate(groups):
            _, chunks = thrift.get(group, COLUMNS)
            for column, chunk in enumerate(chunks):
                yield row_group, column, chunk

    def chunk(self, row_group: int, column: int, fields: Struct) -> Chunk:
        key = self.chunk_key(fields)
        metadata = thrift.get(fields, META_DATA)
        sealed = thrift.get(fields, ENCRYPTED_METADATA)
        if sealed:
            seal = self.seal(Kind.COLUMN_METADATA, key, row_group, column)
            metadata = thrift.Reader(seal.open(sealed)).struct()
        chunk = Chunk(row_group, column, fields, metadata, key, [])
        chunk.modules.extend(self.pages(chunk))
        chunk.modules.extend(self.indexes(chunk))
        chunk.modules.extend(self.blooms(chunk))
        return chunk

    def chunk_key(self, fields: Struct) -> bytes | None:
        crypto = thrift.get(fields, CRYPTO_METADATA)
        if not crypto:
            return None
        [(kind, _, column)] = crypto
        return self.footer_key if kind == WITH_FOOTER_KEY else self.key_of(thrift.get(column, COLUMN_KEY_METADATA))

    def module(self, kind: Kind, chunk: Chunk, at: int, page: int = NO_PAGE, size: int | None = None) -> Module:
        seal = self.seal(kind, chunk.key, chunk.row_group, chunk.column, page)
        if size is None:
            [length] = struct.unpack("<I", self.content[at : at + LENGTH_BYTES])
            size = LENGTH_BYTES + length
        return Module(kind, chunk.row_group, chunk.column, page, at, size, seal)

    def pages(self, chunk: Chunk) -> Iterator[Module]:
        at, end, page = chunk.start, chunk.start + chunk.size, 0
        dictionary = bool(thrift.get(chunk.metadata, DICTIONARY_PAGE))
        while at < end:
            number = NO_PAGE if dictionary else page
            kinds = (PAGE_HEADERS[dictionary], PAGES[dictionary])
            header = self.header(kinds[0], chunk, at, number)
            size = thrift.get(self.parsed(header), COMPRESSED_SIZE)
            body = self.module(kinds[1], chunk, header.end, number, size)
            yield from (header, body)
            at, page, dictionary = body.end, page + (not dictionary), False

    def header(self, kind: Kind, chunk: Chunk, at: int, page: int) -> Module:
        if chunk.key:
            return self.module(kind, chunk, at, page)
        reader = thrift.Reader(self.content[at:])
        reader.struct()
        return self.module(kind, chunk, at, page, reader.at)

    def indexes(self, chunk: Chunk) -> Iterator[Module]:
        for kind, (offset, length) in ((Kind.COLUMN_INDEX, COLUMN_INDEX), (Kind.OFFSET_INDEX, OFFSET_INDEX)):
            at = thrift.get(chunk.fields, offset)
            if at is not None:
                yield self.module(kind, chunk, at, size=thrift.get(chunk.fields, length))

    def blooms(self, chunk: Chunk) -> Iterator[Module]:
        at = thrift.get(chunk.metadata, BLOOM_OFFSET)
        if at is not None:
            header = self.header(Kind.BLOOM_HEADER, chunk, at, NO_PAGE)
            bits = cast("int", thrift.get(self.parsed(header), BLOOM_BYTES))
            seal = self.seal(Kind.BLOOM_BITSET, chunk.key, chunk.row_group, chunk.column)
            yield from (header, self.module(Kind.BLOOM_BITSET, chunk, header.end, size=bits + seal.overhead))


def place(module: Module, region: str) -> int:
    """Return the offset of a byte in one of the regions of a module."""
    inside = {
        LENGTH: 0,
        NONCE: LENGTH_BYTES + NONCE_BYTES // 2,
        # The last bytes of a page are values; the first ones may be levels.
        CIPHERTEXT: module.size - (0 if module.seal.ctr else TAG_BYTES) - 2,
        TAG: module.size - 1,
    }
    return module.offset + inside[region]


def data_keys_of(file: Anatomy) -> set[bytes]:
    return {file.footer_key, *(chunk.key for chunk in file.chunks if chunk.key)}
