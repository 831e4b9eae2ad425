"""Stores of Xskipper, written and read with PyArrow from the specification alone."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

from tests.support.interop.arrow_kms import LocalKms

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

ROW_METADATA = b"org.apache.spark.sql.parquet.row.metadata"
ARROW = {"double": pa.float64(), "string": pa.string(), "integer": pa.int32(), "long": pa.int64(), "date": pa.date32()}
BLOOM_CLASS = "io.xskipper.index.metadata"
OLD_BLOOM_CLASS = "com.ibm.metaindex.metadata.index.types"


@dataclass(frozen=True)
class Index:
    """An index of a store: its kind, its column, Spark's type of the column, and the label of its key."""

    kind: str
    column: str
    type: str
    key: str | None = None

    def field(self, version: int) -> str:
        """Return the name of its column in a store ("Column name generation")."""
        if version <= 1:
            return f"{self.column}_{self.kind}"
        clean = self.column.replace("#", "##").replace(".", "$#$")
        return f"{clean}_{self.kind}_{len(clean)}"

    def leaves(self, version: int) -> list[str]:
        """Return the paths of its leaf columns in Parquet."""
        field = self.field(version)
        below = {"minmax": [".min", ".max"], "valuelist": [".list.element"], "bloomfilter": [""]}
        return [field + path for path in below[self.kind]]

    def arrow(self) -> pa.DataType:
        """Return the type of its column."""
        if self.kind == "minmax":
            return pa.struct([("min", ARROW[self.type]), ("max", ARROW[self.type])])
        return pa.list_(ARROW[self.type]) if self.kind == "valuelist" else pa.binary()

    def spark(self, version: int) -> object:
        """Return Spark's type of its column, in JSON."""
        if self.kind == "minmax":
            bounds: list[dict[str, Any]] = [
                {"name": name, "type": self.type, "nullable": True, "metadata": {}} for name in ("min", "max")
            ]
            return {"type": "struct", "fields": bounds}
        if self.kind == "valuelist":
            return {"type": "array", "elementType": self.type, "containsNull": True}
        package = "io.xskipper.metadatastore" if version > 2 else "com.ibm.metaindex.metadata.metadatastore"
        udt = f"{package}.parquet.ParquetBaseClauseTranslator$BloomFilterMetaDataTypeUDT"
        return {"type": "udt", "class": udt, "pyClass": None, "sqlType": "binary"}

    def stated(self, version: int) -> dict[str, Any]:
        """Return what the store says of it."""
        index: dict[str, Any] = {"cols": [self.column], "name": self.kind}
        if self.kind == "bloomfilter":
            prefix = "io.xskipper" if version > 2 else "spark.ibm.metaindex"
            parameters = {f"{prefix}.index.bloom.fpp": "0.01", f"{prefix}.index.bloom.ndv": "100"}
            index["params"] = parameters if version > 2 else [":".join(one) for one in parameters.items()]
        if version == 0:
            index["tableIdentifier"] = "t"
        if self.key is not None:
            index["key_metadata"] = self.key
        return {"index": index}


@dataclass(frozen=True)
class Labels:
    """The footer key of an encrypted store, and whether its footer is plaintext."""

    footer: str
    plaintext_footer: bool = False


