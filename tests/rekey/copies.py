"""The tables to copy, and readers that do not know of the copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from tests.support.interop.modes import COLUMNS, Mode
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def encryption(mode: Mode) -> pme.Encryption:
    """Return the mode as an encryption."""
    settings: dict[str, Any] = (
        {"uniform_key": "footer"} if mode.uniform else {"footer_key": "footer", "column_keys": COLUMNS}
    )
    return pme.Encryption(
        kms=TEST_KMS,
        plaintext_footer=mode.plaintext_footer,
        algorithm=mode.algorithm,  # type: ignore[arg-type] # one of the two
        data_key_bits=mode.bits,  # type: ignore[arg-type] # one of the three
        kek_bits=mode.bits,  # type: ignore[arg-type] # as above
        key_material="external" if mode.external else "internal",
        double_wrapping=mode.double_wrapping,
        **settings,
    )


def copy(spark: SparkSession, source: Path | str, target: Path | str, enc: pme.Encryption, **options: str) -> None:
    """Copy a table; options are for reading it."""
    pme.rekey(spark, str(source), str(target), enc, options=options)


def left(directory: Path) -> list[str]:
    """Return the contents of a directory, including hidden files."""
    return sorted(path.name for path in directory.iterdir())
