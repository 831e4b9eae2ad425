"""Encrypts a plaintext Parquet file, module by module, after the specification (Encryption.md §4.4, §5).

Nonces and keys are digests of names, so that the same file comes out each time. **Never encrypt data with this.**
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.support.files import anatomy, bend, thrift
from tests.support.files.anatomy import NO_PAGE, Kind, Module, counter
from tests.support.files.bend import NONCE_BYTES, TAG_BYTES
from tests.support.files.forge import put_int

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.files.thrift import Struct

BINARY, I16, I32, I64, LIST, STRUCT, TRUE = (
    thrift.BINARY,
    thrift.I16,
    thrift.I32,
    thrift.I64,
    thrift.LIST,
    thrift.STRUCT,
    thrift.TRUE,
)
STATISTICS = (12, 16)
CHUNK_OFFSET, GROUP_OFFSET, GROUP_COMPRESSED = 2, 5, 6
V2_HEADER, V2_LEVELS = 8, (5, 6)


def digest(name: str, size: int) -> bytes:
    """Return bytes made of a name."""
    return hashlib.sha256(f"pme-parquet vectors: {name}".encode()).digest()[:size]


def text_key(name: str, bits: int) -> bytes:
    """Return a key of printable characters, since DuckDB takes some keys only as text."""
    return digest(name, 32).hex()[: bits // 8].encode()


def wrap(key: bytes, by: bytes, aad: bytes, name: str) -> str:
    """Wrap as ``KeyToolkit.encryptKeyLocally`` does: base64(nonce, ciphertext, tag)."""
    nonce = digest(f"nonce of {name}", NONCE_BYTES)
    return base64.b64encode(nonce + AESGCM(by).encrypt(nonce, key, aad)).decode()


@dataclass(frozen=True)
class Key:
    """A data key, and what the file says of it."""

    data: bytes
    metadata: bytes | None = None


@dataclass(frozen=True)
class How:
    """How a file is encrypted. Columns that are not named have the footer's key, or none."""

    name: str
    footer: Key
    columns: dict[str, Key] = field(default_factory=dict)
    plaintext: tuple[str, ...] = ()
    ctr: bool = False
    signed: bool = False
    prefix: bytes | None = None
    stored: bool = True
    unique: bytes = b""
    clear_levels: bool = False
    # Changes what the holder of the footer's key can change.
    forged: Callable[[Struct], Struct] | None = None


@dataclass
class Sealed:
    """An encrypted file, and where its modules are."""

    content: bytes
    modules: list[Module]
    footer_at: int

    def of(self, kind: Kind, group: int = 0, column: int = 0, page: int | None = None) -> Module:
        """Return one module; of pages, the first unless another is named."""
        found = [one for one in self.modules if (one.kind, one.row_group, one.column) == (kind, group, column)]
        return found[0] if page is None else next(one for one in found if one.page == page)

    def bytes_of(self, module: Module) -> bytes:
        return self.content[module.offset : module.end]


