"""Hadoop file systems for these tests: one that stops, one that synchronizes two users, and an object store."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Any

from tests.support import java
from tests.support.session import INTERPRETED, builder, session_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest
    from pyspark.sql import SparkSession

MEETING = {"fs.file.impl": "rotation.MeetingFileSystem", "fs.file.impl.disable.cache": "true"}
STOPPING = {"fs.file.impl": "rotation.StoppingFileSystem", "fs.file.impl.disable.cache": "true"}
AFTER = "stopping.after"
HALTS = "stopping.halts"
NEVER = 1_000_000
PATIENCE = 10


def store(scheme: str) -> dict[str, str]:
    """Return the options with which a scheme names the object store."""
    return {f"fs.{scheme}.impl": "rotation.StoreFileSystem", f"fs.{scheme}.impl.disable.cache": "true"}


def load(spark: SparkSession, directories: pytest.TempPathFactory) -> Path:
    """Put the file systems where driver and executors of a local session look for classes; return their directory."""
    return java.load(spark, directories, *sorted(Path(__file__).parent.glob("*.java")))


def stop_after(spark: SparkSession, changes: int, *, halts: bool = False) -> None:
    """Let the file system make this many changes: the next one fails, or else its JVM halts."""
    _system(spark).setProperty(AFTER, str(changes))
    _system(spark).setProperty(HALTS, str(halts).lower())


def until_halted(table: Path, classes: Path, after: int, change: Callable[[SparkSession], object]) -> int:
    """Change a table in a Spark of its own, whose JVM halts in the middle.

    Args:
        table: the table to change; what Spark writes goes beside it.
        classes: the directory of the file system.
        after: the number of changes that the file system makes.
        change: the change.

    Returns:
        The exit code of the JVM, or 0 if it did not end.
    """
    spark = builder(session_settings(table.parent / "scratch") | INTERPRETED).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    java.add_to_class_path(spark, classes)
    stop_after(spark, after, halts=True)
    gateway: Any = spark.sparkContext._gateway
    try:
        change(spark)
    except Exception:
        # Python only learns that nobody answers any more; other errors must be visible.
        with suppress(TimeoutExpired):
            ended: int = gateway.proc.wait(PATIENCE)
            return ended
        raise
    return 0


@contextmanager
def stopping(spark: SparkSession, after: int) -> Iterator[None]:
    """Let the file system make this many changes."""
    stop_after(spark, after)
    try:
        yield
    finally:
        _system(spark).clearProperty(AFTER)


def meet(spark: SparkSession, name: str, times: int) -> None:
    """Let two users who miss a file of this name wait for each other, this many times."""
    _system(spark).setProperty("meeting.at", name)
    spark._jvm.rotation.MeetingFileSystem.expectTwo(times)  # type: ignore[union-attr]


def have_met(spark: SparkSession) -> bool:
    """Return whether two users have waited for each other that many times."""
    return bool(spark._jvm.rotation.MeetingFileSystem.haveMet())  # type: ignore[union-attr]


def changes_left(spark: SparkSession) -> int:
    """Return how many more changes the file system would make."""
    return int(_system(spark).getProperty(AFTER))


def _system(spark: SparkSession) -> Any:
    return spark._jvm.java.lang.System  # type: ignore[union-attr]
