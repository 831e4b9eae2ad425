"""A call into the connector's JVM that another thread waits for, asks about and ends."""

from __future__ import annotations

from contextlib import suppress
from threading import Event
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pme_parquet._display.step import Step

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Thread

    from pyspark.sql import SparkSession

_POLL = 0.3
Result = TypeVar("Result")


class Running(Generic[Result]):
    """Runs once. Python's main thread alone gets Ctrl-C, and must not be within a call of py4j then.

    Attributes:
        step: how far the operation had come when it was last asked.
        failure: what the work raised, if it has.
    """

    def __init__(self, spark: SparkSession, work: Callable[[], Result]) -> None:
        from secrets import token_hex  # noqa: PLC0415 slow to import

        self.step: Step | None = None
        self.failure: BaseException | None = None
        self._ended = Event()
        self._spark = spark
        self._work = work
        self._tag = f"pme-{token_hex(16)}"
        self._progress: Any = None
        self._results: list[Result] = []
        self._threads: list[Thread] = []

    def start(self, *, polled: bool) -> None:
        """Begins, and unless nobody looks keeps `step` up to date."""
        from pyspark import InheritableThread  # noqa: PLC0415 nothing happens at import

        for target in [self._run, self._poll] if polled else [self._run]:
            # Known before it runs: Ctrl-C may come within start, of which one cannot tell whether it began.
            self._threads.append(InheritableThread(target, daemon=True))
            self._threads[-1].start()

    def wait(self, seconds: float) -> bool:
        """Whether it has ended by then, well or not, or never began.

        The event alone would not do: what Spark does first in the thread can raise, and then nobody sets it. The
        thread's join would not do either: before Python 3.13, Ctrl-C within it makes the thread look ended.
        """
        return not self._is_alive() or self._ended.wait(seconds) or not self._is_alive()

    def join(self) -> None:
        """Waits until the last answer has come."""
        for thread in self._threads:
            thread.join()

    def cancel(self) -> None:
        """Ends the operation's Spark jobs, those too that it begins meanwhile. A second Ctrl-C ends the waiting."""
        with suppress(KeyboardInterrupt):
            while not self.wait(_POLL):
                with suppress(*_without_jvm()):
                    self._spark.sparkContext.cancelJobsWithTag(self._tag)

    def state(self, interrupted: str) -> str:
        """What there is after `cancel`: what is said of an operation that was interrupted, if it was."""
        if not self.wait(0):
            return "it may continue for a moment. Run it again after that."
        return "it had already finished." if self._results else interrupted

    def result(self) -> Result:
        """What the work returned, or raises what it raised."""
        if self.failure is not None:
            raise self.failure
        if not self._results:
            raise RuntimeError(
                "the operation did not begin: its thread ended first, and stderr has the reason. Check whether the "
                "Spark session was stopped, and run it again."
            )
        return self._results[0]

    def _is_alive(self) -> bool:
        return bool(self._threads) and self._threads[0].is_alive()

    def _run(self) -> None:
        try:
            jvm: Any = self._spark._jvm  # noqa: SLF001 as PySpark does
            # A tag, and no group: the user may have the jobs in one.
            self._spark.sparkContext.addJobTag(self._tag)
            self._progress = jvm.io.pmeparquet.spark.admin.job.Progress.watch(self._spark._jsparkSession)  # noqa: SLF001
            self._results.append(self._work())
        except BaseException as failure:  # noqa: BLE001 raised again where it is waited for
            self.failure = failure
        finally:
            # Without PySpark's pinned threads, the JVM's thread goes on to serve other calls.
            with suppress(*_without_jvm()):
                self._spark.sparkContext.removeJobTag(self._tag)
            self._ended.set()

    def _poll(self) -> None:
        # Where the JVM is gone, it is the work that fails.
        with suppress(Exception):
            while not self.wait(_POLL):
                self._look()
            self._look()

    def _look(self) -> None:
        told = "" if self._progress is None else self._progress.snapshot()
        if told:
            self.step = Step.parsed(told)


def _without_jvm() -> tuple[type[Exception], ...]:
    """What a call raises where the JVM, or the session, is gone: there are no jobs then, and nothing else to say."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 nothing happens at import
    from pyspark.errors import PySparkException  # noqa: PLC0415 as above

    # A context that was stopped has no Java object any more, and py4j may find its socket closed.
    return Py4JError, PySparkException, AttributeError, OSError
