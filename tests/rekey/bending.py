"""A disk that alters what is written to it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support import java

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest
    from pyspark.sql import SparkSession

    from tests.support.source import Conf

Bend = Callable[[int], AbstractContextManager[None]]

BENDING = {"fs.file.impl": "rekey.BendingFileSystem", "fs.file.impl.disable.cache": "true"}


def bending(spark: SparkSession, directories: pytest.TempPathFactory, conf: Conf) -> Bend:
    """Return a function that alters one byte of each Parquet file that is written: ``with bend(100): …``."""
    java.load(spark, directories, Path(__file__).with_name("BendingFileSystem.java"))
    system: Any = spark._jvm.java.lang.System  # type: ignore[union-attr]

    @contextmanager
    def bend(at: int) -> Iterator[None]:
        system.setProperty("bending.at", str(at))
        try:
            with conf(BENDING):
                yield
        finally:
            system.clearProperty("bending.at")

    return bend
