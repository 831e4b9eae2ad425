"""Progress of long operations. Start at `watched`.

The operation runs in its own thread, so that the caller's thread can show the progress and can be interrupted.
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
    """Runs the work and shows its progress.

    Args:
        spark: a classic session.
        work: calls the connector's JVM.
        name: the function that the user called.
        progress: whether to show it; None: on a terminal and in a notebook.
        interrupted: the state after Ctrl-C, and how to continue.

    Raises:
        KeyboardInterrupt: with `interrupted` as its message. The operation's Spark jobs have ended by then. Its cause
            is an error that the work raised just before.
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
