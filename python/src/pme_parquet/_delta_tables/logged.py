"""A Delta table as the session's own Delta sees it: its newest version, its properties, its live files, its commits.

Nothing here reads the log: Delta's classes do, and Delta's commands write it. A table that an operation changes is used
in a session of its own, which shares nothing with the user's but the Spark context, so the user's settings stay.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import path_of
from pme_parquet._audience import DELTA_PACKAGES, Words
from pme_parquet._delta.columns import joined
from pme_parquet._spark.driver import frame_of, method_of
from pme_parquet.errors import BadOptionError, PmeError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from pme_parquet._arguments import PathLike

# Delta refuses to order by a column without statistics, and an encrypted one has none.
_WITHOUT_STATISTICS = "spark.databricks.delta.optimize.zorder.checkStatsCollection.enabled"
_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_PARTITIONS = "spark.databricks.delta.snapshotPartitions"
_DELTAS_PARTITIONS = 50
_MARKS = "_pme_encrypting"
_PLAINTEXT_FILES = "pme-parquet.plaintextFiles"


@dataclass(frozen=True)
class Version:
    """A version of a table.

    Attributes:
        number: of the version.
        properties: of the table.
        schema: the text of its schema, with physical names.
        partitions: its partition columns.
        files: its live files, as rows of `add` actions in the JVM.
        removed: number of files that were removed, and that VACUUM has not deleted yet as far as the log says.
    """

    number: int
    properties: dict[str, str]
    schema: str
    partitions: tuple[str, ...]
    files: Any
    removed: int


class LoggedTable:
    """A Delta table and a session of its own.

    Attributes:
        path: the directory of the table, with its file system.
        spark: the session.
    """

    def __init__(self, spark: SparkSession, table: PathLike, where: str) -> None:
        """Finds the table.

        Raises:
            UnsupportedError: the session has no Delta.
            BadOptionError: there is no Delta table of this name or at this path.
        """
        self.spark = _own_session(spark)
        self._where = where
        session: Any = self.spark
        self._jvm, self._session = session._jvm, session._jsparkSession  # noqa: SLF001 as PySpark does
        # Of a name that no class has, py4j makes a package.
        if type(self._jvm.org.apache.spark.sql.delta.DeltaLog).__name__ != "JavaClass":
            add = Words(
                "Add delta-spark, and the extensions of docs/delta.md.",
                f"Add it with --packages: {DELTA_PACKAGES}. The extensions are set already.",
            )
            raise UnsupportedError(f"{where}: this session has no Delta Lake. {add}")
        self.path = self._found(table)
        if self.version().number < 0:
            raise BadOptionError(f"{where}: {self.path} is not a Delta table: it has no _delta_log. Check the path.")

    @property
    def name(self) -> str:
        """The table in SQL."""
        return f"delta.`{self.path.replace('`', '``')}`"

    def _found(self, table: PathLike) -> str:
        if isinstance(table, str) and "/" not in table and not Path(table).is_dir():
            # A name; Delta's own form of a path has a slash.
            try:
                [row] = self.spark.sql(f"DESCRIBE DETAIL {self._quoted(table)}").select("format", "location").collect()
            except Exception as failed:
                raise BadOptionError(f"{self._where}: there is no table '{table}'. Check its name or path.") from failed
            if row[0] != "delta":
                raise BadOptionError(f"{self._where}: '{table}' is no Delta table, but one of the format {row[0]}.")
            return str(row[1])
        text = path_of(table, self._where)
        if text.startswith("delta.`") and text.endswith("`"):
            text = text[7:-1].replace("``", "`")
        path = self._jvm.org.apache.hadoop.fs.Path(text)
        return str(path.getFileSystem(self.configuration()).makeQualified(path).toString())

    def _quoted(self, name: str) -> str:
        parts = self._session.sessionState().sqlParser().parseMultipartIdentifier(name)
        return ".".join("`" + str(parts.apply(at)).replace("`", "``") + "`" for at in range(parts.size()))

    def configuration(self) -> Any:  # noqa: ANN401 of the JVM
        """The Hadoop configuration of the session."""
        return self._session.sessionState().newHadoopConf()

    def version(self) -> Version:
        """The newest version."""
        snapshot = self._jvm.org.apache.spark.sql.delta.DeltaLog.forTableWithSnapshot(self._session, self.path)._2()  # noqa: SLF001 of a tuple
        if snapshot.version() < 0:
            return Version(-1, {}, "", (), None, 0)
        metadata = json.loads(snapshot.metadata().json())["metaData"]
        return Version(
            int(snapshot.version()),
            metadata.get("configuration", {}),
            metadata["schemaString"],
            tuple(metadata.get("partitionColumns", ())),
            snapshot.allFiles().toDF(),
            int(snapshot.tombstones().count()),
        )

    def live(self, version: Version) -> frozenset[str]:
        """The paths of a version's live files."""
        return frozenset(row[0] for row in self.frame(version.files).select("path").toLocalIterator())

    def frame(self, jdf: Any) -> DataFrame:  # noqa: ANN401 of the JVM
        """The JVM's frame as a Python one."""
        return frame_of(self.spark, jdf)

    def schema(self, text: str) -> Any:  # noqa: ANN401 of the JVM
        """A schema from its text."""
        return self._jvm.org.apache.spark.sql.types.DataType.fromJson(text)

    def clustering(self) -> tuple[str, ...]:
        """The columns of liquid clustering."""
        detail = self.spark.sql(f"DESCRIBE DETAIL {self.name}")
        if "clusteringColumns" not in detail.columns:
            return ()
        return tuple(detail.select("clusteringColumns").collect()[0][0] or ())

    def alter(self, changed: Mapping[str, str], removed: Sequence[str] = ()) -> None:
        """Changes properties, each of the two kinds in one commit.

        The guard of commits lets no statement change the keys of a table.
        """
        change = method_of(self.spark, "DeltaKeys", "change", self._where)
        change(self.path, dict(changed), list(removed))

    def rewrite(self, order: str | None, text: str) -> tuple[int, int]:
        """Rewrites all live files in one commit, which changes no row.

        Args:
            order: the column to order rows by; None for a table with liquid clustering.
            text: the end of the commit's `userMetadata`; the user's own text stays before it.

        Returns:
            The numbers of files that were replaced, and that replaced them.
        """
        self.spark.conf.set(_WITHOUT_STATISTICS, "false")
        self.spark.conf.set(_PLAINTEXT_FILES, "allow")
        how = "FULL" if order is None else f"ZORDER BY ({order})"
        own = self.spark.conf.get(_USER_METADATA, None)
        self.spark.conf.set(_USER_METADATA, f"{own} {text}" if own else text)
        try:
            [row] = self.spark.sql(f"OPTIMIZE {self.name} {how}").select("metrics").collect()
        finally:
            if own is None:
                self.spark.conf.unset(_USER_METADATA)
            else:
                self.spark.conf.set(_USER_METADATA, own)
        return int(row[0]["numFilesRemoved"]), int(row[0]["numFilesAdded"])

    def commits(self, text: str, after: int) -> list[int]:
        """The versions after one whose `userMetadata` ends with a text.

        Raises:
            LookupError: the log does not have all commits after that version anymore.
        """
        newest = self.version().number
        if newest <= after:
            return []
        history = self.spark.sql(f"DESCRIBE HISTORY {self.name} LIMIT {newest - after}")
        found = history.where(f"version > {after}").select("version", "userMetadata").collect()
        if len(found) < newest - after:
            raise LookupError(f"commits after version {after}")
        return sorted(int(row[0]) for row in found if (row[1] or "").endswith(text))

    def marks(self) -> list[str]:
        """The names of marks below the table, which Delta and VACUUM do not look at."""
        place = self._jvm.org.apache.hadoop.fs.Path(self.path, _MARKS)
        files = place.getFileSystem(self.configuration())
        if not files.exists(place):
            return []
        return [str(status.getPath().getName()) for status in files.listStatus(place)]

    def place_of(self, mark: str) -> str:
        """The path of a mark."""
        return f"{self.path}/{_MARKS}/{mark}"

    def mark(self, name: str) -> None:
        """Makes a mark."""
        place = self._jvm.org.apache.hadoop.fs.Path(self.place_of(name))
        place.getFileSystem(self.configuration()).create(place, False).close()  # noqa: FBT003 of the JVM

    def unmark(self, name: str) -> None:
        """Removes a mark, and the directory of marks if it was the last one."""
        place = self._jvm.org.apache.hadoop.fs.Path(self.place_of(name))
        files = place.getFileSystem(self.configuration())
        files.delete(place, False)  # noqa: FBT003 of the JVM
        if not self.marks():
            files.delete(place.getParent(), False)  # noqa: FBT003 of the JVM

    def checkpoint(self) -> None:
        """Writes a checkpoint of the newest version.

        Raises:
            PmeError: there is none afterwards. Delta only logs a warning.
        """
        version = self.version().number
        log = self._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self._session, self.path)
        log.checkpoint()
        last = log.readLastCheckpointFile()
        if last.isEmpty() or last.get().version() < version:
            raise PmeError(
                f"{self._where}: the live files have new keys, but Delta could not write a checkpoint with them. Keep "
                "the old versions of the keys until there is a newer checkpoint."
            )

    def content(self, version: int) -> tuple[int, str]:
        """The number of rows of a version, and a sum over their hashes, which does not depend on their order."""
        self.spark.conf.set(_PLAINTEXT_FILES, "allow")
        # By a statement: Delta's reader would take the settings of the thread's active session, the user's.
        rows = self.spark.sql(f"SELECT * FROM {self.name} VERSION AS OF {version}")  # noqa: S608 the name is quoted, and the version a number
        parts = [
            f"to_json(struct({joined((field.name,))}))" if "map<" in field.dataType.simpleString() else quoted
            for field in rows.schema.fields
            for quoted in ["`" + field.name.replace("`", "``") + "`"]
        ]
        hashed = f"CAST(sum(CAST(xxhash64({', '.join(parts)}) AS DECIMAL(20, 0))) AS STRING)"
        [row] = rows.selectExpr("count(*)", hashed).collect()
        return int(row[0]), str(row[1])


def _own_session(spark: SparkSession) -> SparkSession:
    session: Any = spark
    own = type(spark)(spark.sparkContext, session._jsparkSession.cloneSession())  # noqa: SLF001 as PySpark does
    # Delta reads the log in 50 tasks, in each of some ten steps: on few cores, these took half of the time.
    if spark.conf.get(_PARTITIONS, None) is None:
        own.conf.set(_PARTITIONS, str(min(_DELTAS_PARTITIONS, spark.sparkContext.defaultParallelism)))
    return own
