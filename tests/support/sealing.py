"""Seals of tables whose files a test has put there by other ways than a sealing write."""

from __future__ import annotations

from pathlib import Path


def expected(table: str | Path, snapshots: str | Path | None = None) -> str:
    """Return the ``expect`` of a seal that takes the table as it is: its last version, or that it has none."""
    directory = Path(snapshots or Path(table, "_pme_snapshots"))
    versions = sorted(file.stem[-10:] for file in directory.glob("snapshot-*.json"))
    return str(int(versions[-1])) if versions else "unsealed"
