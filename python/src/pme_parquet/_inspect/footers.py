"""The footer of a file: its bytes, before any of them is trusted, and what it says about encryption.

Names are those of parquet.thrift (specification §5.2 to §5.5).
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pme_parquet._inspect import problems
from pme_parquet._inspect.names import Names
from pme_parquet._inspect.thrift import (
    Field,
    MalformedError,
    Struct,
    binaries,
    binary,
    boolean,
    each,
    i64,
    parse,
    presence,
    struct,
)
from pme_parquet._orc.tail import ends_as_orc
from pme_parquet._storage import not_read
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pme_parquet._storage import Found, Storage

LENGTH_BYTES = 4
NONCE_BYTES = 12
TAG_BYTES = 16
SIGNATURE_BYTES = NONCE_BYTES + TAG_BYTES
# FileCryptoMetaData holds an algorithm and key metadata.
MAX_CRYPTO_METADATA_BYTES = 1 << 20
# A table with ten thousand columns is very wide.
MAX_COLUMNS = 50_000

_AES = {1: binary("aad_prefix"), 2: binary("aad_file_unique"), 3: boolean("supply_aad_prefix")}
_ALGORITHM = {1: struct("AES_GCM_V1", _AES), 2: struct("AES_GCM_CTR_V1", _AES)}
_FILE_CRYPTO_METADATA = {1: struct("encryption_algorithm", _ALGORITHM), 2: binary("key_metadata")}
_COLUMN_METADATA = {3: binaries("path_in_schema"), 7: i64("total_compressed_size")}
_COLUMN_CRYPTO_METADATA = {
    1: struct("ENCRYPTION_WITH_FOOTER_KEY", {}),
    2: struct("ENCRYPTION_WITH_COLUMN_KEY", {1: binaries("path_in_schema"), 2: binary("key_metadata")}),
}
_COLUMN_CHUNK = {
    3: struct("meta_data", _COLUMN_METADATA),
    8: struct("crypto_metadata", _COLUMN_CRYPTO_METADATA),
    9: presence("encrypted_column_metadata"),
}
_BOUNDS = {1: presence("max"), 2: presence("min"), 5: presence("max_value"), 6: presence("min_value")}
_WITH_BOUNDS = _COLUMN_CHUNK | {3: struct("meta_data", _COLUMN_METADATA | {12: struct("statistics", _BOUNDS)})}
MAGIC_BYTES = 4
TAIL_BYTES = LENGTH_BYTES + MAGIC_BYTES
MIN_FILE_BYTES = MAGIC_BYTES + TAIL_BYTES
ENCRYPTED_FOOTER, READABLE_FOOTER = b"PARE", b"PAR1"
# The first read gets most footers.
FIRST_READ_BYTES = 64 * 1024
# Python takes minutes for a longer one.
MAX_FOOTER_BYTES = 16 * 1024 * 1024
# Held by whoever has something large in memory, so that there is one of it.
LARGE = threading.RLock()


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An EncryptionAlgorithm: its name, and its fields about the AAD."""

    name: str
    aad_prefix: bytes | None
    aad_file_unique: bytes
    supply_aad_prefix: bool


@dataclass(slots=True)
class ColumnChunks:
    """The chunks of one column in all row groups; `has_bounds` if readable statistics of one were looked for."""

    encrypted_with: Literal["footer key", "column key"] | None
    key_metadata: bytes | None
    name: str
    compressed_bytes: int = 0
    has_bounds: bool = False


@dataclass(slots=True)
class FileMetaData:
    """A readable footer, with columns by path; `algorithm` is None if the file is not marked as encrypted.

    `metadata_names` are those of key_value_metadata.
    """

    algorithm: Algorithm | None = None
    key_metadata: bytes | None = None
    signed: bool = False
    rows: int = 0
    row_groups: int = 0
    created_by: bytes | None = None
    columns: dict[str, ColumnChunks] = field(default_factory=dict)
    metadata_names: set[bytes] = field(default_factory=set)

    @property
    def has_encrypted_columns(self) -> bool:
        """Whether any column is marked as encrypted."""
        return any(column.encrypted_with for column in self.columns.values())


