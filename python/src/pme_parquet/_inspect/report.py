"""What `pme.inspect` found: files, keys, findings, and how the files of a table differ. `render` shows it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from pme_parquet._showable import Showable

if TYPE_CHECKING:
    import pandas as pd

    from pme_parquet._shown import Shown

Footer = Literal["encrypted", "signed", "plaintext"]


@dataclass(frozen=True, slots=True)
class Key:
    """What a file tells anyone of one of its data keys. Wrapped keys themselves are never here, only what names them.

    Attributes:
        management: `envelope` (wrapped, as parquet-java's key tools do), `direct` (the file names the data key), `none`
            (no key metadata: the reader must know the key) or `unreadable` (a finding says why).
        material: whether the wrapped key is in the file (`internal`) or in a file beside it (`external`).
        reference: under what name it is there, if external.
        master_key: the master key's id; with `direct` the data key's.
        master_key_version: its version, where the KMS writes it into what it wraps, as Vault does.
        double_wrapping: whether a key encryption key is between master key and data key.
        kek_id: the key encryption key's id.
        data_key_bits: length of the data key, where the length of its wrapped form tells.
        kek_bits: the same of the key encryption key.
        kms_instance_id: as the writer noted it. Nothing that reads files should believe it.
        kms_instance_url: as above.
    """

    management: Literal["envelope", "direct", "none", "unreadable"]
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
        name: as `column_keys` takes it, and everything else here tells it: `tags.element`.
    """

    path: str
    encrypted_with: Literal["footer key", "column key"] | None
    key: Key | None
    compressed_bytes: int
    name: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a file.

    Attributes:
        file: where it is, below the path that was looked at.
        condition: as errors have it (docs/errors.md); empty where a storage failed.
        message: *where: what, because why. What to do.*
    """

    file: str
    condition: str
    message: str


@dataclass(frozen=True, slots=True)
class InspectedFile:
    """What one file tells without a key. None is what cannot be seen without one.

    Attributes:
        file: where it is, below the path that was looked at.
        bytes: its size.
        footer: `encrypted`, `signed` (readable, of an encrypted file) or `plaintext`; None if the file is damaged.
        algorithm: `AES_GCM_V1` or `AES_GCM_CTR_V1`.
        aad_prefix: whether the file was written with an AAD prefix: it is in the file, or readers must supply it.
        aad_prefix_value: the one in the file, as text, or `0x` and hex.
        footer_key: the key that encrypts or signs the footer.
        columns: the columns, if the footer is readable.
        column_keys: the keys of columns, as far as they can be seen; beside the file even if the columns cannot.
        rows: how many.
        row_groups: how many.
        created_by: the writer.
        findings: what is wrong with it.
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

    @property
    def encrypted(self) -> bool:
        """Whether anything in it is."""
        return self.footer in {"encrypted", "signed"}

    @property
    def keys(self) -> tuple[Key, ...]:
        """Every key that can be seen."""
        return ((self.footer_key,) if self.footer_key else ()) + self.column_keys


@dataclass(frozen=True, slots=True)
class Group:
    """Files that tell the same of their encryption.

    Attributes:
        files: how many.
        bytes: of all of them.
        example: the first of them.
    """

    files: int
    bytes: int
    example: InspectedFile


@dataclass(frozen=True)
class Inspection(Showable):
    """What was found of a file or a table. Print it, show it in a notebook, or take it apart.

    Attributes:
        path: what was looked at.
        files: every file, hidden ones left out as Spark leaves them out.
        groups: the files, grouped by what they tell of their encryption; the largest group first.
        drift: how the files differ, in sentences.
    """

    path: str
    files: tuple[InspectedFile, ...]
    groups: tuple[Group, ...] = field(repr=False)
    drift: tuple[str, ...] = ()

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All that is wrong, file by file; empty if nothing is."""
        return tuple(finding for file in self.files for finding in file.findings)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return {
            "path": self.path,
            "files": [asdict(file) for file in self.files],
            "groups": [{"files": g.files, "bytes": g.bytes, "example": g.example.file} for g in self.groups],
            "drift": list(self.drift),
            "findings": [asdict(finding) for finding in self.findings],
        }

    def to_pandas(self) -> pd.DataFrame:
        """A row for each file; the fields of its footer's key have `footer_key.` before their names."""
        try:
            import pandas as pd  # noqa: PLC0415 not needed otherwise
        except ImportError as missing:
            from pme_parquet.errors import UnsupportedError  # noqa: PLC0415 as above

            message = "to_pandas: it is not possible here, because pandas is not installed. pip install pandas."
            raise UnsupportedError(message) from missing
        rows = self.to_dict()["files"]
        for row in rows:
            key = row.pop("footer_key") or {}
            row |= {f"footer_key.{name}": key.get(name) for name in Key.__dataclass_fields__}
        return pd.DataFrame(rows)

    @property
    def _shown(self) -> Shown:
        from pme_parquet._inspect.render import shown  # noqa: PLC0415 only when it is shown

        return shown(self)
