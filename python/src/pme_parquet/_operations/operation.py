"""How every operation of the connector begins: it checks its session, and reads its caller's arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import kms_options, options_of, path_of
from pme_parquet._operations.watching import watched
from pme_parquet._spark.driver import frame_of, method_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from pme_parquet._arguments import KmsLike, PathLike


class Operation:
    """A method of one of the connector's objects, and the session to call it in.

    Example:
        usage = Operation(spark, "pme.key_usage", "KeyUsage", "of")
        usage.run(usage.path(path), usage.reading(kms, options), progress=None, interrupted="nothing was changed.")
    """

    def __init__(self, spark: SparkSession, name: str, target: str, method: str) -> None:
        """Checks the session.

        Args:
            spark: a classic session.
            name: the function that the user called, for messages.
            target: the connector's object.
            method: the method of the object.

        Raises:
            PmeError: the session is not a classic one, or has no connector that fits.
        """
        self._spark = spark
        self._name = name
        self._call = method_of(spark, target, method, name)

    def path(self, path: PathLike) -> str:
        """A path as the connector takes it."""
        return path_of(path, self._name)

    def reading(self, kms: KmsLike | None, options: Mapping[str, Any] | None) -> dict[str, str]:
        """The options to read a table with."""
        return kms_options(kms, self._name) | options_of(options, self._name)

    def call(self, *arguments: Any) -> Any:  # noqa: ANN401 arguments of py4j
        """Calls the method without showing progress."""
        return self._call(*arguments)

    def run(self, *arguments: Any, progress: bool | None, interrupted: str) -> Any:  # noqa: ANN401 as above
        """Calls the method and shows its progress.

        Args:
            arguments: of the method; mappings become Java's.
            progress: whether to show it; by default on a terminal and in a notebook.
            interrupted: the state after Ctrl-C, and how to continue.
        """
        return watched(
            self._spark, lambda: self._call(*arguments), name=self._name, progress=progress, interrupted=interrupted
        )

    def frame(self, jdf: Any) -> DataFrame:  # noqa: ANN401 py4j is untyped
        """The JVM's frame as a Python one."""
        return frame_of(self._spark, jdf)
