"""Files that PyArrow encrypts and reads, under the master keys of the testkit's ``TestKms``.

Its KMS wraps as parquet-java's key tools do, ``KeyToolkit.encryptKeyLocally``: base64(nonce 12, ciphertext, tag 16),
AES-GCM, the master key's id as AAD.
"""

from __future__ import annotations

import base64
import hashlib
import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.support.interop.modes import COLUMNS, GCM, Mode
from tests.support.interop.samples import arrow_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


NONCE_BYTES = 12


def master_key(name: str) -> bytes:
    """Return the master key that ``TestKms`` has under this name."""
    return hashlib.sha256(f"pme-testkit:{name}".encode()).digest()[:16]


class LocalKms(pe.KmsClient):  # type: ignore[misc] # PyArrow has no types
    """Wraps and unwraps with master keys made from their names."""

    def __init__(self, key: Callable[[str], bytes] = master_key) -> None:
        super().__init__()
        self._key = key

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> str:
        nonce = os.urandom(NONCE_BYTES)
        cipher = AESGCM(self._key(master_key_identifier))
        sealed = cipher.encrypt(nonce, bytes(key_bytes), master_key_identifier.encode())
        return base64.b64encode(nonce + sealed).decode()

    def unwrap_key(self, wrapped_key: str, master_key_identifier: str) -> bytes:
        blob = base64.b64decode(wrapped_key)
        cipher = AESGCM(self._key(master_key_identifier))
        return cipher.decrypt(blob[:NONCE_BYTES], blob[NONCE_BYTES:], master_key_identifier.encode())


def write(
    table: pa.Table, path: Path, mode: Mode, columns: Mapping[str, list[str]] = COLUMNS, **settings: object
) -> None:
    """Write one encrypted file with PyArrow's key tools."""
    keys = {"uniform_encryption": True} if mode.uniform else {"column_keys": columns}
    config = pe.EncryptionConfiguration(
        footer_key="footer",
        encryption_algorithm=mode.algorithm,
        plaintext_footer=mode.plaintext_footer,
        double_wrapping=mode.double_wrapping,
        internal_key_material=not mode.external,
        data_key_length_bits=mode.bits,
        **keys,
    )
    where = {"parquet_file_path": str(path)} if mode.external else {}
    factory, connection = pe.CryptoFactory(lambda _: LocalKms()), pe.KmsConnectionConfig()
    properties = factory.file_encryption_properties(connection, config, **where)
    pq.write_table(table, path, encryption_properties=properties, **{"row_group_size": 25, **settings})


def read(path: Path, *, external: bool, key: Callable[[str], bytes] = master_key) -> pa.Table:
    """Read one encrypted file with PyArrow's key tools."""
    where = {"parquet_file_path": str(path)} if external else {}
    factory, connection = pe.CryptoFactory(lambda _: LocalKms(key)), pe.KmsConnectionConfig()
    properties = factory.file_decryption_properties(connection, **where)
    return pq.ParquetFile(path, decryption_properties=properties).read()


def table(count: int) -> pa.Table:
    """Return a table of the shapes that differ between writers; ``id`` numbers its rows."""
    frame = arrow_frame()
    rows = pa.concat_tables([frame] * (count // frame.num_rows + 1)).slice(0, count)
    # PyArrow writes sliced chunks of maps in a way that makes row readers lose count of their levels.
    return rows.set_column(0, frame.schema.field("id"), pa.array(range(count), type=pa.int64())).combine_chunks()


def write_layout(rows: pa.Table, path: Path, algorithm: str = GCM, row_group_size: int = 1000, **settings: Any) -> None:
    """Write one file under one key; settings are PyArrow's own."""
    mode = Mode(
        uniform=True, plaintext_footer=False, algorithm=algorithm, bits=128, external=False, double_wrapping=True
    )
    write(rows, path, mode, row_group_size=row_group_size, **settings)
