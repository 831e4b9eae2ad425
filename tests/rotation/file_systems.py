"""Hadoop file systems for these tests: one that stops in the middle, and one that is a store of objects."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

from tests.kms.counting import _javac

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


def compile_to(classes: Path) -> None:
    """Compile the file systems with the JDK that Spark runs on."""
    classes.mkdir(parents=True)
    jars = Path(pyspark.__file__).parent / "jars"
    sources = sorted(Path(__file__).parent.glob("*.java"))
    subprocess.run([_javac(), "-cp", f"{jars}/*", "-d", classes, *sources], check=True)


_LOADED: set[str] = set()


def load(spark: SparkSession, directories: pytest.TempPathFactory) -> None:
    """Put the file systems, once, where driver and executors of a local session look for classes."""
    application = spark.sparkContext.applicationId
    if application in _LOADED:
        return
    _LOADED.add(application)
    classes = directories.mktemp("file-systems") / "classes"
    compile_to(classes)
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader.addURL(jvm.java.io.File(str(classes)).toURI().toURL())


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
