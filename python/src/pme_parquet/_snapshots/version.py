"""What the manifest of a snapshot states, field by field."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as attribute


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
        by_partition: whether keys may be templates, which name the key of each file by its partition.
    """

    footer_key: str | None
    columns: tuple[SnapshotColumn, ...]
    by_partition: bool = False

    def key_of(self, column: tuple[str, ...]) -> str | None:
        """The master key of a column; None if it is plaintext, or unknown."""
        return next((one.key for one in self.columns if one.column == column), None)

    @property
    def encrypted(self) -> bool:
        """Whether the files are encrypted."""
        return self.footer_key is not None


@dataclass(frozen=True, slots=True)
class SnapshotErasure:
    """Master keys that were destroyed, as files name them; when that was proved; the certificate, and its SHA-256."""

    keys: tuple[str, ...]
    erased: str
    certificate: str
    sha256: str


@dataclass(frozen=True, slots=True)
class SnapshotPart:
    """A file of the list of data files: its name, length and SHA-256, the range of paths in it, and its indexes."""

    name: str
    length: int
    sha256: str
    files: int
    first: str
    last: str
    indexes: tuple[SnapshotIndexFile, ...]


@dataclass(frozen=True, slots=True)
class SnapshotIndexFile:
    """What an index knows of the data files of a part: the index's field, and the file's name, length and SHA-256."""

    field: str
    name: str
    length: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Index:
    """An index for skipping files.

    Attributes:
        column: path of the leaf column.
        kind: `minMax`, `valueList`, `bloom` or `class`.
        field: by which the parts name their file of this index.
        type: of the column, in Parquet's notation.
        key: the master key that the index is encrypted with; None for a table without encryption.
        parameters: settings of the kind, for example `fpp` of a Bloom filter.
    """

    column: tuple[str, ...]
    kind: str
    field: str
    type: str
    key: str | None
    parameters: dict[str, str] = attribute(default_factory=dict, hash=False)

    @property
    def name(self) -> str:
        """The column's name, with dots."""
        return ".".join(self.column)

    @property
    def settings(self) -> str:
        """The parameters as text: `fpp=0.01, ndv=1000`."""
        return ", ".join(f"{name}={value}" for name, value in sorted(self.parameters.items()))


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
        file_format: of the data files: `parquet` or `orc`.
        writes: the number of the last write of each series (option `writeSeries`).
        erasures: the master keys that `pme.erase` destroyed.
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
    indexes: tuple[Index, ...]
    location: str
    table: str
    writer: str
    parts: tuple[SnapshotPart, ...]
    file_format: str = "parquet"
    writes: dict[str, int] = attribute(default_factory=dict)
    erasures: tuple[SnapshotErasure, ...] = ()
