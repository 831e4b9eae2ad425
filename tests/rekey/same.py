"""Ways to encrypt a table, and what must be the same after it is decrypted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

import pme_parquet as pme
from tests.support.session import SPARK_VERSION, TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

ENC = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": ["name", "ssn"]})


MODES = {
    "one key": pme.Encryption(kms=TEST_KMS, uniform_key="footer"),
    "column keys": ENC,
    "CTR beside": pme.Encryption(
        kms=TEST_KMS,
        footer_key="footer",
        column_keys={"pii": ["name", "tags"], "pay": ["salary", "scores"]},
        unlisted_columns="plaintext",
        plaintext_footer=True,
        algorithm="AES_GCM_CTR_V1",
        key_material="external",
        double_wrapping=False,
    ),
}


def assert_same(before: Path, after: Path) -> None:
    """Compare bytes, metadata and rows; no bytes with parquet-java 1.13, which omits optional fields of the footer."""
    if SPARK_VERSION >= (4, 0):
        assert after.read_bytes() == before.read_bytes()
    old, new = pq.ParquetFile(before), pq.ParquetFile(after)
    assert new.metadata.to_dict() == old.metadata.to_dict() | {"serialized_size": new.metadata.serialized_size}
    assert new.metadata.metadata == old.metadata.metadata
    assert new.read() == old.read()
