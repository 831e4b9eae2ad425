"""Decompresses a structure of an ORC file, which is stored in chunks with a header of three bytes each.

Python does that without a package where it can: zlib, snappy, lz4. Each decoder refuses a chunk as soon as its content
exceeds the file's block size.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from pme_parquet._orc.wire import LongerError, MalformedError, UnknownError

if TYPE_CHECKING:
    from collections.abc import Callable

# As the format numbers them.
KINDS = ("NONE", "ZLIB", "SNAPPY", "LZO", "LZ4", "ZSTD", "BROTLI")
_EARLY = "a compressed chunk ends too early"
_LONG = "a chunk is longer than the block size of the file"
_BEFORE = "a compressed chunk refers to bytes before it"
_HEADER_BYTES = 3
# Headers have 23 bits for a length.
MAX_BLOCK_BYTES = 8 * 1024 * 1024
# Writers fill each chunk of a footer, so many chunks mean that somebody wants to keep a reader busy.
_MAX_CHUNKS = 64 * 1024


def decoder(kind: str) -> Callable[[bytes, int], bytes]:
    """The function that decompresses a chunk to at most so many bytes.

    Raises:
        UnknownError: Python has no decoder, and neither has an installed package.
    """
    if kind in _OWN:
        return _OWN[kind]
    if kind == "ZSTD":
        return _zstd()
    raise UnknownError(f"its footer is compressed with {kind}, which cannot be decompressed in Python")


def _zlib(content: bytes, most: int) -> bytes:
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        found = inflate.decompress(content, most + 1)
    except zlib.error as failed:
        raise MalformedError("a chunk is not valid zlib data") from failed
    if len(found) > most:
        raise MalformedError(_LONG)
    if not inflate.eof:
        raise MalformedError(_EARLY)
    return found


def _snappy(content: bytes, most: int) -> bytes:
    length, at = _snappy_length(content)
    if length > most:
        raise MalformedError(_LONG)
    out = bytearray()
    while at < len(content):
        tag = content[at]
        kind, at = tag & 3, at + 1
        if kind == 0:
            count = tag >> 2
            if count >= 60:  # noqa: PLR2004 the length follows in as many bytes as this exceeds 59
                wide = count - 59
                count, at = int.from_bytes(_taken(content, at, wide), "little"), at + wide
            out += _taken(content, at, count + 1)
            at += count + 1
        else:
            width = (1, 2, 4)[kind - 1]
            offset = int.from_bytes(_taken(content, at, width), "little")
            at += width
            if kind == 1:
                offset |= (tag >> 5) << 8
            _repeat(out, offset, 4 + ((tag >> 2) & 7) if kind == 1 else 1 + (tag >> 2))
        if len(out) > length:
            raise MalformedError("a chunk is longer than it states")
    if len(out) != length:
        raise MalformedError(_EARLY)
    return bytes(out)


def _snappy_length(content: bytes) -> tuple[int, int]:
    length = 0
    for at, byte in enumerate(content[:5]):
        length |= (byte & 0x7F) << (7 * at)
        if byte < 0x80:  # noqa: PLR2004 the last byte of a number
            return length, at + 1
    raise MalformedError(_EARLY)


def _lz4(content: bytes, most: int) -> bytes:
    out = bytearray()
    at = 0
    while True:
        token = _taken(content, at, 1)[0]
        literals, at = _lz4_length(content, at + 1, token >> 4)
        out += _taken(content, at, literals)
        at += literals
        if len(out) > most:
            raise MalformedError(_LONG)
        if at == len(content):  # the last sequence has only literals
            return bytes(out)
        offset = int.from_bytes(_taken(content, at, 2), "little")
        length, at = _lz4_length(content, at + 2, token & 15)
        if len(out) + length + 4 > most:
            raise MalformedError(_LONG)
        _repeat(out, offset, length + 4)


def _lz4_length(content: bytes, at: int, first: int) -> tuple[int, int]:
    length = first
    if first == 15:  # noqa: PLR2004 more bytes follow
        while True:
            more = _taken(content, at, 1)[0]
            length, at = length + more, at + 1
            if more != 255:  # noqa: PLR2004 as above
                break
    return length, at


def _taken(content: bytes, at: int, count: int) -> bytes:
    if count > len(content) - at:
        raise MalformedError(_EARLY)
    return content[at : at + count]


def _repeat(out: bytearray, offset: int, count: int) -> None:
    """Appends bytes from further back; they may overlap with what is appended."""
    if not 0 < offset <= len(out):
        raise MalformedError(_BEFORE)
    start = len(out) - offset
    part = out[start : start + count]
    out += (part * (count // len(part) + 1))[:count]


def _zstd() -> Callable[[bytes, int], bytes]:
    """The decoder of Python 3.14, or of a package: each has another name for the same."""
    for find in (_zstd_of_python, _zstd_of_zstandard, _zstd_of_pyarrow):
        try:
            return find()
        except ImportError:  # noqa: PERF203 there are three
            continue
    raise UnknownError(
        "its footer is compressed with ZSTD, which needs Python 3.14, or one of the packages zstandard and pyarrow"
    )


def _zstd_of_python() -> Callable[[bytes, int], bytes]:
    from importlib import import_module  # noqa: PLC0415 only for such files

    zstd = import_module("compression.zstd")

    def decompress(content: bytes, most: int) -> bytes:
        inflate = zstd.ZstdDecompressor()
        return _bounded(lambda: inflate.decompress(content, most + 1), most, lambda: inflate.eof)

    return decompress


def _zstd_of_zstandard() -> Callable[[bytes, int], bytes]:
    from io import BytesIO  # noqa: PLC0415 as above

    import zstandard  # noqa: PLC0415 as above

    def decompress(content: bytes, most: int) -> bytes:
        # A window is allocated before any content is known; no chunk of ORC needs one above the format's block size.
        reader = zstandard.ZstdDecompressor(max_window_size=1 << 23).stream_reader(BytesIO(content))
        return _bounded(lambda: reader.read(most + 1), most, lambda: True)

    return decompress


def _zstd_of_pyarrow() -> Callable[[bytes, int], bytes]:
    import pyarrow as pa  # noqa: PLC0415 as above

    def decompress(content: bytes, most: int) -> bytes:
        stream = pa.CompressedInputStream(pa.BufferReader(content), "zstd")
        return _bounded(lambda: stream.read(most + 1), most, lambda: True)

    return decompress


def _bounded(read: Callable[[], bytes], most: int, ended: Callable[[], bool]) -> bytes:
    try:
        found = read()
    except Exception as failed:
        raise MalformedError("a chunk is not valid ZSTD data") from failed
    if len(found) > most:
        raise MalformedError(_LONG)
    if not ended():
        raise MalformedError(_EARLY)
    return found


_OWN: dict[str, Callable[[bytes, int], bytes]] = {"ZLIB": _zlib, "SNAPPY": _snappy, "LZ4": _lz4}


def decompressed(stored: bytes, kind: str, block: int, most: int) -> bytes:
    """The content of a structure.

    Args:
        stored: as it is in the file.
        kind: the compression, as ORC names it.
        block: the most bytes of a chunk.
        most: the most bytes of the structure.

    Raises:
        LongerError: it is longer.
        MalformedError: it is not compressed in this way.
        UnknownError: Python cannot decompress it.
    """
    if len(stored) > most:
        raise LongerError(f"it has more than {most} bytes")
    if kind == "NONE":
        return stored
    decompress = decoder(kind)
    parts: list[bytes] = []
    at = length = 0
    while at < len(stored):
        if len(parts) == _MAX_CHUNKS:
            raise MalformedError(f"it has more than {_MAX_CHUNKS} chunks")
        size, is_original = _header(stored, at)
        at += _HEADER_BYTES
        if size > len(stored) - at:
            raise MalformedError(f"the length of a chunk is {size} bytes, but {len(stored) - at} bytes are left")
        if size > block:
            raise MalformedError(f"a chunk of {size} bytes exceeds the block size")
        part = stored[at : at + size]
        parts.append(part if is_original else decompress(part, block))
        length += len(parts[-1])
        if length > most:
            raise LongerError(f"it has more than {most} bytes decompressed")
        at += size
    return b"".join(parts)


def _header(stored: bytes, at: int) -> tuple[int, bool]:
    if len(stored) - at < _HEADER_BYTES:
        raise MalformedError("the data ends too early")
    header = int.from_bytes(stored[at : at + _HEADER_BYTES], "little")
    return header >> 1, bool(header & 1)
