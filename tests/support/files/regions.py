"""The places of length, nonce, ciphertext and tag in a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.files.bend import LENGTH_BYTES, NONCE_BYTES, TAG_BYTES

if TYPE_CHECKING:
    from tests.support.files.anatomy import Module

LENGTH, NONCE, CIPHERTEXT, TAG = "length", "nonce", "ciphertext", "tag"


REGIONS = (LENGTH, NONCE, CIPHERTEXT, TAG)


def place(module: Module, region: str) -> int:
    """Return the offset of a byte in a part of the module."""
    inside = {
        LENGTH: 0,
        NONCE: LENGTH_BYTES + NONCE_BYTES // 2,
        # The last bytes of a page are values; the first ones may be levels.
        CIPHERTEXT: module.size - (0 if module.seal.ctr else TAG_BYTES) - 2,
        TAG: module.size - 1,
    }
    return module.offset + inside[region]
