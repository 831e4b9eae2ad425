"""Seals of tables whose files a test has put there by other ways than a sealing write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrameWriter


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