class Sealer:
    """Encrypts one file."""

    def __init__(self, plain: bytes, how: How) -> None:
        self.plain = plain
        self.how = how
        self.out = bytearray(b"PAR1" if how.signed else b"PARE")
        self.modules: list[Module] = []
        self.nonces = 0
        self.unique = how.unique or digest(f"file {how.name}", 8)
        self.aad = (how.prefix or b"") + self.unique

    def nonce(self) -> bytes:
        self.nonces += 1
        return digest(f"nonce {self.nonces} of {self.how.name}", NONCE_BYTES)

    def seal(self, key: bytes, kind: Kind, text: bytes, *place: int) -> bytes:
        """Return a module with its length; ``place`` is row group, column and page."""
        nonce = self.nonce()
        if self.how.ctr and kind in anatomy.PAGES:
            sealed = counter(key, nonce, text)
        else:
            sealed = AESGCM(key).encrypt(nonce, text, self.aad + bytes([kind]) + struct.pack(f"<{len(place)}h", *place))
        return struct.pack("<I", NONCE_BYTES + len(sealed)) + nonce + sealed

    def append(self, kind: Kind, key: bytes | None, text: bytes, group: int, column: int, page: int = NO_PAGE) -> int:
        """Append a module, and return its size; without a key, it stays readable."""
        place = (group, column) if page == NO_PAGE else (group, column, page)
        piece = text if key is None else self.seal(key, kind, text, *place)
        self.put(kind, piece, group, column, page)
        return len(piece)

    def put(self, kind: Kind, piece: bytes, group: int, column: int, page: int = NO_PAGE) -> None:
        seal = anatomy.Seal(None, b"", ctr=self.how.ctr and kind in anatomy.PAGES)
        self.modules.append(Module(kind, group, column, page, len(self.out), len(piece), seal))
        self.out += piece

    def key_of(self, path: str) -> Key | None:
        return None if path in self.how.plaintext else self.how.columns.get(path, self.how.footer)

    def file(self) -> Sealed:
        """Return the encrypted file."""
        at = bend.footer_start(self.plain)
        footer = thrift.Reader(self.plain[at:]).struct()
        groups = [self.group(number, group) for number, group in enumerate(thrift.get(footer, anatomy.ROW_GROUPS)[1])]
        footer = thrift.put(footer, anatomy.ROW_GROUPS, LIST, (STRUCT, groups))
        footer = self.how.forged(footer) if self.how.forged else footer
        start = len(self.out)
        self.footer(footer)
        return Sealed(bytes(self.out), self.modules, start)

    def group(self, number: int, group: Struct) -> Struct:
        """Write a row group: first its pages, then Bloom filters, then indexes."""
        chunks = list(enumerate(thrift.get(group, anatomy.COLUMNS)[1]))
        start = len(self.out)
        paged = [self.pages(number, column, chunk) for column, chunk in chunks]
        size = len(self.out) - start
        bloomed = [self.bloom(number, column, *one) for column, one in enumerate(paged)]
        indexed = [self.indexes(number, column, *one) for column, one in enumerate(bloomed)]
        sealed = [self.chunk(number, column, *one) for column, one in enumerate(indexed)]
        group = thrift.put(group, anatomy.COLUMNS, LIST, (STRUCT, sealed))
        group = thrift.put(group, GROUP_OFFSET, I64, start)
        group = thrift.put(group, GROUP_COMPRESSED, I64, size)
        return thrift.put(group, anatomy.ORDINAL, I16, number)

    def pages(self, group: int, column: int, chunk: Struct) -> tuple[Struct, Struct, list[tuple[int, int]]]:
        """Write a chunk's pages; return the chunk, its metadata, and offset and size of each data page."""
        meta: Struct = thrift.get(chunk, anatomy.META_DATA)
        key, start, page = self.key(meta), len(self.out), 0
        at = anatomy.chunk_start(meta)
        end = at + thrift.get(meta, anatomy.TOTAL_SIZE)
        places = []
        while at < end:
            reader = thrift.Reader(self.plain[at:])
            header = reader.struct()
            size = thrift.get(header, anatomy.COMPRESSED_SIZE)
            body = self.plain[at + reader.at : at + reader.at + size]
            at += reader.at + size
            is_dictionary = thrift.get(header, anatomy.PAGE_TYPE) == anatomy.DICTIONARY_TYPE
            number = NO_PAGE if is_dictionary else page
            first = len(self.out)
            self.page(key, header, body, group, column, number)
            moved = anatomy.DICTIONARY_PAGE if is_dictionary else anatomy.DATA_PAGE
            if is_dictionary or page == 0:
                meta = thrift.put(meta, moved, I64, first)
            if not is_dictionary:
                places.append((first, len(self.out) - first))
                page += 1
        meta = thrift.put(meta, anatomy.TOTAL_SIZE, I64, len(self.out) - start)
        return chunk, meta, places

    def page(self, key: bytes | None, header: Struct, body: bytes, group: int, column: int, number: int) -> None:
        levels = thrift.get(header, V2_HEADER) if self.how.clear_levels else None
        clear = sum(thrift.get(levels, one) for one in V2_LEVELS) if levels else 0
        kinds = (Kind.DICTIONARY_PAGE_HEADER, Kind.DICTIONARY_PAGE)
        kinds = kinds if number == NO_PAGE else (Kind.DATA_PAGE_HEADER, Kind.DATA_PAGE)
        place = (group, column) if number == NO_PAGE else (group, column, number)
        piece = body if key is None else body[:clear] + self.seal(key, kinds[1], body[clear:], *place)
        header = put_int(header, anatomy.COMPRESSED_SIZE, len(piece))
        self.append(kinds[0], key, thrift.write_struct(header), group, column, number)
        self.put(kinds[1], piece, group, column, number)

    def key(self, meta: Struct) -> bytes | None:
        key = self.key_of(path_of(meta))
        return key.data if key else None

    def bloom(self, group: int, column: int, chunk: Struct, meta: Struct, places: list[Any]) -> tuple[Any, ...]:
        at = thrift.get(meta, anatomy.BLOOM_OFFSET)
        if at is not None:
            reader = thrift.Reader(self.plain[at:])
            bits = thrift.get(reader.struct(), anatomy.BLOOM_BYTES)
            start, key = len(self.out), self.key(meta)
            self.append(Kind.BLOOM_HEADER, key, self.plain[at : at + reader.at], group, column)
            self.append(Kind.BLOOM_BITSET, key, self.plain[at + reader.at :][:bits], group, column)
            meta = put_int(put_int(meta, anatomy.BLOOM_OFFSET, start), anatomy.BLOOM_LENGTH, len(self.out) - start)
        return chunk, meta, places

    def indexes(self, group: int, column: int, chunk: Struct, meta: Struct, places: list[Any]) -> tuple[Any, ...]:
        key = self.key(meta)
        places_of = {Kind.COLUMN_INDEX: anatomy.COLUMN_INDEX, Kind.OFFSET_INDEX: anatomy.OFFSET_INDEX}
        for kind, (offset, length) in places_of.items():
            at = thrift.get(chunk, offset)
            if at is None:
                continue
            text = self.plain[at : at + thrift.get(chunk, length)]
            if kind == Kind.OFFSET_INDEX:
                index = thrift.Reader(text).struct()
                pages = zip(thrift.get(index, 1)[1], places, strict=True)
                moved = [put_int(put_int(page, 1, first), 2, size) for page, (first, size) in pages]
                text = thrift.write_struct(thrift.put(index, 1, LIST, (STRUCT, moved)))
            start = len(self.out)
            self.append(kind, key, text, group, column)
            chunk = put_int(put_int(chunk, offset, start), length, len(self.out) - start)
        return chunk, meta

    def chunk(self, group: int, column: int, chunk: Struct, meta: Struct) -> Struct:
        """Return the ColumnChunk, with what is encrypted of its metadata (§5.3)."""
        path, how = path_of(meta), self.how
        key = self.key_of(path)
        chunk = thrift.put(chunk, CHUNK_OFFSET, I64, 0)
        if key is None:
            return thrift.put(chunk, anatomy.META_DATA, STRUCT, meta)
        own = path in how.columns
        named = [thrift.Field(1, LIST, (BINARY, [part.encode() for part in path.split(".")]))]
        if own and key.metadata is not None:
            named.append(thrift.Field(2, BINARY, key.metadata))
        kind = anatomy.COLUMN_KEY_METADATA if own else anatomy.WITH_FOOTER_KEY
        crypto = [thrift.Field(kind, STRUCT, named if own else [])]
        chunk = thrift.put(chunk, anatomy.CRYPTO_METADATA, STRUCT, crypto)
        if own or how.signed:
            sealed = self.seal(key.data, Kind.COLUMN_METADATA, thrift.write_struct(meta), group, column)
            chunk = thrift.put(chunk, anatomy.ENCRYPTED_METADATA, BINARY, sealed)
            chunk = thrift.drop(chunk, anatomy.META_DATA)
            meta = thrift.drop(meta, *STATISTICS)
        return thrift.put(chunk, anatomy.META_DATA, STRUCT, meta) if how.signed or not own else chunk

    def footer(self, footer: Struct) -> None:
        how, start = self.how, len(self.out)
        gcm = [] if how.prefix is None or not how.stored else [thrift.Field(bend.AAD_PREFIX, BINARY, how.prefix)]
        gcm.append(thrift.Field(bend.AAD_FILE_UNIQUE, BINARY, self.unique))
        if how.prefix is not None and not how.stored:
            gcm.append(thrift.Field(3, TRUE, True))  # noqa: FBT003 -- a Thrift value
        algorithm = [thrift.Field(bend.CTR if how.ctr else bend.GCM, STRUCT, gcm)]
        metadata, key = how.footer.metadata, how.footer.data
        if how.signed:
            footer = thrift.put(footer, 8, STRUCT, algorithm)
            footer = footer if metadata is None else thrift.put(footer, 9, BINARY, metadata)
            text = thrift.write_struct(footer)
            sealed = self.seal(key, Kind.FOOTER, text)[bend.LENGTH_BYTES :]
            self.out += text
            self.put(Kind.FOOTER, sealed[:NONCE_BYTES] + sealed[-TAG_BYTES:], NO_PAGE, NO_PAGE)
        else:
            crypto = [thrift.Field(bend.ALGORITHM, STRUCT, algorithm)]
            crypto += [] if metadata is None else [thrift.Field(bend.KEY_METADATA, BINARY, metadata)]
            self.out += thrift.write_struct(crypto)
            self.put(Kind.FOOTER, self.seal(key, Kind.FOOTER, thrift.write_struct(footer)), NO_PAGE, NO_PAGE)
        self.out += struct.pack("<I", len(self.out) - start) + (b"PAR1" if how.signed else b"PARE")


