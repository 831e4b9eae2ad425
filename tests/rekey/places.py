"""Tables that are encrypted in place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.support.canary import files_under
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENC = pme.Encryption(kms=TEST_KMS, footer_key="footer", column_keys={"pii": ["name", "ssn"]})
EXTERNAL = pme.Encryption(kms=TEST_KMS, uniform_key="footer", key_material="external")
MANIFEST = Path(".pme-encrypting", "manifest.json")


def read(spark: SparkSession, path: Path | str, **options: str) -> DataFrame:
    """Read a table."""
    return spark.read.format("pme-parquet").options(kms=TEST_KMS, **options).load(str(path))


def in_place(spark: SparkSession, path: Path | str, enc: pme.Encryption = ENC, **options: str) -> pme.Copied:
    """Encrypt a table; options are for its file system, or the format."""
    return pme.encrypt(spark, str(path), enc=enc, in_place=True, options=options)


def hidden(path: Path) -> list[str]:
    """Return the names of the files that a run left."""
    return [file.name for file in files_under(path) if "pme-" in str(file.relative_to(path))]
