"""What one file shows of its encryption: its keys, its columns, what is wrong with it; and what a table shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pme_parquet._snapshots.version import SnapshotVersion

# Table formats.
DELTA, HUDI, ICEBERG = "Delta", "Hudi", "Iceberg"
Footer = Literal["encrypted", "signed", "plaintext", "unsigned"]


@dataclass(frozen=True, slots=True)
class Key:
    """What a file shows of one of its data keys. Wrapped keys themselves are not included.

    Attributes:
        management: `envelope` (wrapped, as parquet-java's key tools do), `direct` (the file names the data key), `none`
            (no key metadata: the reader must know the key), `derived` (of ORC: the master key itself, or Hadoop KMS,
            decrypts the data key) or `unreadable` (a finding says why).
        material: whether the wrapped key is in the file (`internal`) or in a file next to it (`external`).
        reference: its name in that file, if external.
        master_key: the master key's id; with `direct` the data key's.
        master_key_version: its version, if the KMS stores it in wrapped keys, as Vault does.
        double_wrapping: whether a key-encryption key wraps the data key.
        kek_id: the id of the key-encryption key.
        data_key_bits: length of the data key, if the length of its wrapped form shows it.
        kek_bits: the same for the key-encryption key.
        kms_instance_id: as the writer stated it. Readers should not trust it.
        kms_instance_url: as above.
    """

    management: Literal["envelope", "direct", "none", "derived", "unreadable"]
    material: Literal["internal", "external"] | None = None
    reference: str | None = None
    master_key: str | None = None
    master_key_version: str | None = None
    double_wrapping: bool | None = None
    kek_id: str | None = None
    data_key_bits: int | None = None
    kek_bits: int | None = None
    kms_instance_id: str | None = None
    kms_instance_url: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file whose footer is readable.

    Attributes:
        path: its path in the Parquet schema, with dots: `tags.list.element`.
        encrypted_with: the footer's key, a key of its own, or none.
        key: the key, if it is encrypted.
        compressed_bytes: size of its chunks.
        name: as in `column_keys` and all other results: `tags.element`.
    """

    path: str
    encrypted_with: Literal["footer key", "column key"] | None
    key: Key | None
    compressed_bytes: int
    name: str


@dataclass(frozen=True, slots=True)
class OrcColumn:
    """An encrypted column of an ORC file.

    Attributes:
        name: as in `Column`.
        type: of its values.
        keys: the key of each encrypted copy; mostly one.
        mask: what readers without a key get: `nullify`, or `redact, …` with parameters; None if the file does not say.
        readable: what anyone can learn about its values without a key.
        statistics: which statistics of the mask are readable.
        mask_bytes: size of the mask.
        bloom_filter: whether it has one that is encrypted, or one that everybody can read.
    """

    name: str
    type: str
    keys: tuple[Key, ...]
    mask: str | None
    readable: tuple[str, ...]
    statistics: tuple[str, ...]
    mask_bytes: int
    bloom_filter: Literal["encrypted", "readable"] | None = None


@dataclass(frozen=True, slots=True)
class OrcFile:
    """What only ORC files have.

    Attributes:
        version: of the format.
        compression: as ORC names it.
        writer_version: the number by which readers know the mistakes of writers.
        key_provider: the kind that the file states: `hadoop` (also ORC's memory provider), `aws`, …; None if nothing is
            encrypted.
        variants: number of encrypted copies of columns.
        encrypted: the encrypted columns.
        types: of all columns, by name.
        metadata: names of metadata that writers add; their values are readable, too.
    """

    version: str
    compression: str
    writer_version: int
    key_provider: str | None
    variants: int
    encrypted: tuple[OrcColumn, ...]
    types: dict[str, str]
    metadata: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a file.

    Attributes:
        file: its path below the inspected path.
        condition: as of an error (docs/errors.md); empty if a storage failed.
        message: *where: what happened: why. What to do.*
    """

    file: str
    condition: str
    message: str


@dataclass(frozen=True, slots=True)
class InspectedFile:
    """What one file shows without a key. None means not visible without one.

    Attributes:
        file: its path below the inspected path.
        bytes: its size.
        footer: `encrypted`, `signed` (readable, of an encrypted file), `unsigned` (of an ORC file with encrypted
            columns) or `plaintext`; None if the file is damaged.
        algorithm: `AES_GCM_V1` or `AES_GCM_CTR_V1`; of an ORC file `AES_CTR_128` or `AES_CTR_256`, or both.
        aad_prefix: whether the file was written with an AAD prefix, and contains it or requires readers to set it.
        aad_prefix_value: the one in the file, as text, or `0x` and hex.
        footer_key: the key that encrypts or signs the footer.
        columns: the columns, if the footer is readable.
        column_keys: the visible keys of columns; those in a separate file even if the columns are hidden.
        rows: number of rows.
        row_groups: number of row groups; of an ORC file, stripes.
        created_by: the writer.
        findings: what is wrong with it.
        orc: what only ORC files have; None for Parquet, and for a damaged file.
        live: whether it is part of the newest version of a Delta table; None if that is not known, or there is no log.
    """

    file: str
    bytes: int
    footer: Footer | None = None
    algorithm: str | None = None
    aad_prefix: Literal["none", "stored", "required"] | None = None
    aad_prefix_value: str | None = None
    footer_key: Key | None = None
    columns: tuple[Column, ...] | None = None
    column_keys: tuple[Key, ...] = ()
    rows: int | None = None
    row_groups: int | None = None
    created_by: str | None = None
    findings: tuple[Finding, ...] = ()
    orc: OrcFile | None = None
    live: bool | None = None

    @property
    def encrypted(self) -> bool:
        """Whether anything in it is."""
        return self.footer in {"encrypted", "signed", "unsigned"}

    @property
    def keys(self) -> tuple[Key, ...]:
        """Every key that can be seen."""
        return ((self.footer_key,) if self.footer_key else ()) + self.column_keys


@dataclass(frozen=True, slots=True)
class InspectedTable:
    """What is next to the files of a table: its table format, and what its snapshots state.

    No seal was checked: anyone who can write to the storage can forge it.

    Attributes:
        table: its path below the inspected path; empty for the inspected path itself. For a partition, the path of the
            table that it belongs to.
        versions: number of versions that can be read; 0 if there are no snapshots.
        newest: what the newest version states; None if it cannot be read, or there is none.
        findings: what is wrong with the snapshots, or differs between the newest one and the files.
        format: `Delta`, `Hudi` or `Iceberg` if the table has a log or metadata of it; otherwise empty.
        metadata_files: number of Iceberg's files of metadata, which were not inspected.
        version: the newest version of a Delta table; None if it is not known.
        live_by: who says which files are live: `deltalake` or `the session's Delta`; empty if that is not known.
        live: number of inspected files that are live; None as above.
        not_live: number of inspected files that are not live; None as above.
        live_elsewhere: number of live files that were not inspected: they are missing, or outside of the path.
        live_problem: why it is not known which files are live.
    """

    table: str
    versions: int
    newest: SnapshotVersion | None
    findings: tuple[Finding, ...]
    format: str = ""
    metadata_files: int = 0
    version: int | None = None
    live_by: str = ""
    live: int | None = None
    not_live: int | None = None
    live_elsewhere: int = 0
    live_problem: str = ""

    @property
    def has_snapshots(self) -> bool:
        """Whether there is any, readable or not."""
        return bool(self.versions or self.findings)


@dataclass(frozen=True, slots=True)
class Group:
    """Files with the same visible encryption.

    Attributes:
        files: number of files.
        bytes: their size.
        example: the first of them.
    """

    files: int
    bytes: int
    example: InspectedFile
