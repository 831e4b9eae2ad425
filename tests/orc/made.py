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


def write(directory: Path) -> dict[Path, dict[str, Any]]:
    """Write all files into a directory, and return what ORC's reader says of each, without any key."""
    jars = Path(pyspark.__file__).parent / "jars"
    command = [str(java()), "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", str(SOURCE), str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"TZ": "UTC"})
    assert done.returncode == 0, done.stderr[-4000:]
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return dict(zip(sorted(directory.glob("*.orc")), found, strict=True))
