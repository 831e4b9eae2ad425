"""The index of the vectors, typed. README.md describes it for other implementations."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path(__file__).parent
FILES = FOLDER / "files"
INDEX = FOLDER / "vectors.json"
VALID, INVALID, ACCEPTABLE = "valid", "invalid", "acceptable"

Rows = list[dict[str, Any]]

# What each flag of a case means, and where the specification (Encryption.md) has what it breaks.
FLAGS = {
    "AadPrefix": ("4.4.1", "The AAD prefix is missing, or another one than the file's."),
    "AlgorithmDowngrade": ("4.2", "The file was sealed with `algorithm`, which the reader expects, and names another."),
    "BitFlip": ("5.1", "One bit of a module is flipped."),
    "CtrPage": ("4.2.2", "Pages of AES_GCM_CTR_V1 are not authenticated. A reader may refuse, or return `rows`."),
    "DroppedModule": ("4.4.2", "A module is missing."),
    "FileUnique": ("4.4.2", "The file's `aad_file_unique` is altered or missing."),
    "FooterLength": ("5.4", "The length of the footer is forged."),
    "Gap": ("5", "There are bytes in the file that no module has. Nothing reads them."),
    "KeyMaterial": ("4.3", "Wrapped keys are altered, exchanged or missing: only for readers that unwrap keys."),
    "KeyMetadata": ("4.3", "Key metadata are those of another key: only for readers that find keys by them."),
    "LevelsOfV2": ("5.1", "The specification does not say whether levels of V2 pages are encrypted; writers differ."),
    "Magic": ("5.4, 5.5", "The magic bytes are others. At the start, a reader need not look at them."),
    "ModuleLength": ("5.1", "The length of a module is forged. A reader that has it from elsewhere may return `rows`."),
    "Ordinal": ("4.4.2", "A row group's ordinal is missing or forged, by somebody who has the footer's key."),
    "OtherFile": ("4.4.2", "A module, or the footer, is that of another file that has the same keys."),
    "Padded": ("5.4", "Bytes were added. If no module needs them, a reader may return `rows`."),
    "PlaintextColumn": ("5.3", "Columns without a key are not authenticated. A reader may refuse, or return `rows`."),
    "PlaintextDowngrade": ("5.4, 5.5", "The file no longer says that it is encrypted, which the reader expects."),
    "RepeatedModule": ("4.4.2", "A module stands in the place of another one."),
    "Signature": ("5.5", "A plaintext footer is altered, or its signature."),
    "SwappedModules": ("4.4.2", "Two modules have changed places."),
    "Truncated": ("5.4", "The file is cut."),
    "UnusedModule": (
        "5.1",
        "A scan that does not open the module returns `rows`. If a query by `filter` opens it, the query must fail.",
    ),
    "WrongKey": ("4.1.1", "A key is not that of the file."),
}

# What a reader must support to open a file.
FEATURES = {
    "AES_GCM_V1": ("4.2.1", "This algorithm."),
    "AES_GCM_CTR_V1": ("4.2.2", "This algorithm."),
    "BloomFilter": ("4.4.2", "Encrypted Bloom filters."),
    "ColumnKeys": ("5.2", "Columns have keys of their own."),
    "Compression": ("3", "Pages are compressed."),
    "Dictionary": ("4.4.2", "Dictionary pages."),
    "EncryptedFooter": ("5.4", "The footer is encrypted."),
    "ExternalKeyMaterial": ("4.3", "Wrapped keys are in `_KEY_MATERIAL_FOR_<file>.json`, as parquet-java writes it."),
    "Key128": ("4", "Keys of 128 bits."),
    "Key192": ("4", "Keys of 192 bits."),
    "Key256": ("4", "Keys of 256 bits."),
    "KeyId": ("4.3", "Key metadata are the names of data keys."),
    "ManyPages": ("4.4.2", "Column chunks have two pages."),
    "NestedColumns": ("5.2", "A list, a struct and a map."),
    "NoKeyMetadata": ("4.3", "There are no key metadata."),
    "PageIndex": ("4.4.2", "Encrypted column and offset indexes."),
    "PlaintextColumns": ("5.2", "Some columns have no key."),
    "PlaintextFooter": ("5.5", "The footer is readable and signed."),
    "StoredAadPrefix": ("4.4.1", "The file stores its AAD prefix."),
    "SuppliedAadPrefix": ("4.4.1", "The reader has to know the AAD prefix."),
    "V2Pages": ("5.1", "V2 data pages."),
    "WrappedKeys": ("4.3", "Key metadata are key material of parquet-java's key tools."),
}


@dataclass(frozen=True)
class Case:
    """One file with keys, and what a reader must do. Only what differs from these defaults stands in the index."""

    id: str
    comment: str
    result: str
    algorithm: str
    footer: str
    keyMetadata: str  # noqa: N815 -- names are those of the index
    keys: dict[str, str]
    flags: list[str] = field(default_factory=list)
    features: list[str] = field(default_factory=list)
    footerKey: str | None = None  # noqa: N815
    columnKeys: dict[str, str] = field(default_factory=dict)  # noqa: N815
    plaintextColumns: list[str] = field(default_factory=list)  # noqa: N815
    aadPrefix: str | None = None  # noqa: N815
    rows: str | Rows | None = None
    filter: dict[str, Any] | None = None

    @property
    def file(self) -> Path:
        return FILES / f"{self.id}.parquet"

    @property
    def is_wrapped(self) -> bool:
        return self.keyMetadata not in {"none", "keyId"}

    def key(self, name: str) -> bytes:
        return bytes.fromhex(self.keys[name])


@dataclass(frozen=True)
class Index:
    """All cases, and the tables that they have."""

    tables: dict[str, Rows]
    cases: list[Case]

    def rows(self, case: Case) -> Rows | None:
        return self.tables[case.rows] if isinstance(case.rows, str) else case.rows

    def of(self, *results: str) -> Iterable[Case]:
        return (case for case in self.cases if case.result in results)


def load(path: Path = INDEX) -> Index:
    """Read the index."""
    stated = json.loads(path.read_text(encoding="utf-8"))
    names = {one.name for one in fields(Case)}
    cases = [Case(**{name: one[name] for name in names & one.keys()}) for one in stated["cases"]]

    return Index(stated["tables"], cases)
