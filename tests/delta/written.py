"""Delta tables whose log a test writes itself, around Parquet files that it puts there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.interop import arrow_files
from tests.support.interop.modes import GCM, Mode

if TYPE_CHECKING:
    from pathlib import Path

PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
FIELDS = ("id", "ssn", "note")


def field(name: str, kind: Any = "string", **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def metadata(*fields: dict[str, Any], **configuration: str) -> dict[str, Any]:
    schema = {"type": "struct", "fields": list(fields or map(field, FIELDS))}
    return {
        "metaData": {
            "id": "0",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(schema),
            "partitionColumns": [],
            "configuration": configuration,
            "createdTime": 0,
        }
    }


def add(path: str, stats: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    action = {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": True}
    return {"add": action | ({} if stats is None else {"stats": json.dumps(stats)}) | more}


def remove(path: str) -> dict[str, Any]:
    return {"remove": {"path": path, "deletionTimestamp": 0, "dataChange": True}}


def commit(table: Path, version: int, *actions: dict[str, Any]) -> None:
    """Write a commit; the first one begins with a protocol."""
    put(table, f"{version:020}.json", *((PROTOCOL,) if version == 0 else ()), *actions)


def put(table: Path, name: str, *documents: Any) -> None:
    """Write a file of the log with one document on each line."""
    path = table / "_delta_log" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(one)}\n" for one in documents))


def rows(*values: str) -> pa.Table:
    return pa.table({"id": [str(at) for at in range(len(values))], "ssn": list(values), "note": ["x"] * len(values)})


def plaintext(table: Path, name: str, *values: str) -> None:
    table.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows(*values), table / name)


def encrypted(table: Path, name: str, *values: str, uniform: bool = False, plaintext_footer: bool = False) -> None:
    """Write a file whose column ``ssn`` has a key of its own, or all of whose columns have one key."""
    table.mkdir(parents=True, exist_ok=True)
    mode = Mode(uniform, plaintext_footer, GCM, 128, external=False, double_wrapping=True)
    arrow_files.write(rows(*values), table / name, mode, columns={"pii": ["ssn"]})
