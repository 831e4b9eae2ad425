"""Search every byte of every file under a directory for values that ought to be encrypted.

Hidden files, ``_temporary``, ``_KEY_MATERIAL*``, ``_metadata`` and ``.crc`` files are files like any other here:
a leftover that nobody reads is still on the disk.
"""

from __future__ import annotations

import json
import os
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import pme_parquet as pme

MAGIC_LENGTH = 4
ENCRYPTED_FOOTER = b"PARE"


class Find(NamedTuple):
    """One canary in one file."""

    file: str
    canary: str | int
    offset: int


def needle(canary: str | int) -> bytes:
    """Return the canary as Parquet stores it in plain encoding: UTF-8, or 8 bytes little-endian."""
    if isinstance(canary, str):
        return canary.encode()
    return struct.pack("<q", canary)


def files_under(root: Path | str) -> Iterator[Path]:
    """Yield every regular file under root, hidden and temporary ones included."""
    from pathlib import Path as RealPath

    for directory, _, names in os.walk(root):
        for name in sorted(names):
            yield RealPath(directory) / name


def data_files(root: Path | str) -> list[Path]:
    """Return the Parquet files that a reader would see, in order."""
    return sorted(
        path
        for path in files_under(root)
        if path.suffix == ".parquet" and not any(part.startswith(("_", ".")) for part in path.relative_to(root).parts)
    )


def find_canaries(root: Path | str, canaries: Iterable[str | int]) -> list[Find]:
    """Return where any of the canaries is readable: in the bytes or in the names of the files under root."""
    wanted = [(canary, needle(canary)) for canary in canaries]
    found = []
    for path in files_under(root):
        content = path.read_bytes()
        name = os.fsencode(os.path.relpath(path, root))
        for canary, raw in wanted:
            if (offset := content.find(raw)) >= 0:
                found.append(Find(str(path), canary, offset))
            if isinstance(canary, str) and raw in name:
                found.append(Find(str(path), canary, -1))
    return found


def assert_no_canaries(root: Path | str, canaries: Iterable[str | int]) -> None:
    """Fail if a canary is readable under root, or if there is no Parquet file that could contain one."""
    assert data_files(root), f"nothing was written under {root}, so nothing was searched"
    found = find_canaries(root, canaries)
    assert not found, f"{len(found)} readable canaries, the first: {found[0]}"


def assert_encrypted_footers(root: Path | str) -> None:
    """Fail unless every Parquet file under root begins and ends with ``PARE``."""
    files = data_files(root)
    assert files, f"no Parquet file under {root}"
    for path in files:
        content = path.read_bytes()
        assert content[:MAGIC_LENGTH] == ENCRYPTED_FOOTER, path
        assert content[-MAGIC_LENGTH:] == ENCRYPTED_FOOTER, path


def kinds(found: pme.hudi.HudiCheck | pme.iceberg.IcebergCheck) -> list[tuple[str, str, str]]:
    """Return what was found, and fail if a result has a value of the table."""
    assert "CANARY" not in json.dumps(found.to_dict())
    assert "CANARY" not in str(found)
    return [(one.severity, one.kind, one.column) for one in found.findings]
