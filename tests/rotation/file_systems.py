"""Hadoop file systems for these tests: one that stops in the middle, and one that is a store of objects."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.kms.counting import add_to_class_path, compile_java

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest
    from pyspark.sql import SparkSession

STOPPING = {"fs.file.impl": "rotation.StoppingFileSystem", "fs.file.impl.disable.cache": "true"}
AFTER = "stopping.after"
NEVER = 1_000_000


def store(scheme: str) -> dict[str, str]:
    """Return the options under which a scheme names the store of objects."""
    return {f"fs.{scheme}.impl": "rotation.StoreFileSystem", f"fs.{scheme}.impl.disable.cache": "true"}


_LOADED: set[str] = set()


def load(spark: SparkSession, directories: pytest.TempPathFactory) -> None:
    """Put the file systems, once, where driver and executors of a local session look for classes."""
    application = spark.sparkContext.applicationId
    if application in _LOADED:
        return
    _LOADED.add(application)
    classes = directories.mktemp("file-systems") / "classes"
    compile_java(sorted(Path(__file__).parent.glob("*.java")), classes)
    add_to_class_path(spark, classes)


@contextmanager
def stopping(spark: SparkSession, after: int) -> Iterator[None]:
    """Let the file system make so many changes, and no more."""
    system: Any = spark._jvm.java.lang.System  # type: ignore[union-attr]
    system.setProperty(AFTER, str(after))
    try:
        yield
    finally:
        system.clearProperty(AFTER)


def changes_left(spark: SparkSession) -> int:
    """Return how many changes the file system would still make."""
    system: Any = spark._jvm.java.lang.System  # type: ignore[union-attr]
    return int(system.getProperty(AFTER))
