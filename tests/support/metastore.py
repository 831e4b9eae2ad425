"""Jobs on a real Hive metastore, which Derby keeps in a directory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.support.expect import innermost_condition

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

OPTIONS = "spark.driver.extraJavaOptions"


def settings(work: Path, common: Mapping[str, str]) -> dict[str, str]:
    """Return settings of a session, with a metastore in the directory, which another JVM opens again later."""
    return {
        **common,
        OPTIONS: f"{common[OPTIONS]} -Dderby.system.home={work}",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:{work}/metastore;create=true",
    }


@dataclass
class Statements:
    """A session of one user, and what came of the user's statements."""

    spark: SparkSession
    work: Path
    done: dict[str, Any] = field(default_factory=dict)

    def sql(self, text: str) -> list[str]:
        return sorted(repr(tuple(row)) for row in self.spark.sql(text).collect())

    def note(self, step: str, *statements: str) -> None:
        """Keep the rows of the last statement, or the condition and the message of the first error."""
        try:
            for text in statements:
                self.done[step] = self.sql(text)
        except Exception as error:  # noqa: BLE001 - any outcome is compared
            self.done[step] = said(error)


def said(error: Exception) -> list[str]:
    """Return the condition and the first line of the message: ours, or that of the innermost cause."""
    condition, message = innermost_condition(error), str(error)
    cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while cause is not None and not condition.startswith("PME_"):
        message, cause = str(cause.getMessage() or cause), cause.getCause()
    return [condition, message.splitlines()[0]]
