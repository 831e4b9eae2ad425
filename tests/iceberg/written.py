"""Tables of Iceberg whose metadata and manifests a test writes itself, around files that it puts there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

if TYPE_CHECKING:
    from pathlib import Path

PLACE = "s3://elsewhere/db/people"
STREAM = b"AGS1" + bytes(60)
_BYTES = ["null", "bytes"]


def metadata(table: Path, number: int = 0, **more: Any) -> Path:
    """Write a version of a table with the columns ``id`` and ``ssn`` and a partition by a bucket of ``id``."""
    fields = [{"id": 1, "name": "id", "type": "long"}, {"id": 2, "name": "ssn", "type": "string"}]
    document = {
        "format-version": 3,
        "location": PLACE,
        "properties": {"encryption.key-id": "table-key"},
        "schemas": [{"type": "struct", "schema-id": 0, "fields": fields}],
        "partition-specs": [
            {
                "spec-id": 0,
                "fields": [
                    {"name": "id_bucket", "transform": "bucket[2]", "source-id": 1, "field-id": 1000},
                    {"name": "ssn", "transform": "identity", "source-id": 2, "field-id": 1001},
                ],
            }
        ],
        "encryption-keys": [{"key-id": "a", "encrypted-key-metadata": "AAAA", "encrypted-by-id": "table-key"}],
    }
    path = table / "metadata" / f"{number:05}-0000.metadata.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document | more))
    return path


def snapshot(**more: Any) -> dict[str, Any]:
    """Return the part of metadata that names the list of manifests."""
    one = {"snapshot-id": 1, "manifest-list": f"{PLACE}/metadata/snap-1.avro"} | more
    return {"current-snapshot-id": 1, "snapshots": [one]}


def put(table: Path, name: str, content: bytes) -> None:
    path = table / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def data(table: Path, name: str, *, key: bytes | None = None) -> None:
    """Write a Parquet file, with a key of its own or in plaintext."""
    path = table / name
    path.parent.mkdir(parents=True, exist_ok=True)
    sealed = {} if key is None else {"encryption_properties": pe.create_encryption_properties(key)}
    pq.write_table(pa.table({"id": [1], "ssn": ["CANARY-4711"]}), path, **sealed)


def manifest_list(table: Path, *manifests: str, name: str = "metadata/snap-1.avro") -> None:
    partition = {
        "name": "r508",
        "type": "record",
        "fields": [
            {"name": "contains_null", "type": "boolean"},
            {"name": "contains_nan", "type": ["null", "boolean"], "default": None},
            {"name": "lower_bound", "type": _BYTES, "default": None},
        ],
    }
    fields = [
        {"name": "manifest_path", "type": "string"},
        {"name": "key_metadata", "type": _BYTES},
        {"name": "partitions", "type": ["null", {"type": "array", "items": partition}], "default": None},
    ]
    _avro(table / name, "manifest_file", fields, [{"manifest_path": path, "key_metadata": None} for path in manifests])


def manifest(table: Path, *files: str, name: str = "metadata/a-m0.avro", key: bytes | None = None) -> None:
    """Write a manifest with a minimum of the column ``ssn``."""
    bound = {
        "name": "bound",
        "type": "record",
        "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "bytes"}],
    }
    file = {
        "name": "r2",
        "type": "record",
        "fields": [
            {"name": "file_path", "type": "string"},
            {"name": "lower_bounds", "type": ["null", {"type": "array", "items": bound}]},
            {"name": "key_metadata", "type": _BYTES},
        ],
    }
    fields = [{"name": "status", "type": "int"}, {"name": "data_file", "type": file}]
    bounds = [{"key": 2, "value": b"CANARY-4711"}]
    rows = [
        {"status": 1, "data_file": {"file_path": path, "lower_bounds": bounds, "key_metadata": key}} for path in files
    ]
    _avro(table / name, "manifest_entry", fields, rows)


def _avro(path: Path, name: str, fields: list[Any], rows: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        fastavro.writer(file, {"name": name, "type": "record", "fields": fields}, rows)