def write(
    store: Path,
    indexes: Sequence[Index],
    files: Mapping[str, Sequence[Any]],
    *,
    version: int | None = 4,
    labels: Labels | None = None,
    partitions: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """Write a store.

    Args:
        store: its directory.
        indexes: its indexes.
        files: what each index says of each file, by the file's id.
        version: none for a store without one.
        labels: for an encrypted store.
        partitions: by the name of each partition column, its text in each file.
    """
    number = version or 0
    fields = [index.field(number) for index in indexes]
    columns = {"obj_name": pa.array(files, pa.string())}
    for name, values in (partitions or {}).items():
        columns[f"virtual_{name}"] = pa.array(values, pa.string())
    for at, (index, field) in enumerate(zip(indexes, fields, strict=True)):
        columns[field] = pa.array([said[at] for said in files.values()], index.arrow())
    stated: dict[str, Any] = {} if version is None else {"version": version}
    if number > 0:
        stated["tableIdentifier"] = "t"
    keys: dict[str, list[str]] = {}
    if labels is not None:
        keys.setdefault(labels.footer, []).extend(name for name in columns if name not in fields)
        for index in indexes:
            if index.key is not None:
                keys.setdefault(index.key, []).extend(index.leaves(number))
        stated["encryption"] = {
            "encryption.column.keys": ";".join(f"{key}:{','.join(paths)}" for key, paths in keys.items()),
            "encryption.footer.key": labels.footer,
        }
        if labels.plaintext_footer:
            stated["encryption"]["encryption.plaintext.footer"] = "true"
    schema = [{"name": "obj_name", "type": "string", "nullable": False, "metadata": stated}]
    schema += [
        {"name": name, "type": "string", "nullable": True, "metadata": {}} for name in columns if "virtual_" in name
    ]
    schema += [
        {"name": field, "type": index.spark(number), "nullable": True, "metadata": index.stated(number)}
        for index, field in zip(indexes, fields, strict=True)
    ]
    text = json.dumps({"type": "struct", "fields": schema})
    table = pa.table(columns).replace_schema_metadata({ROW_METADATA: text.encode()})
    store.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, store / "part-0.parquet", encryption_properties=labels and _encryption(labels, keys))


def _encryption(labels: Labels, keys: dict[str, list[str]]) -> Any:
    config = pe.EncryptionConfiguration(
        footer_key=labels.footer, column_keys=keys, plaintext_footer=labels.plaintext_footer
    )
    return pe.CryptoFactory(lambda _: LocalKms()).file_encryption_properties(pe.KmsConnectionConfig(), config)


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


def bloom(spark: SparkSession, values: Sequence[str | int], package: str = BLOOM_CLASS) -> bytes:
    """Return a Bloom filter of these values, as an object in Java's serialization."""
    jvm: Any = spark._jvm
    sketches = jvm.org.apache.spark.util.sketch.BloomFilter
    versions = getattr(jvm, "org.apache.spark.util.sketch.BloomFilter$Version")
    bits = sketches.optimalNumOfBits(100, 0.01)
    sketch = sketches.create(versions.V1, 100, bits, 0) if spark.version >= "4.1" else sketches.create(100, bits)
    for value in values:
        sketch.putString(value) if isinstance(value, str) else sketch.putLong(value)
    out = jvm.java.io.ByteArrayOutputStream()
    sketch.writeTo(out)
    return _serialized(bytes(out.toByteArray()), package)


def _serialized(content: bytes, package: str) -> bytes:
    """Write the object as the serialization protocol says."""

    def text(value: str) -> bytes:
        return struct.pack(">H", len(value)) + value.encode()

    def described(name: str, flags: int, fields: int) -> bytes:
        return b"\x72" + text(name) + struct.pack(">qBH", 1, flags, fields)

    def reference(name: str, of: str) -> bytes:
        return b"L" + text(name) + b"\x74" + text(f"Lorg/apache/spark/util/sketch/{of};")

    blocks = [content[at : at + 1024] for at in range(0, len(content), 1024)]
    return b"".join(
        [
            b"\xac\xed\x00\x05\x73",
            described(f"{package}.BloomFilterMetaData", 2, 1) + reference("bloomFilter", "BloomFilter") + b"\x78",
            described(f"{package}.MetadataType", 2, 0) + b"\x78\x70\x73",
            described("org.apache.spark.util.sketch.BloomFilterImpl", 3, 2),
            b"I" + text("numHashFunctions") + reference("bits", "BitArray") + b"\x78\x70",
            *(b"\x7a" + struct.pack(">I", len(block)) + block for block in blocks),
            b"\x78",
        ]
    )