def path_of(meta: Struct) -> str:
    """Return the dotted path of a column."""
    return ".".join(part.decode() for part in thrift.get(meta, anatomy.PATH)[1])


def material(key: bytes, master: str, masters: dict[str, bytes], form: str, *, footer: bool) -> dict[str, Any]:
    """Return key material as parquet-java's key tools write it: ``form`` says whether keys are wrapped twice."""
    double = "double" in form.lower()
    fields: dict[str, Any] = {
        "keyMaterialType": "PKMT1",
        "internalStorage": "external" not in form,
        "isFooterKey": footer,
    }
    if footer:
        fields |= {"kmsInstanceID": "DEFAULT", "kmsInstanceURL": "DEFAULT"}
    fields |= {"masterKeyID": master, "doubleWrapping": double}
    if double:
        kek, kek_id = digest(f"kek of {master}", 16), digest(f"id of kek of {master}", 16)
        fields["keyEncryptionKeyID"] = base64.b64encode(kek_id).decode()
        fields["wrappedKEK"] = wrap(kek, masters[master], master.encode(), f"kek {master}")
        fields["wrappedDEK"] = wrap(key, kek, kek_id, f"dek {key.hex()}")
    else:
        fields["wrappedDEK"] = wrap(key, masters[master], master.encode(), f"dek {key.hex()}")
    return fields


def reference(name: str) -> bytes:
    """Return key metadata that name an entry of the file of key material."""
    return json.dumps({"keyMaterialType": "PKMT1", "internalStorage": False, "keyReference": name}).encode()
