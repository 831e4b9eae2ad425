"""Encrypted files in layouts that only PyArrow writes, under the master keys of the testkit's ``TestKms``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

from tests.support.interop.arrow_kms import LocalKms
from tests.support.interop.samples import arrow_frame

if TYPE_CHECKING:
    from pathlib import Path

ALGORITHM = "AES_GCM_V1"


def table(count: int) -> pa.Table:
    """Return a table of the shapes that differ between writers; ``id`` numbers its rows."""
    frame = arrow_frame()
    rows = pa.concat_tables([frame] * (count // frame.num_rows + 1)).slice(0, count)
    # PyArrow writes sliced chunks of maps in a way that makes row readers lose count of their levels.
    return rows.set_column(0, frame.schema.field("id"), pa.array(range(count), type=pa.int64())).combine_chunks()


def write(rows: pa.Table, path: Path, algorithm: str = ALGORITHM, row_group_size: int = 1000, **settings: Any) -> None:
    """Write one file under one key; settings are PyArrow's own."""
    config = pe.EncryptionConfiguration(footer_key="footer", uniform_encryption=True, encryption_algorithm=algorithm)
    factory = pe.CryptoFactory(lambda _: LocalKms())
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
    pq.write_table(rows, path, encryption_properties=properties, row_group_size=row_group_size, **settings)
