"""What a session opens for a check: a log with encrypted checkpoints, and footers that hide what is encrypted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import kms_options
from pme_parquet._delta_log import live
from pme_parquet._spark.driver import frame_of, method_of
from pme_parquet._storage import local_root
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from pme_parquet._arguments import KmsLike
    from pme_parquet._checks.delta.data import DataFile
    from pme_parquet._delta_log.live import Live

_OWN = "pme-parquet."
_JAVA = "parquet.encryption."
_AT_ONCE = 10_000


@dataclass(frozen=True)
class Opener:
    """A session, and the KMS to open footers with.

    Attributes:
        spark: a classic session.
        table: the table's directory.
        kms: the KMS that the caller named; None for the session's.
        function: the function that the user called.
    """

    spark: SparkSession
    table: str
    kms: KmsLike | None
    function: str

    def live(self, why: str) -> Live:
        """What the session's Delta says of the table."""
        return live.from_session(self._place, self.spark, why, self.function)

    def columns(self, files: Sequence[DataFile]) -> list[DataFile]:
        """The files with what their footers say of their columns; with a problem if that did not open.

        Raises:
            PmeError: the KMS that the caller named cannot be used.
        """
        named = [file for file in files if _is_kept(file.found.shown)]
        odd = [
            replace(one, unopened="Hadoop has another name for it") for one in files if not _is_kept(one.found.shown)
        ]
        try:
            found = dict(self._rows(named)) if named else {}
        except Exception as failed:  # each storage has errors of its own, and a file must not stop a check
            condition = failed.condition if isinstance(failed, PmeError) else ""
            if isinstance(failed, PmeError) and self.kms is not None:
                raise
            return odd + [replace(one, unopened=condition or type(failed).__name__) for one in named]
        return odd + [self._with(file, found) for file in named]

    @property
    def _place(self) -> str:
        local = local_root(self.table)
        if local is None:
            return self.table.rstrip("/")
        # The JVM has a working directory of its own, and knows no `~`.
        return f"file:{Path(local).expanduser().resolve()}".rstrip("/")

    def _at(self, file: DataFile) -> str:
        return f"{self._place}/{file.found.shown}"

    def _rows(self, files: Sequence[DataFile]) -> Iterator[tuple[str, Any]]:
        look = method_of(self.spark, "LoggedFiles", "columns", self.function)
        options = kms_options(self.kms, self.function) or self._session_kms()
        for start in range(0, len(files), _AT_ONCE):
            some = files[start : start + _AT_ONCE]
            jdf = look([self._at(file) for file in some], [file.found.bytes for file in some], options)
            for row in frame_of(self.spark, jdf).collect():
                yield row["path"], row

    def _session_kms(self) -> dict[str, str]:
        """The options of the KMS that the session's Hadoop configuration names."""
        session: Any = self.spark
        conf = session._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 as PySpark does
        own, java = dict(conf.getPropsWithPrefix(_OWN)), dict(conf.getPropsWithPrefix(_JAVA))
        kms = {name: value for name, value in own.items() if name.lower().startswith("kms")}
        return kms | {_JAVA + name: value for name, value in java.items() if name.lower().startswith("kms.")}

    def _with(self, file: DataFile, found: Mapping[str, Any]) -> DataFile:
        row = found[self._at(file)]
        if row["problem"]:
            return replace(file, unopened=row["problem"])
        sealed, plain = frozenset(row["encrypted"]), frozenset(row["plaintext"])
        return replace(file, opened=True, columns=replace(file.columns, sealed=sealed, plain=plain))


def _is_kept(name: str) -> bool:
    """Whether Hadoop's paths keep a name. A store of objects may have others, which would lead to another file."""
    return not {"", ".", ".."}.intersection(name.split("/"))
