"""How every command that needs Spark begins: with checks that need no Spark, and then with a session."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pme_parquet._cli.checking import before_spark
from pme_parquet._cli.sessions import session

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from pme_parquet._cli.sessions import SparkChoice


@contextmanager
def checked_session(
    choice: SparkChoice,
    options: Mapping[str, str],
    *sources: str,
    target: str | None = None,
    more: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """Checks what needs no Spark, then starts a session.

    Args:
        choice: which Spark.
        options: of the format.
        sources: paths that must exist.
        target: where a copy goes.
        more: settings of a session that is started.

    Raises:
        PmeError: a check failed; Spark was not started.
    """
    before_spark(choice, options, *sources, target=target)
    with session(choice, more) as running:
        yield running
