"""Decompresses a structure of an ORC file, which is stored in chunks with a header of three bytes each."""

from __future__ import annotations

from pme_parquet._orc.codecs import decoder
from pme_parquet._orc.wire import LongerError, MalformedError

_HEADER_BYTES = 3
# Headers have 23 bits for a length.
MAX_BLOCK_BYTES = 8 * 1024 * 1024
# Writers fill each chunk of a footer, so many chunks mean that somebody wants to keep a reader busy.
_MAX_CHUNKS = 64 * 1024


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
