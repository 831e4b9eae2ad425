"""Tables: to rotate, or with files that no sealing write has made; and what is in the files of any."""

from __future__ import annotations

import base64
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from tests.support.canary import data_files, files_under

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

OLD = ("footer", "pii", "pay")
NEW = {"footer": "footer-2", "pii": "pii-2", "pay": "pay-2"}
COLUMNS = {"pii": ["name", "ssn"], "pay": ["salary"]}
TAIL_BYTES = 8


def write(frame: DataFrame, path: str, kms: pme.PythonKms, *partitions: str, **fields: Any) -> None:
    """Write a table with ``pii`` and ``pay`` for some columns and ``footer`` for the rest."""
    encryption = pme.Encryption(kms=kms, **({"footer_key": "footer", "column_keys": COLUMNS} | fields))
    frame.write.format("pme-parquet").options(**encryption.options()).partitionBy(*partitions).save(path)


def material(path: Path) -> Path:
    """Return where a data file's key material is, if it is external."""
    return path.with_name(f"_KEY_MATERIAL_FOR_{path.name}.json")


def rows(spark: SparkSession, path: str, kms: pme.PythonKms, **options: str) -> list[str]:
    """Return the table's rows, sorted."""
    frame = spark.read.format("pme-parquet").options(**kms.options(), **options).load(path)
    return sorted(repr(row.asDict(recursive=True)) for row in frame.collect())


def pages(root: Path | str) -> dict[str, bytes]:
    """Return the bytes before the footer of each data file."""
    return {str(path.relative_to(root)): _before_footer(path.read_bytes()) for path in data_files(root)}


def _before_footer(content: bytes) -> bytes:
    [length] = struct.unpack("<I", content[-TAIL_BYTES:-4])
    return content[: len(content) - TAIL_BYTES - int(length)]


def found(root: Path | str, texts: Iterable[str]) -> list[str]:
    """Return which texts are in any file under root, directly or inside base64."""
    needles = {text: (text.encode(), *_decoded(text)) for text in texts}
    contents = [path.read_bytes() for path in files_under(root)]
    return [text for text, forms in needles.items() if any(form in content for form in forms for content in contents)]


def _decoded(text: str) -> tuple[bytes, ...]:
    try:
        return (base64.b64decode(text, validate=True),)
    except ValueError:
        return ()


def names(root: Path | str) -> set[str]:
    """Return the names of all files under root, hidden ones included."""
    return {path.name for path in files_under(root)}


def expected(table: str | Path, snapshots: str | Path | None = None) -> str:
    """Return the ``expect`` of a seal that takes the table as it is: its last version, or that it has none."""
    directory = Path(snapshots or Path(table, "_pme_snapshots"))
    versions = sorted(file.stem[-10:] for file in directory.glob("snapshot-*.json"))
    return str(int(versions[-1])) if versions else "unsealed"


def plant(writer: DataFrameWriter, table: str | Path) -> None:
    """Put files into the table that no write to it has made: a write to a sealed table would seal them."""
    elsewhere = f"{table}-planted"
    writer.save(elsewhere)
    spark: Any = writer._spark
    path = spark._jvm.org.apache.hadoop.fs.Path
    source = path(elsewhere)
    files = source.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    found = files.listFiles(source, True)  # noqa: FBT003 Java's
    while found.hasNext():
        file = found.next().getPath()
        name = file.toString().rpartition("-planted/")[2]
        if file.getName().startswith("part-"):
            files.mkdirs(path(f"{table}/{name}").getParent())
            assert files.rename(file, path(f"{table}/{name}"))
    files.delete(source, True)  # noqa: FBT003 Java's
