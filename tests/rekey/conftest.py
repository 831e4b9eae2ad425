"""A plaintext table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.frames import people

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

INDEXED = {"parquet.page.row.count.limit": "10", "parquet.bloom.filter.enabled#name": "true"}


@pytest.fixture
def plain(spark: SparkSession, tmp_path: Path) -> Path:
    """Return a plaintext table with partitions, page indexes and Bloom filters."""
    path = tmp_path / "plain"
    people(spark).write.options(**INDEXED).partitionBy("country").parquet(str(path))
    return path
