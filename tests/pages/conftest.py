"""Fixtures of the page pipeline's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.session import TEST_KMS
from tests.support.source import FORMAT, Pair, Source

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    import pme_parquet as pme


@pytest.fixture
def readers(spark: SparkSession, enc: pme.Encryption, keys: pme.Keystore, tmp_path: Path) -> Pair:
    """Return one place seen through ``reader=pages`` and through ``reader=spark``."""
    write, path = enc.options(), str(tmp_path / "table")
    pages, spark_own = ({**keys.options(), "reader": reader} for reader in ("pages", "spark"))
    return Pair(Source(spark, FORMAT, path, write, pages), Source(spark, FORMAT, path, write, spark_own))


@pytest.fixture
def arrow_readers(spark: SparkSession, tmp_path: Path) -> Pair:
    """Return a directory for files of PyArrow, seen through both readers."""
    (tmp_path / "arrow").mkdir()
    pages, spark_own = ({"kms": TEST_KMS, "reader": reader} for reader in ("pages", "spark"))
    path = str(tmp_path / "arrow")
    return Pair(Source(spark, FORMAT, path, {}, pages), Source(spark, FORMAT, path, {}, spark_own))
