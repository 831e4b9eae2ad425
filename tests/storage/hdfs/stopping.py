"""A client of HDFS that makes so many changes and no more, or fails at one of them."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support import file_systems, java
from tests.support.storage import s3

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest
    from pyspark.sql import SparkSession

SETTINGS = {
    "fs.hdfs.impl": "hdfs.StoppingHdfs",
    "fs.hdfs.impl.disable.cache": "true",
    "fs.AbstractFileSystem.hdfs.impl": "hdfs.StoppingHdfs$Context",
}
PASSES = "stopping.passes"


def load(spark: SparkSession, directories: pytest.TempPathFactory, *more: str) -> None:
    """Put the client, and others of its folder, where the session looks for classes."""
    java.load(spark, directories, *(Path(__file__).with_name(name) for name in ("StoppingHdfs.java", *more)))


@contextmanager
def stopping(spark: SparkSession, after: int, *, passes: bool = False) -> Iterator[None]:
    """Let the client of the session make this many changes.

    Args:
        passes: whether only the next change fails.
    """
    system: Any = spark._jvm.java.lang.System  # type: ignore[union-attr]
    system.setProperty(PASSES, str(passes).lower())
    try:
        with s3.configured(spark, SETTINGS), file_systems.stopping(spark, after):
            yield
    finally:
        system.clearProperty(PASSES)
