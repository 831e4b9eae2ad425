"""Random changes of bytes and of structures before they are sealed again, and files spliced from two others."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from tests.support.files import anatomy, forge, thrift
from tests.support.files.anatomy import BLOOMS, INDEXES, PAGES, Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.support.files.anatomy import Anatomy, Chunk, Module
    from tests.support.files.thrift import Struct

    Bytes = Callable[[Random, bytes], bytes]
    Sealed = Callable[[Random, Anatomy], bytes]

EDGES = (0, 1, -1, 127, 128, -128, 255, 2**15 - 1, 2**16, 2**24, 2**31 - 1, 2**31 - 16, -(2**31))
LONG_EDGES = (2**32 - 1, 2**32, 2**62, 2**63 - 1, -(2**63))
OCTETS = (0x00, 0xFF, 0x7F, 0x80, 0x01)
BLOCK = 64


def place(rng: Random, content: bytes) -> int:
    """Return an offset; every third is in the last bytes, where the lengths are."""
    if rng.random() < 1 / 3:
        return max(0, len(content) - 1 - rng.randrange(BLOCK))
    return rng.randrange(max(1, len(content)))


def block(rng: Random, content: bytes) -> tuple[int, int]:
    """Return the bounds of a part, mostly a short one."""
    start = place(rng, content)
    length = rng.randint(1, BLOCK) if rng.random() < 0.8 else rng.randint(1, max(1, len(content) // 2))
    return start, min(len(content), start + length)


def flip(rng: Random, content: bytes) -> bytes:
    at = place(rng, content)
    return forge.put(content, at, bytes([content[at] ^ 1 << rng.randrange(8)])) if content else content


def octet(rng: Random, content: bytes) -> bytes:
    return forge.put(content, place(rng, content), bytes([rng.choice(OCTETS)]))


def fixed(rng: Random, content: bytes) -> bytes:
    """Put a boundary value where there may be a length of four bytes."""
    edge = rng.choice((*EDGES, len(content), len(content) - 8, len(content) + 1)) & 0xFFFFFFFF
    return forge.put(content, place(rng, content), struct.pack("<I", edge))


def varint(rng: Random, content: bytes) -> bytes:
    """Put a boundary value in Thrift's encoding of integers in place of as many bytes or of one."""
    edge = rng.choice((*EDGES, *LONG_EDGES))
    piece = thrift.varint(edge & 0xFFFFFFFFFFFFFFFF) if rng.random() < 0.5 else thrift.zigzag(edge)
    at = place(rng, content)
    return content[:at] + piece + content[at + rng.choice((1, len(piece))) :]


def copy(rng: Random, content: bytes) -> bytes:
    start, end = block(rng, content)
    at = place(rng, content)
    return content[:at] + content[start:end] + content[at + end - start :]


def swap(rng: Random, content: bytes) -> bytes:
    first, middle, second, end = sorted((*block(rng, content), *block(rng, content)))
    return content[:first] + content[second:end] + content[middle:second] + content[first:middle] + content[end:]


def delete(rng: Random, content: bytes) -> bytes:
    start, end = block(rng, content)
    return content[:start] + content[end:]


def insert(rng: Random, content: bytes) -> bytes:
    start, end = block(rng, content)
    piece = rng.choice((content[start:end], bytes(end - start), rng.randbytes(end - start)))
    at = place(rng, content)
    return content[:at] + piece + content[at:]


def truncate(rng: Random, content: bytes) -> bytes:
    # Not to zero bytes: Spark leaves empty files out of a read in any format.
    return content[: max(1, place(rng, content))]


RAW: tuple[Bytes, ...] = (flip, flip, octet, octet, fixed, varint, copy, swap, delete, insert, truncate)


