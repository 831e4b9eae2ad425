"""Jobs on a real Hive metastore, which Derby keeps in a directory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.support.expect import innermost_condition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
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


@dataclass(frozen=True)
class Outcome:
    """What came of a step.

    Attributes:
        rows: those of its last statement, each by its `repr`, in order, or what else it lists; empty if it lists
            nothing; None if it failed.
        condition: that of its error: ours, or that of the innermost cause.
        message: the first line of the error's message.
    """

    rows: list[str] | None
    condition: str = ""
    message: str = ""


@dataclass
class Statements:
    """A session of one user, and what came of the user's statements."""

    spark: SparkSession
    work: Path
    done: dict[str, Outcome] = field(default_factory=dict)

    def sql(self, text: str) -> list[str]:
        return sorted(repr(tuple(row)) for row in self.spark.sql(text).collect())

    def note(self, step: str, *statements: str) -> None:
        """Keep the rows of the last statement, or the first error."""
        self.attempt(step, lambda: [self.sql(text) for text in statements][-1])

    def attempt(self, step: str, action: Callable[[], object]) -> None:
        """Keep the list that an action may return, or its error."""
        self.done[step] = outcome(action)


def outcome(action: Callable[[], object]) -> Outcome:
    try:
        found = action()
    except Exception as error:  # noqa: BLE001 - any outcome is compared
        return _failed(error)
    return Outcome(found if isinstance(found, list) else [])


def _failed(error: Exception) -> Outcome:
    condition, message = innermost_condition(error), str(error)
    cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while cause is not None and not condition.startswith("PME_"):
        message, cause = str(cause.getMessage() or cause), cause.getCause()
    return Outcome(None, condition, message.splitlines()[0])
