"""A call into the connector's JVM that another thread waits for, asks about and ends."""

from __future__ import annotations

from contextlib import suppress
from threading import Event
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import uuid4

from pme_parquet._progress.step import Step

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Thread

    from pyspark.sql import SparkSession

_POLL = 0.3
Result = TypeVar("Result")


class Operation(Generic[Result]):
    """Runs once. Python's main thread alone gets Ctrl-C, and must not be within a call of py4j then.

    Attributes:
        step: how far the operation had come when it was last asked.
        ended: whether it has, well or not.
    """

    def __init__(self, spark: SparkSession, work: Callable[[], Result]) -> None:
        self.step: Step | None = None
        self.ended = Event()
        self._spark = spark
        self._work = work
        self._tag = f"pme-{uuid4()}"
        self._progress: Any = None
        self._results: list[Result] = []
        self._failure: BaseException | None = None
        self._threads: list[Thread] = []

    def start(self, *, polled: bool) -> None:
        """Begins, and unless nobody looks keeps `step` up to date."""
        from pyspark import InheritableThread  # noqa: PLC0415 nothing happens at import

        targets = [self._run, self._poll] if polled else [self._run]
        self._threads = [InheritableThread(target, daemon=True) for target in targets]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        """Waits until the last answer has come."""
        for thread in self._threads:
            thread.join()

    def cancel(self) -> None:
        """Ends the operation's Spark jobs, those too that it begins meanwhile. A second Ctrl-C ends the waiting."""
        try:
            while self._threads and not self.ended.wait(_POLL):
                self._spark.sparkContext.cancelJobsWithTag(self._tag)
        except KeyboardInterrupt:
            return

    def state(self, interrupted: str) -> str:
        """What there is after `cancel`: what is said of an operation that was interrupted, if it was."""
        if self._threads and not self.ended.is_set():
            return "its end was not waited for, and it may go on for a moment. Then run it again."
        return "it had finished before that." if self._results else interrupted

    def result(self) -> Result:
        """What the work returned, or raises what it raised."""
        if self._failure is not None:
            raise self._failure
        return self._results[0]

    def _run(self) -> None:
        try:
            jvm: Any = self._spark._jvm  # noqa: SLF001 as PySpark does
            # A tag, and no group: the user may have the jobs in one.
            self._spark.sparkContext.addJobTag(self._tag)
            self._progress = jvm.io.pmeparquet.spark.admin.Progress.watch(self._spark._jsparkSession)  # noqa: SLF001
            self._results.append(self._work())
        except BaseException as failure:  # noqa: BLE001 raised again where it is waited for
            self._failure = failure
        finally:
            self.ended.set()

    def _poll(self) -> None:
        # Where the JVM is gone, it is the work that fails.
        with suppress(Exception):
            while not self.ended.wait(_POLL):
                self._look()
            self._look()

    def _look(self) -> None:
        told = "" if self._progress is None else self._progress.snapshot()
        if told:
            self.step = Step.parsed(told)
