"""Progress of long operations. Start at `watched`.

The operation runs in a thread of its own, so that the caller's can show how far it has come, and be interrupted.
`_display.progress` has the forms: a bar on a terminal, one in a notebook, lines elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pme_parquet._display.progress import chosen
from pme_parquet._operations.running import Running

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

_GLANCE = 0.2
Result = TypeVar("Result")


def watched(
    spark: SparkSession, work: Callable[[], Result], *, name: str, progress: bool | None, interrupted: str
) -> Result:
    """Does the work and shows how far it has come.

    Args:
        spark: a classic session.
        work: calls the connector's JVM.
        name: what the user called.
        progress: whether to show it; None: on a terminal and in a notebook.
        interrupted: what there is after Ctrl-C, and how to go on.

    Raises:
        KeyboardInterrupt: with a message that says so. The operation's Spark jobs have ended by then. Its cause is what
            the work had raised just before.
    """
    operation = Running(spark, work)
    try:
        with chosen(progress=progress) as shown:
            operation.start(polled=shown.looks)
            while not operation.wait(_GLANCE):
                shown.show(operation.step)
            operation.join()
            shown.finish(operation.step)
    except KeyboardInterrupt:
        before = operation.failure
        operation.cancel()
        raise KeyboardInterrupt(f"{name} was interrupted: {operation.state(interrupted)}") from before
    return operation.result()
