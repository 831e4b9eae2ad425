"""What the manifest of a snapshot states, field by field."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SnapshotColumn:
    """A leaf column: its path in Parquet, and its master key; None if it is plaintext."""

    column: tuple[str, ...]
    key: str | None


@dataclass(frozen=True, slots=True)
class SnapshotPolicy:
    """How the files of a version are encrypted.

    Attributes:
        footer_key: the master key of footers; None for a table without encryption.
        columns: every leaf column with its key.
    """

    footer_key: str | None
    columns: tuple[SnapshotColumn, ...]

    @property
    def encrypted(self) -> bool:
        """Whether the files are encrypted."""
        return self.footer_key is not None


@dataclass(frozen=True, slots=True)
class SnapshotPart:
    """A file of the list of data files: its name, length and SHA-256, and the range of paths in it."""

    name: str
    length: int
    sha256: str
    files: int
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class SnapshotIndex:
    """An index: its kind (`minMax`), its column, the field of the parts that has it, and the column's type."""

    kind: str
    column: tuple[str, ...]
    field: str
    type: str


@dataclass(frozen=True, slots=True)
class SnapshotVersion:
    """What one version of a sealed table states. No seal was checked.

    Attributes:
        version: its number, from 1.
        digest: SHA-256 of its manifest, in hexadecimal. A read accepts it as `snapshot`.
        previous: digest of the version before it; None for version 1.
        created: when it was sealed, in UTC.
        creator: the name of the user who sealed it.
        files: number of data files.
        rows: number of rows in them.
        bytes: their size.
        algorithm: of the seal: `Ed25519`, `SHA256withECDSA` or `HMAC-SHA256`.
        key: the id of the signing key or, for HMAC, of the master key.
        policy: which columns are under which keys.
        partition_columns: the columns that the table is partitioned by.
        indexes: the indexes for skipping files.
        location: the path of the table's directory, without scheme and authority.
        table: a random id, which is the same in all versions of a table.
        writer: the program that sealed it.
        parts: the files that list the data files.
    """

    version: int
    digest: str
    previous: str | None
    created: str
    creator: str
    files: int
    rows: int
    bytes: int
    algorithm: str
    key: str
    policy: SnapshotPolicy
    partition_columns: tuple[str, ...]
    indexes: tuple[SnapshotIndex, ...]
    location: str
    table: str
    writer: str
    parts: tuple[SnapshotPart, ...]
