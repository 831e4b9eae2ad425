"""The tail of a file: its footer as stored, before any of it is trusted (specification §5.3 to §5.5)."""

from __future__ import annotations

import threading
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from pme_parquet._inspect import problems
from pme_parquet._inspect.footers import LENGTH_BYTES
from pme_parquet._orc.tail import ends_as_orc
from pme_parquet._storage import not_read
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pme_parquet._storage import Found, Storage

MAGIC_BYTES = 4
TAIL_BYTES = LENGTH_BYTES + MAGIC_BYTES
MIN_FILE_BYTES = MAGIC_BYTES + TAIL_BYTES
ENCRYPTED_FOOTER, READABLE_FOOTER = b"PARE", b"PAR1"
# The first read gets most footers.
FIRST_READ_BYTES = 64 * 1024
# Python takes minutes for a longer one.
MAX_FOOTER_BYTES = 16 * 1024 * 1024

LARGE = threading.RLock()
"""Held by whoever has something large in memory, so that there is one of it."""


def last_bytes(storage: Storage, found: Found) -> bytes:
    """The end of a file, which has most footers in it.

    Raises:
        PmeError: the file is too short for a footer, or cannot be read.
    """
    if found.link:
        raise problems.not_followed(found.shown)
    if not found.regular:
        raise problems.damaged(found.shown, "it is not a regular file")
    if found.bytes < MIN_FILE_BYTES:
        raise problems.damaged(found.shown, f"it is {found.bytes} bytes long")
    return bytes_of(storage, found, max(0, found.bytes - FIRST_READ_BYTES), found.bytes)


def is_data(storage: Storage, found: Found) -> bool:
    """Whether a file ends as Parquet or ORC does, which is all that readers look at. True if it cannot be read."""
    if not found.regular:
        return True
    if found.bytes < MIN_FILE_BYTES:
        return False
    try:
        end = bytes_of(storage, found, found.bytes - MIN_FILE_BYTES, found.bytes)
    except PmeError:
        return True
    return end[-MAGIC_BYTES:] in {ENCRYPTED_FOOTER, READABLE_FOOTER} or ends_as_orc(end)


@contextmanager
def footer_of(storage: Storage, found: Found, known: bytes | None = None) -> Iterator[tuple[bool, bytes]]:
    """Whether a file's footer is encrypted, and the footer's bytes.

    Args:
        storage: where the file is.
        found: the file.
        known: its last bytes, if they were read before.
    """
    tail = last_bytes(storage, found) if known is None else known
    length = _footer_length(found, tail)
    encrypted = tail.endswith(ENCRYPTED_FOOTER)
    missing = length + TAIL_BYTES - len(tail)
    with LARGE if missing > 0 else nullcontext():
        if missing > 0:
            end = found.bytes - len(tail)
            tail = bytes_of(storage, found, end - missing, end) + tail
        yield encrypted, tail[-TAIL_BYTES - length : -TAIL_BYTES]


def _footer_length(found: Found, tail: bytes) -> int:
    if tail[-MAGIC_BYTES:] not in {ENCRYPTED_FOOTER, READABLE_FOOTER}:
        raise problems.damaged(found.shown, "it does not end in PAR1 or PARE")
    length = int.from_bytes(tail[-TAIL_BYTES:-MAGIC_BYTES], "little")
    if not 0 < length <= found.bytes - MIN_FILE_BYTES:
        raise problems.damaged(
            found.shown, f"its footer cannot be {length} bytes long in a file of {found.bytes} bytes"
        )
    if length > MAX_FOOTER_BYTES:
        raise problems.too_long(found.shown, length, MAX_FOOTER_BYTES)
    return length


def bytes_of(storage: Storage, found: Found, start: int, end: int) -> bytes:
    """Some bytes of a file.

    Raises:
        PmeError: the storage does not return them.
    """
    try:
        content = storage.read(found.path, start, end)
    except Exception as failed:
        raise not_read(found.shown, failed) from failed
    if len(content) != end - start:
        why = f"only {len(content)} of {end - start} bytes were read"
        raise problems.damaged(found.shown, why)
    return content
