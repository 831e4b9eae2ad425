"""Tables to rotate, under a KMS in this process that records what it wrapped and can lose a key."""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from tests.support.canary import data_files, files_under
from tests.support.kms.counting_client import Client

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

OLD = ("footer", "pii", "pay")
NEW = {"footer": "footer-2", "pii": "pii-2", "pay": "pay-2"}
COLUMNS = {"pii": ["name", "ssn"], "pay": ["salary"]}
TAIL_BYTES = 8


class Remembering(Client):
    """Has a master key for every id except the lost ones, and records what it wrapped."""

    def __init__(self, realm: str = "pme-testkit", lacks: Iterable[str] = ()) -> None:
        super().__init__(realm)
        self.keys: list[bytes] = []
        self.wrapped: list[str] = []
        self._lacks = set(lacks)

    def wrap_key(self, key: bytes, master_key_id: str) -> str:
        self._require(master_key_id)
        self.keys.append(key)
        self.wrapped.append(super().wrap_key(key, master_key_id))
        return self.wrapped[-1]

    def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
        self._require(master_key_id)
        return super().unwrap_key(wrapped, master_key_id)

    def _require(self, master_key_id: str) -> None:
        if master_key_id in self._lacks:
            raise LookupError


def write(frame: DataFrame, path: str, kms: pme.PythonKms, *partitions: str, **fields: Any) -> None:
    """Write a table with ``pii`` and ``pay`` for some columns and ``footer`` for the rest."""
    encryption = pme.Encryption(kms=kms, **({"footer_key": "footer", "column_keys": COLUMNS} | fields))
    frame.write.format("pme-parquet").options(**encryption.options()).partitionBy(*partitions).save(path)


def material(path: Path) -> Path:
    """Return where a data file's key material is, if it is external."""
    return path.with_name(f"_KEY_MATERIAL_FOR_{path.name}.json")


def rows(spark: SparkSession, path: str, kms: pme.PythonKms, **options: str) -> list[str]:
    """Return the table's rows, sorted."""
    frame = spark.read.format("pme-parquet").options(**kms.options(), **options).load(path)
    return sorted(repr(row.asDict(recursive=True)) for row in frame.collect())


def pages(root: Path | str) -> dict[str, bytes]:
    """Return the bytes before the footer of each data file."""
    return {str(path.relative_to(root)): _before_footer(path.read_bytes()) for path in data_files(root)}


def _before_footer(content: bytes) -> bytes:
    [length] = struct.unpack("<I", content[-TAIL_BYTES:-4])
    return content[: len(content) - TAIL_BYTES - int(length)]


def found(root: Path | str, texts: Iterable[str]) -> list[str]:
    """Return which texts are in any file under root, directly or inside base64."""
    needles = {text: (text.encode(), *_decoded(text)) for text in texts}
    contents = [path.read_bytes() for path in files_under(root)]
    return [text for text, forms in needles.items() if any(form in content for form in forms for content in contents)]


def _decoded(text: str) -> tuple[bytes, ...]:
    try:
        return (base64.b64decode(text, validate=True),)
    except ValueError:
        return ()


def names(root: Path | str) -> set[str]:
    """Return the names of all files under root, hidden ones included."""
    return {path.name for path in files_under(root)}
