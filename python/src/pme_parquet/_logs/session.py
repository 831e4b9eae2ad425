"""Which files of a table a session's Delta says are live: it can read a log that has encrypted checkpoints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pme_parquet._audience import DELTA_PACKAGES, Words
from pme_parquet._logs.live import Live
from pme_parquet._spark.driver import method_of
from pme_parquet.errors import PmeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def by_session(table: str, spark: SparkSession, why: str, where: str) -> Live:
    """What the session's Delta says.

    Args:
        table: the table's directory.
        spark: a session.
        why: why `deltalake` cannot tell; part of the problem if the session cannot, either.
        where: the function that the user called.
    """
    try:
        found = method_of(spark, "LiveFiles", "read", where)(table, {})
    except PmeError as failed:
        return Live(problem=f"{why}; {failed.condition}: the session's Delta cannot tell")
    except Exception as failed:  # noqa: BLE001 each file system of Hadoop has errors of its own
        return Live(problem=f"{why}; {type(failed).__name__}: the session's Delta cannot tell")
    if found is None:
        add = Words("", f": add it with --packages ({DELTA_PACKAGES})")
        return Live(problem=f"{why}; the session has no Delta{add}")
    files = frozenset(map(str, found.names()))
    return Live(int(found.version()), files, by=str(found.by()), metadata=json.loads(str(found.metadata())))
