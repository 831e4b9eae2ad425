"""The connector's jar in a program that has parquet-java and no Spark."""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path

import pyspark
import pytest

import pme_parquet as pme
from tests.support import archive, java

SOURCE = Path(__file__).with_name("WithoutSpark.java")


@pytest.mark.slow
def test_the_factory_works_where_there_is_no_spark(tmp_path: Path) -> None:
    java.compile_to(tmp_path / "classes", SOURCE)
    keys, file = tmp_path / "keys.txt", tmp_path / "file.parquet"
    keys.write_text(f"footer={base64.b64encode(bytes(range(16))).decode()}")
    others = (
        jar for jar in (Path(pyspark.__file__).parent / "jars").glob("*.jar") if not jar.name.startswith("spark-")
    )
    path = os.pathsep.join(map(str, [tmp_path / "classes", pme.jar_path(), *others]))
    command = [str(java.java()), *archive.OPTIONS.split(), "-cp", path, "WithoutSpark", str(file), str(keys)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, "7"), done.stderr
    assert file.read_bytes()[-4:] == b"PARE"