def file_crypto_metadata(footer: bytes) -> tuple[Algorithm, bytes | None]:
    """The algorithm and the footer key's metadata before an encrypted footer, whose module must fill the rest."""
    values, end = parse(footer[:MAX_CRYPTO_METADATA_BYTES], _FILE_CRYPTO_METADATA)
    left = len(footer) - end - LENGTH_BYTES
    if left < SIGNATURE_BYTES:
        raise MalformedError("it has no footer module")
    module = int.from_bytes(footer[end : end + LENGTH_BYTES], "little")
    if module != left:
        raise MalformedError(f"the length of its footer module is {module} bytes, but {left} bytes are left")
    return _algorithm(values.get("encryption_algorithm")), values.get("key_metadata")


def file_metadata(footer: bytes, *, with_details: bool = False) -> FileMetaData:
    """The contents of a readable footer. Statistics are skipped, and of the schema only the names are read.

    Args:
        footer: its bytes.
        with_details: whether to look for statistics, and for the names of key_value_metadata.
    """
    found = FileMetaData()
    values, end = parse(footer, _file_metadata(found, with_details=with_details))
    for required in ("num_rows", "row_groups"):
        if required not in values:
            raise MalformedError(f"its footer has no {required}")
    found.rows, found.row_groups = _count(values, "num_rows"), values["row_groups"]
    found.created_by = values.get("created_by")
    if "encryption_algorithm" in values:
        found.algorithm = _algorithm(values["encryption_algorithm"])
        found.key_metadata = values.get("footer_signing_key_metadata")
        found.signed = len(footer) - end >= SIGNATURE_BYTES
    return found


def _file_metadata(found: FileMetaData, *, with_details: bool) -> Mapping[int, Field]:
    names = Names()
    chunk_fields = _WITH_BOUNDS if with_details else _COLUMN_CHUNK
    row_group = {1: each("columns", chunk_fields, lambda chunk: _add(found.columns, chunk, names))}
    named = each("key_value_metadata", {1: binary("key")}, lambda one: found.metadata_names.add(one.get("key", b"")))
    return {
        2: names.field,
        3: i64("num_rows"),
        4: each("row_groups", row_group, lambda _: None),
        6: binary("created_by"),
        8: struct("encryption_algorithm", _ALGORITHM),
        9: binary("footer_signing_key_metadata"),
    } | ({5: named} if with_details else {})


def _algorithm(union: Struct | None) -> Algorithm:
    if union is None or len(union) != 1:
        raise MalformedError("it names an unknown encryption algorithm")
    [(name, values)] = union.items()
    return Algorithm(
        name, values.get("aad_prefix"), values.get("aad_file_unique", b""), values.get("supply_aad_prefix", False)
    )


def _add(columns: dict[str, ColumnChunks], chunk: Struct, names: Names) -> None:
    metadata = chunk.get("meta_data", {})
    crypto = chunk.get("crypto_metadata", {})
    of_column = crypto.get("ENCRYPTION_WITH_COLUMN_KEY", {})
    path = metadata.get("path_in_schema") or of_column.get("path_in_schema")
    if not path:
        raise MalformedError("a column has no path_in_schema")
    name = ".".join(part.decode("utf-8", "backslashreplace") for part in path)
    size = _count(metadata, "total_compressed_size")
    key = of_column.get("key_metadata")
    known = columns.get(name)
    if known is None:
        if len(columns) == MAX_COLUMNS:
            raise MalformedError(f"it has more than {MAX_COLUMNS} columns")
        known = columns[name] = ColumnChunks(_encrypted_with(chunk, crypto), key, names.of(path), size)
    elif (known.encrypted_with, known.key_metadata) != (_encrypted_with(chunk, crypto), key):
        raise MalformedError(f"its column '{name}' has another key in another row group")
    else:
        known.compressed_bytes += size
    known.has_bounds |= bool(metadata.get("statistics"))


