"""Java classes of the tests: compiled with the JDK that Spark runs on, and put where Spark looks for classes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest
    from pyspark.sql import SparkSession

_LOADED: dict[tuple[str, ...], Path] = {}


def load(spark: SparkSession, directories: pytest.TempPathFactory, *sources: Path) -> Path:
    """Compile classes and put them on a local session's class path, once; return the directory that they are in."""
    key = (spark.sparkContext.applicationId, *map(str, sources))
    if key not in _LOADED:
        classes = directories.mktemp("java") / "classes"
        compile_to(classes, *sources)
        add_to_class_path(spark, classes)
        _LOADED[key] = classes
    return _LOADED[key]


def compile_to(classes: Path, *sources: Path) -> None:
    """Compile classes to a directory."""
    jars = Path(pyspark.__file__).parent / "jars"
    command: Sequence[Any] = [java().with_name("javac"), "-cp", f"{jars}/*", "-d", classes, *sources]
    subprocess.run(command, check=True)


def add_to_class_path(spark: SparkSession, classes: Path) -> None:
    """Put classes where driver and executors of a local session look for them."""
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader.addURL(jvm.java.io.File(str(classes)).toURI().toURL())


def java() -> Path:
    """Return the java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    return (Path(home) / "bin" / "java" if home else Path(shutil.which("java") or "java")).resolve()