def raw(rng: Random, content: bytes) -> bytes:
    """Return the bytes with one change, rarely more."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        content = rng.choice(RAW)(rng, content)
    return content


def splice(rng: Random, content: bytes, other: bytes) -> bytes:
    """Return one file's start and another's end, or a file with a part of another."""
    at = place(rng, content)
    if rng.random() < 0.5:
        return content[:at] + other[place(rng, other) if rng.random() < 0.5 else min(at, len(other) - 1) :]
    start, end = block(rng, other)
    return content[:at] + other[start:end] + content[at + end - start :]


def bent(rng: Random, fields: Struct) -> Struct:
    """Return a struct with one change at any depth: a boundary number, a missing field, a list of another length."""
    if not fields:
        return fields
    at = rng.randrange(len(fields))
    one = fields[at]
    if rng.random() < 0.1:
        return fields[:at] + fields[at + 1 :]
    value: Any
    if one.type == thrift.STRUCT:
        value = bent(rng, one.value)
    elif one.type == thrift.LIST:
        value = bent_list(rng, *one.value)
    elif one.type == thrift.BINARY:
        value = raw(rng, one.value)
    elif one.type in {thrift.I16, thrift.I32, thrift.I64}:
        value = edge(rng, one.value)
    else:
        return fields[:at] + fields[at + 1 :]
    return [*fields[:at], one._replace(value=value), *fields[at + 1 :]]


def bent_list(rng: Random, element: int, values: list[object]) -> tuple[int, list[object]]:
    if not values or rng.random() < 0.2:
        return element, rng.choice(([], values[:-1], values + values[:1], values[::-1], values * 40))
    at = rng.randrange(len(values))
    [new] = bent(rng, [thrift.Field(1, element, values[at])]) or [thrift.Field(1, element, values[at])]
    return element, [*values[:at], new.value, *values[at + 1 :]]


def edge(rng: Random, value: int) -> int:
    return rng.choice((*EDGES, *LONG_EDGES, value + 1, value - 1, value * 2))


def structure(rng: Random, plain: bytes) -> bytes:
    """Return Thrift with a change that can still be parsed, or with a changed byte."""
    if rng.random() < 0.6:
        return thrift.write_struct(bent(rng, thrift.Reader(plain).struct()))
    return raw(rng, plain)


def footer(rng: Random, file: Anatomy) -> bytes:
    return forge.with_raw_footer(file, structure(rng, thrift.write_struct(file.footer)))


def metadata(rng: Random, file: Anatomy) -> bytes:
    """Change the footer's metadata of one column, in its encrypted metadata if there are any."""
    chunk = rng.choice(file.chunks)
    if not thrift.get(chunk.fields, anatomy.ENCRYPTED_METADATA):
        return forge.with_metadata(file, chunk, lambda fields: bent(rng, fields))
    new = forge.raw_metadata(file, chunk, structure(rng, thrift.write_struct(chunk.metadata)))
    return forge.with_footer(file, forge.in_chunk(chunk, new))


def module(rng: Random, file: Anatomy) -> bytes:
    """Change a page, a page header, an index or a Bloom filter."""
    chunk = rng.choice([one for one in file.chunks if one.key] or file.chunks)
    kind = rng.choice(sorted({one.kind for one in chunk.modules}))
    one = rng.choice(chunk.of(kind))
    plain = one.seal.open(file.bytes_of(one))
    if kind in PAGES:
        change = forge.with_page if rng.random() < 0.8 else forge.with_module
        return change(file, chunk, one, raw(rng, plain))
    if kind in INDEXES:
        return forge.with_index(file, chunk, one, structure(rng, plain))
    if kind in BLOOMS:
        return bloom(rng, file, chunk, one)
    return forge.with_module(file, chunk, one, structure(rng, plain))


def bloom(rng: Random, file: Anatomy, chunk: Chunk, changed: Module) -> bytes:
    parts = []
    for one in (*chunk.of(Kind.BLOOM_HEADER), *chunk.of(Kind.BLOOM_BITSET)):
        plain = one.seal.open(file.bytes_of(one))
        change = structure if one.kind == Kind.BLOOM_HEADER else raw
        parts.append(change(rng, plain) if one == changed else plain)
    return forge.with_bloom(file, chunk, *parts)


SEALED: tuple[Sealed, ...] = (footer, metadata, module, module, module)
