"""Stores that run while a test does, S3 (`s3`) and HDFS (`hdfs`), and directories in them where jobs keep tables."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from typing_extensions import Self

# Arguments of Hadoop's method. Without it, it leaves files of checksums next to the copies.
DELETES, RAW = False, True


@dataclass(frozen=True)
class Lake:
    """What a job in a process of its own needs to know of the directory where it keeps tables.

    Attributes:
        url: the directory, without a slash at its end.
        hadoop: settings of Hadoop with which a session reaches it.
        jars: what Spark lacks to reach it.
    """

    url: str
    hadoop: dict[str, str] = field(default_factory=dict)
    jars: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> Self:
        return cls(**json.loads(text))

    @property
    def text(self) -> str:
        """The same as an argument of a command."""
        return json.dumps(asdict(self))

    def settings(self) -> dict[str, str]:
        """Return settings of Spark."""
        return {f"spark.hadoop.{name}": value for name, value in self.hadoop.items()}


def copy_from(spark: SparkSession, url: str, target: Path) -> None:
    """Copy a directory with everything in it to the local disk, with the client of the session."""
    session: Any = spark
    path = session._jvm.org.apache.hadoop.fs.Path
    files = path(url).getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
    target.parent.mkdir(parents=True, exist_ok=True)
    files.copyToLocalFile(DELETES, path(url), path(str(target)), RAW)
