"""Files of checksums that Hadoop's local file system writes beside others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pme_parquet._storage import Found, Storage

_SUMS = b"crc\x00"


def is_sums(storage: Storage, found: Found) -> bool:
    """Whether it is what Hadoop's local file system writes beside each file: CRC32 of 512 bytes each."""
    if not (found.name.startswith(".") and found.name.endswith(".crc")):
        return False
    return storage.read(found.path, 0, len(_SUMS)) == _SUMS
