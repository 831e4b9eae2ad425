"""What an ORC footer states about encryption: keys, encrypted copies of columns, and masks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pme_parquet._orc.types import MAX_COLUMNS
from pme_parquet._orc.wire import (
    MalformedError,
    Message,
    UnknownError,
    binary,
    long,
    message,
    messages,
    number,
    numbers,
    presence,
    text,
    texts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pme_parquet._orc.types import OrcType

# Key material is a few hundred bytes; other local keys have 16 or 32.
MAX_LOCAL_KEY_BYTES = 4 * 1024
_MAX_PARAMETERS = 100
# Mostly a column has one, and the columns that it is in have none.
_MAX_VARIANTS_OF_COLUMN = 2
# The columns of all variants together: each variant has those in its root as well.
_MAX_VARIANT_COLUMNS = 20 * MAX_COLUMNS
# By the format's numbers: the name, and the bytes of a local key.
_ALGORITHMS = {1: ("AES_CTR_128", 16), 2: ("AES_CTR_256", 32)}
_PROVIDERS = ("unknown", "hadoop", "aws", "gcp", "azure")
_MASK = {1: text("name"), 2: texts("parameters", _MAX_PARAMETERS), 3: numbers("columns", MAX_COLUMNS)}
_KEY = {1: text("name"), 2: number("version"), 3: number("algorithm")}
_STREAM = {1: number("kind"), 2: number("column"), 3: long("length")}
_VARIANT = {
    1: number("root"),
    2: number("key"),
    3: binary("encrypted_key", MAX_LOCAL_KEY_BYTES),
    4: messages("stripe_statistics", _STREAM, MAX_COLUMNS),
    5: presence("file_statistics"),
}
ENCRYPTION = message(
    "encryption",
    {
        1: messages("masks", _MASK, MAX_COLUMNS),
        2: messages("keys", _KEY, MAX_COLUMNS),
        3: messages("variants", _VARIANT, MAX_COLUMNS),
        4: number("provider"),
    },
)


@dataclass(frozen=True, slots=True)
class OrcKey:
    """A master key that a file names.

    Attributes:
        name: its name.
        version: its version, from 0.
        algorithm: `AES_CTR_128` or `AES_CTR_256`.
        local_key_bytes: the length of local keys for it.
    """

    name: str
    version: int
    algorithm: str
    local_key_bytes: int

    @property
    def ids(self) -> tuple[str, ...]:
        """The names under which a KMS may have it: most keys have one version and no number."""
        named = f"{self.name}@{self.version}"
        return (named,) if self.version else (named, self.name)


@dataclass(frozen=True, slots=True)
class Variant:
    """An encrypted copy of a column and of all columns in it.

    Attributes:
        root: the number of the column.
        key: its master key.
        encrypted_key: the encrypted local key of its statistics, or key material that wraps it.
    """

    root: OrcType
    key: OrcKey
    encrypted_key: bytes


@dataclass(frozen=True, slots=True)
class Mask:
    """What readers without a key get in place of some columns.

    Attributes:
        name: `nullify`, `redact`, `sha256`, or another of the writer.
        parameters: of `redact`, which see `masks`.
    """

    name: str
    parameters: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join((self.name, *self.parameters))


@dataclass(frozen=True, slots=True)
class Encryption:
    """All of it.

    Attributes:
        provider: the kind of key provider that the writer used, as the file states it.
        variants: in the order in which ORC's reader tries them.
        copies: the variants of each column, which other columns may share.
        masks: by the number of the column that each is for.
    """

    provider: str
    variants: tuple[Variant, ...]
    copies: tuple[tuple[Variant, ...], ...]
    masks: dict[int, Mask]

    def of(self, column: OrcType) -> tuple[Variant, ...]:
        """The encrypted copies of a column."""
        return self.copies[column.id]


def encryption_of(found: Message, columns: Sequence[OrcType]) -> Encryption:
    """The encryption of a file with these columns.

    Raises:
        MalformedError: it contradicts itself or the columns.
        UnknownError: this version does not know an algorithm.
    """
    if len(found["variants"]) > _MAX_VARIANTS_OF_COLUMN * len(columns):
        raise MalformedError(f"it has {len(found['variants'])} encryption variants for {len(columns)} columns")
    keys = [_key(one) for one in found["keys"]]
    variants = tuple(_variant(one, number, keys, columns) for number, one in enumerate(found["variants"]))
    provider = found.get("provider", 0)
    known = _PROVIDERS[provider] if provider < len(_PROVIDERS) else f"number {provider}"
    return Encryption(known, variants, _copies(variants, columns), _masks(found["masks"], columns))


def _key(of: Message) -> OrcKey:
    if "name" not in of:
        raise MalformedError("an encryption key has no name")
    algorithm = of.get("algorithm", 0)
    if algorithm not in _ALGORITHMS:
        raise UnknownError(f"it names an unknown encryption algorithm, number {algorithm}")
    return OrcKey(of["name"], of.get("version", 0), *_ALGORITHMS[algorithm])


def _variant(of: Message, number: int, keys: Sequence[OrcKey], columns: Sequence[OrcType]) -> Variant:
    root, key = of.get("root", 0), of.get("key", 0)
    if root >= len(columns):
        raise MalformedError(f"encryption variant {number} is for column {root}, which does not exist")
    if key >= len(keys):
        raise MalformedError(f"encryption variant {number} has key number {key}, which does not exist")
    if not of.get("encrypted_key"):
        raise MalformedError(f"encryption variant {number} has no local key")
    return Variant(columns[root], keys[key], of["encrypted_key"])


def _copies(variants: Sequence[Variant], columns: Sequence[OrcType]) -> tuple[tuple[Variant, ...], ...]:
    # Whoever compares columns with their variants has as many pairs.
    pairs = sum(variant.root.last - variant.root.id + 1 for variant in variants)
    if pairs > _MAX_VARIANT_COLUMNS:
        raise MalformedError(
            f"its encryption variants have {pairs} columns together, and at most {_MAX_VARIANT_COLUMNS} are accepted"
        )
    by_root: dict[int, list[int]] = {}
    for number_, variant in enumerate(variants):
        by_root.setdefault(variant.root.id, []).append(number_)
    copies: list[tuple[Variant, ...]] = []
    # Roots that the next column may be in, each with its last column and the numbers of its variants.
    open_: list[tuple[int, list[int], tuple[Variant, ...]]] = [(len(columns), [], ())]
    for column in columns:
        while open_[-1][0] < column.id:
            open_.pop()
        if column.id in by_root:
            numbers_ = sorted(open_[-1][1] + by_root[column.id])
            open_.append((column.last, numbers_, tuple(variants[one] for one in numbers_)))
        copies.append(open_[-1][2])
    return tuple(copies)


def _masks(found: Sequence[Message], columns: Sequence[OrcType]) -> dict[int, Mask]:
    masks: dict[int, Mask] = {}
    for one in found:
        mask = Mask(one.get("name", ""), tuple(one["parameters"]))
        for column in one["columns"]:
            if column >= len(columns):
                raise MalformedError(f"mask '{mask.name}' is for column {column}, which does not exist")
            if masks.setdefault(column, mask) != mask:
                raise MalformedError(f"column {column} has two masks")
    return masks
