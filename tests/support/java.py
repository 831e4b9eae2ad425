"""Java classes of the tests: compiled with the JDK that Spark runs on, and put where Spark looks for classes."""

from __future__ import annotations

import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyspark

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest
    from pyspark.sql import SparkSession

COMPILED = Path(__file__).resolve().parents[2] / "target" / "tests" / "classes"
QUICK = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-proc:none")

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


def compile_to(classes: Path, *sources: Path, against: Sequence[Path] = ()) -> None:
    """Put compiled classes into a new directory. Unchanged sources are compiled once for each Spark.

    Args:
        against: jars that the sources need besides Spark's.
    """
    content = b"".join(path.read_bytes() for path in (*sources, *against))
    kept = COMPILED / sha256(pyspark.__version__.encode() + content).hexdigest()[:16]
    if not kept.exists():
        COMPILED.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=COMPILED) as made:
            jars = Path(pyspark.__file__).parent / "jars"
            command: Sequence[Any] = [
                java().with_name("javac"),
                *QUICK,
                "-cp",
                os.pathsep.join([*map(str, against), f"{jars}/*"]),
                "-d",
                f"{made}/c",
                *sources,
            ]
            subprocess.run(command, check=True)
            try:
                Path(made, "c").rename(kept)
            except OSError:
                # Another process of `make test` may have compiled them meanwhile.
                if not kept.exists():
                    raise
    shutil.copytree(kept, classes)


def add_to_class_path(spark: SparkSession, classes: Path) -> None:
    """Put classes where driver and executors of a local session look for them."""
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader.addURL(jvm.java.io.File(str(classes)).toURI().toURL())


def java() -> Path:
    """Return the java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    return (Path(home) / "bin" / "java" if home else Path(shutil.which("java") or "java")).resolve()
