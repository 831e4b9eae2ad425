"""Lets a test act before Spark rewrites a Delta table, and before it compares rows of a version."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.java_gateway import ensure_callback_server_started

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

SOURCE = Path(__file__).with_name("WatchedPlans.java")
REWRITE, COMPARE = "rewrite", "compare"
GO_ON, CONFLICT, FAIL, NO_ROWS = "", "conflict", "fail", "no rows"


class _Watcher:
    """What the JVM calls."""

    def __init__(self, answer: Callable[[str], str]) -> None:
        self._answer = answer

    def apply(self, step: str) -> str:
        return self._answer(step)

    class Java:
        """py4j looks for this name."""

        implements = ("java.util.function.UnaryOperator",)


@contextmanager
def watched(spark: SparkSession, answer: Callable[[str], str]) -> Iterator[None]:
    """Ask a function what is to happen at each step of a session, or of one that is cloned from it.

    The class of `SOURCE` is on the session's class path.

    Args:
        spark: the session.
        answer: gets `REWRITE`, before OPTIMIZE runs, or `COMPARE`, before the rows of a version are read.
    """
    session: Any = spark
    gateway, jvm = spark.sparkContext._gateway, session._jvm
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    rules = jvm.java.util.ArrayList()
    rules.add(jvm.watched.WatchedPlans(_Watcher(answer)))
    ways = session._jsparkSession.experimental()
    _set_rules(ways, jvm.PythonUtils.toSeq(rules))
    try:
        yield
    finally:
        _set_rules(ways, jvm.PythonUtils.toSeq(jvm.java.util.ArrayList()))


def _set_rules(ways: Any, rules: Any) -> None:
    getattr(ways, "extraOptimizations_$eq")(rules)
