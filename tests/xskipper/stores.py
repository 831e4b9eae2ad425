"""Stores of Xskipper, written and read with PyArrow from the specification alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

from tests.support.interop.arrow_files import LocalKms

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

ROW_METADATA = b"org.apache.spark.sql.parquet.row.metadata"
BOUNDS = pa.struct([("min", pa.float64()), ("max", pa.float64())])


@dataclass(frozen=True)
class Labels:
    """The keys of an encrypted store: of its footer and of the index; and whether its footer is plaintext."""

    footer: str
    index: str
    plaintext_footer: bool = False


def write(
    store: Path,
    column: str,
    files: Mapping[str, Mapping[str, float]],
    *,
    version: int | None = 4,
    labels: Labels | None = None,
) -> None:
    """Write a store with bounds of a column of doubles.

    Args:
        store: its directory.
        column: the name of the column, which has no dots.
        files: the bounds of each file, ``min`` and ``max``, by the file's id.
        version: none for a store without one.
        labels: for an encrypted store.
    """
    number = version or 0
    # "Column name generation".
    field = f"{column}_minmax" if number <= 1 else f"{column}_minmax_{len(column)}"
    index: dict[str, Any] = {"cols": [column], "name": "minmax"}
    if number == 0:
        index["tableIdentifier"] = "t"
    stated: dict[str, Any] = {} if version is None else {"version": version}
    if number > 0:
        stated["tableIdentifier"] = "t"
    encryption = None
    if labels is not None:
        index["key_metadata"] = labels.index
        keys = {labels.footer: ["obj_name"], labels.index: [f"{field}.min", f"{field}.max"]}
        stated["encryption"] = {
            "encryption.column.keys": ";".join(f"{key}:{','.join(paths)}" for key, paths in keys.items()),
            "encryption.footer.key": labels.footer,
        }
        if labels.plaintext_footer:
            stated["encryption"]["encryption.plaintext.footer"] = "true"
        config = pe.EncryptionConfiguration(
            footer_key=labels.footer, column_keys=keys, plaintext_footer=labels.plaintext_footer
        )
        factory = pe.CryptoFactory(lambda _: LocalKms())
        encryption = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
    bounds: list[dict[str, Any]] = [
        {"name": name, "type": "double", "nullable": True, "metadata": {}} for name in ("min", "max")
    ]
    kind = {"type": "struct", "fields": bounds}
    fields = [
        {"name": "obj_name", "type": "string", "nullable": False, "metadata": stated},
        {"name": field, "type": kind, "nullable": True, "metadata": {"index": index}},
    ]
    columns = {"obj_name": pa.array(files, pa.string()), field: pa.array(files.values(), BOUNDS)}
    text = json.dumps({"type": "struct", "fields": fields})
    table = pa.table(columns).replace_schema_metadata({ROW_METADATA: text.encode()})
    store.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, store / "part-0.parquet", encryption_properties=encryption)


class SomeKeys(LocalKms):
    """A KMS that has only some master keys."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__()
        self.names = names

    def unwrap_key(self, wrapped_key: str, master_key_identifier: str) -> bytes:
        if master_key_identifier not in self.names:
            message = f"no key {master_key_identifier}"
            raise KeyError(message)
        return super().unwrap_key(wrapped_key, master_key_identifier)


def opened(file: Path, *keys: str) -> pq.ParquetFile:
    """Open a file of a store with these master keys; none for a plaintext file."""
    if not keys:
        return pq.ParquetFile(file)
    factory = pe.CryptoFactory(lambda _: SomeKeys(keys))
    properties = factory.file_decryption_properties(pe.KmsConnectionConfig())
    return pq.ParquetFile(file, decryption_properties=properties)


def stated(file: pq.ParquetFile) -> dict[str, dict[str, Any]]:
    """Return what a file says of each of its columns."""
    schema = json.loads(file.metadata.metadata[ROW_METADATA])
    return {field["name"]: field for field in schema["fields"]}