def _encrypted_with(chunk: Struct, crypto: Struct) -> Literal["footer key", "column key"] | None:
    if "ENCRYPTION_WITH_COLUMN_KEY" in crypto:
        return "column key"
    return "footer key" if crypto or "encrypted_column_metadata" in chunk or "crypto_metadata" in chunk else None


def _count(values: Struct, name: str) -> int:
    count: int = values.get(name, 0)
    if count < 0:
        raise MalformedError(f"its {name} is {count}")
    return count


def last_bytes(storage: Storage, found: Found) -> bytes:
    """The end of a file, which has most footers in it.

    Raises:
        PmeError: the file is too short for a footer, or cannot be read.
    """
    if found.link:
        raise problems.not_followed(found.shown)
    if not found.regular:
        raise problems.damaged(found.shown, "it is not a regular file")
    if found.bytes < MIN_FILE_BYTES:
        raise problems.damaged(found.shown, f"it is {found.bytes} bytes long")
    return bytes_of(storage, found, max(0, found.bytes - FIRST_READ_BYTES), found.bytes)


def is_data(storage: Storage, found: Found) -> bool:
    """Whether a file ends as Parquet or ORC does, which is all that readers look at. True if it cannot be read."""
    if not found.regular:
        return True
    if found.bytes < MIN_FILE_BYTES:
        return False
    try:
        end = bytes_of(storage, found, found.bytes - MIN_FILE_BYTES, found.bytes)
    except PmeError:
        return True
    return end[-MAGIC_BYTES:] in {ENCRYPTED_FOOTER, READABLE_FOOTER} or ends_as_orc(end)


@contextmanager
def footer_of(storage: Storage, found: Found, known: bytes | None = None) -> Iterator[tuple[bool, bytes]]:
    """Whether a file's footer is encrypted, and the footer's bytes.

    Args:
        storage: where the file is.
        found: the file.
        known: its last bytes, if they were read before.
    """
    tail = last_bytes(storage, found) if known is None else known
    length = _footer_length(found, tail)
    encrypted = tail.endswith(ENCRYPTED_FOOTER)
    missing = length + TAIL_BYTES - len(tail)
    with LARGE if missing > 0 else nullcontext():
        if missing > 0:
            end = found.bytes - len(tail)
            tail = bytes_of(storage, found, end - missing, end) + tail
        yield encrypted, tail[-TAIL_BYTES - length : -TAIL_BYTES]


def _footer_length(found: Found, tail: bytes) -> int:
    if tail[-MAGIC_BYTES:] not in {ENCRYPTED_FOOTER, READABLE_FOOTER}:
        raise problems.damaged(found.shown, "it does not end in PAR1 or PARE")
    length = int.from_bytes(tail[-TAIL_BYTES:-MAGIC_BYTES], "little")
    if not 0 < length <= found.bytes - MIN_FILE_BYTES:
        raise problems.damaged(
            found.shown, f"its footer cannot be {length} bytes long in a file of {found.bytes} bytes"
        )
    if length > MAX_FOOTER_BYTES:
        raise problems.too_long(found.shown, length, MAX_FOOTER_BYTES)
    return length


def bytes_of(storage: Storage, found: Found, start: int, end: int) -> bytes:
    """Some bytes of a file.

    Raises:
        PmeError: the storage does not return them.
    """
    try:
        content = storage.read(found.path, start, end)
    except Exception as failed:
        raise not_read(found.shown, failed) from failed
    if len(content) != end - start:
        why = f"only {len(content)} of {end - start} bytes were read"
        raise problems.damaged(found.shown, why)
    return content
