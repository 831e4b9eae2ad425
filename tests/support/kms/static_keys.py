"""The file of a static KMS, with master keys that follow from their names."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def write_keys(work: Path, names: Iterable[str]) -> Path:
    """Write the file with these master keys into a directory, and return its path."""
    keys = work / "keys"
    keys.write_text("\n".join(f"{name}={base64.b64encode(master_key(name)).decode()}" for name in names))
    return keys


def master_key(name: str) -> bytes:
    """Return the 16 bytes of a master key."""
    return name.ljust(16).encode()
