"""A Spark with a reader that vendors changed, so ours cannot use it: Spark's own reader reads, with one warning."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pyspark
import pytest

import pme_parquet as pme
from tests.packaging.places import submitted

pytestmark = pytest.mark.nightly

PACKAGE = "org/apache/spark/sql/execution/datasources/parquet"
READERS = ("SpecificParquetRecordReaderBase", "VectorizedParquetRecordReader")


def renamed(content: bytes, old: str, new: str) -> bytes:
    """Rename a field in a class file: its name is a string of known length there."""

    def constant(name: str) -> bytes:
        return b"\x01" + len(name).to_bytes(2, "big") + name.encode()

    assert constant(old) in content
    return content.replace(constant(old), constant(new))


@pytest.fixture
def changed_spark(tmp_path: Path) -> Path:
    """Return a folder with two classes of this Spark in which a field has another name."""
    [jar] = (Path(pyspark.__file__).parent / "jars").glob("spark-sql_*.jar")
    folder = tmp_path / "changed"
    with zipfile.ZipFile(jar) as classes:
        for reader in READERS:
            entry = f"{PACKAGE}/{reader}.class"
            target = folder / entry
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(renamed(classes.read(entry), "writerVersion", "versionOfWriter"))
    return folder


def test_a_changed_spark_reads_with_its_own_reader_and_says_so_once(changed_spark: Path, tmp_path: Path) -> None:
    settings = {"spark.driver.extraClassPath": str(changed_spark)}
    done = submitted("two_reads.py", [str(tmp_path / "table")], settings, options=["--jars", pme.jar_path()])
    assert done.stdout.count("ROWS 65") == 2
    [warning] = [line for line in done.stderr.splitlines() if "reader=spark is used instead of reader=pages" in line]
    assert re.search(r"WARN.*NoSuchFieldException: writerVersion", warning)


def test_an_unchanged_spark_gives_no_such_warning(tmp_path: Path) -> None:
    done = submitted("two_reads.py", [str(tmp_path / "table")], {}, options=["--jars", pme.jar_path()])
    assert done.stdout.count("ROWS 65") == 2
    assert "reader=spark is used" not in done.stderr
