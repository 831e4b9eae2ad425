"""Alter an encrypted Parquet file: its footer's clear parts, its modules, its length.

An encrypted footer's file ends with FileCryptoMetaData, the footer module, their common length and ``PARE``; a signed
plaintext footer's file with FileMetaData, nonce 12 and tag 16, their common length and ``PAR1`` (specification §5).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tests.support.files import thrift

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.files.thrift import Struct

MAGIC_BYTES = LENGTH_BYTES = 4
NONCE_BYTES, TAG_BYTES = 12, 16
SIGNATURE_BYTES = NONCE_BYTES + TAG_BYTES
TAIL_BYTES = LENGTH_BYTES + MAGIC_BYTES

# Fields of FileCryptoMetaData, EncryptionAlgorithm and AesGcmV1 in parquet.thrift.
ALGORITHM, KEY_METADATA = 1, 2
GCM, CTR = 1, 2
AAD_PREFIX, AAD_FILE_UNIQUE = 1, 2


def replace(path: Path, content: bytes) -> None:
    """Write the file again, and delete the checksum that Hadoop's local file system keeps beside it."""
    path.write_bytes(content)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def footer_start(content: bytes) -> int:
    """Return the offset of the footer, including its crypto metadata."""
    [length] = struct.unpack("<I", content[-TAIL_BYTES:-MAGIC_BYTES])
    return len(content) - TAIL_BYTES - int(length)


def with_footer(content: bytes, footer: bytes) -> bytes:
    """Return the file with another footer."""
    return content[: footer_start(content)] + footer + struct.pack("<I", len(footer)) + content[-MAGIC_BYTES:]


def crypto_metadata(path: Path, change: Callable[[Struct], Struct]) -> None:
    """Change the FileCryptoMetaData of a file with an encrypted footer."""
    content = path.read_bytes()
    footer = content[footer_start(content) : -TAIL_BYTES]
    reader = thrift.Reader(footer)
    changed = thrift.write_struct(change(reader.struct()))
    replace(path, with_footer(content, changed + footer[reader.at :]))


def flip(path: Path, at: int) -> None:
    """Flip one bit of the byte at an offset; a negative one counts from the end."""
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    replace(path, bytes(content))
