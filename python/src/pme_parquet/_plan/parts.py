"""The parts of a plan: columns, patterns without a match, refusals, and how files would be encrypted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

By = Literal["column key", "footer key", "uniform key", "plaintext", "partition column", "refused"]


@dataclass(frozen=True, slots=True)
class PlannedColumn:
    """A leaf column of the files, or a partition column.

    Attributes:
        path: in the Parquet schema, with dots: `tags.list.element`.
        name: as in `column_keys`: `tags.element`; names with special characters are in backticks.
        type: its Spark type.
        key: the id of its master key; None if it stays readable, or is refused.
        by: why it has this key or none. `plaintext`: no key names it. `partition column`: its values become directory
            names. `refused`: the write would fail because of it.
        pattern: the pattern of `column_keys` that matches it.
    """

    path: str
    name: str
    type: str
    key: str | None
    by: By
    pattern: str | None


@dataclass(frozen=True, slots=True)
class UnmatchedPattern:
    """A pattern of `column_keys` that matches no column.

    Attributes:
        pattern: the pattern.
        key: the id of its master key.
        nearest: columns with similar names, the nearest first.
    """

    pattern: str
    key: str
    nearest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a write would fail.

    Attributes:
        condition: the condition of the error (docs/errors.md).
        message: the message of the error.
    """

    condition: str
    message: str


@dataclass(frozen=True, slots=True)
class PlannedFiles:
    """How files would be encrypted: the effective values of options, session settings and defaults.

    Attributes:
        footer: `encrypted`, or `signed` and readable.
        footer_key: the id of its master key.
        kms: the short name of the KMS, or its class. It was not called.
        algorithm: `AES_GCM_V1` or `AES_GCM_CTR_V1`.
        key_management: `envelope` or `direct`.
        data_key_bits: length of data keys; None with direct keys if it is that of the named key.
        kek_bits: length of key-encryption keys; None without them.
        key_material: `internal` or `external`; None with direct keys.
        aad_prefix: the prefix or template.
        store_aad_prefix: whether the file contains the prefix.
        unlisted_columns: what happens to columns that no key names.
    """

    footer: Literal["encrypted", "signed"]
    footer_key: str
    kms: str
    algorithm: str
    key_management: Literal["envelope", "direct"]
    data_key_bits: int | None
    kek_bits: int | None
    key_material: Literal["internal", "external"] | None
    aad_prefix: str | None
    store_aad_prefix: bool
    unlisted_columns: Literal["footerKey", "plaintext", "error"]
