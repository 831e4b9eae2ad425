"""Makes ORC files with ORC's own library in Spark's jars, and asks it what it finds in them. No session is needed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pyspark

from tests.support.java import java
from tests.support.session import ROOT

SOURCE = Path(__file__).with_name("OrcFiles.java")
DATA = ROOT / "tests" / "data" / "orc"


def write(directory: Path) -> list[Path]:
    """Write all files into a directory."""
    _run("write", str(directory))
    return sorted(directory.glob("*.orc"))


def facts(files: list[Path]) -> list[dict[str, Any]]:
    """Return what ORC's reader says of each file, without any key."""
    return [json.loads(line) for line in _run("facts", *map(str, files)).splitlines() if line.startswith("{")]


def _run(*arguments: str) -> str:
    jars = Path(pyspark.__file__).parent / "jars"
    command = [str(java()), "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", str(SOURCE), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"TZ": "UTC"})
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout
