"""How every operation of the connector runs: it checks its session, reads arguments, and shows progress.

An operation runs in a thread of its own, so that the caller's thread can show the progress and can be interrupted.
`_display.progress` has the forms: a bar on a terminal, one in a notebook, lines elsewhere.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from threading import Event
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from pme_parquet._arguments import kms_options, options_of, path_of
from pme_parquet._display.progress import Step, chosen
from pme_parquet._spark.driver import frame_of, method_of
from pme_parquet.errors import BY_CONDITION, PmeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from threading import Thread

    from pyspark.sql import DataFrame, SparkSession

    from pme_parquet._arguments import KmsLike, PathLike

_POLL = 0.3
Result = TypeVar("Result")
_GLANCE = 0.2


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


class Running(Generic[Result]):
    """Runs once. Only Python's main thread gets Ctrl-C, and it must not be in a call of py4j at that moment.

    Attributes:
        step: the progress at the last poll.
        failure: the error of the work, if there is one.
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
        """Starts the work, and keeps `step` up to date unless nobody needs it."""
        from pyspark import InheritableThread  # noqa: PLC0415 nothing happens at import

        for target in [self._run, self._poll] if polled else [self._run]:
            # Set before the thread runs: Ctrl-C may come during start(), which may or may not begin the thread.
            self._threads.append(InheritableThread(target, daemon=True))
            self._threads[-1].start()

    def wait(self, seconds: float) -> bool:
        """Whether the work has ended, well or not, or never began.

        The event alone is not enough: Spark's own code in the thread can raise first, and then nobody sets the event.
        Joining the thread is not enough either: before Python 3.13, Ctrl-C during join makes the thread look ended.
        """
        return not self._is_alive() or self._ended.wait(seconds) or not self._is_alive()

    def join(self) -> None:
        """Waits until the last poll has been answered."""
        for thread in self._threads:
            thread.join()

    def cancel(self) -> None:
        """Cancels the operation's Spark jobs, also those that it starts meanwhile. A second Ctrl-C ends the waiting."""
        with suppress(KeyboardInterrupt):
            while not self.wait(_POLL):
                with suppress(*_without_jvm()):
                    self._spark.sparkContext.cancelJobsWithTag(self._tag)

    def state(self, interrupted: str) -> str:
        """The state after `cancel`: what the operation reported about its interruption, if it did."""
        if not self.wait(0):
            return "it may continue for a moment. Run it again after that."
        return "it had already finished." if self._results else interrupted

    def result(self) -> Result:
        """Returns the result of the work, or raises its error."""
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
            # A tag and not a group, because the user may have put the jobs into a group.
            self._spark.sparkContext.addJobTag(self._tag)
            self._progress = jvm.io.pmeparquet.spark.admin.job.Progress.watch(self._spark._jsparkSession)  # noqa: SLF001
            self._results.append(self._work())
        except BaseException as failure:  # noqa: BLE001 raised again in the waiting thread
            self.failure = failure
        finally:
            # Without PySpark's pinned threads, the JVM's thread later serves other calls.
            with suppress(*_without_jvm()):
                self._spark.sparkContext.removeJobTag(self._tag)
            self._ended.set()

    def _poll(self) -> None:
        # If the JVM is gone, the work itself fails.
        with suppress(Exception):
            while not self.wait(_POLL):
                self._look()
            self._look()

    def _look(self) -> None:
        snapshot = "" if self._progress is None else self._progress.snapshot()
        if snapshot:
            self.step = Step.parsed(snapshot)


def _without_jvm() -> tuple[type[Exception], ...]:
    """Ignores errors of calls if the JVM or the session is gone: then there are no jobs, and nothing to report."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 nothing happens at import
    from pyspark.errors import PySparkException  # noqa: PLC0415 as above

    # A stopped context has no Java object any more, and py4j may find its socket closed.
    return Py4JError, PySparkException, AttributeError, OSError


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


def result_of(kind: Callable[..., Result], done: Any, **known: Any) -> Result:  # noqa: ANN401 py4j is untyped
    """A result as the connector's object states it.

    Args:
        kind: the class of the result, a dataclass.
        done: has a method for each field, by the field's name in Java's spelling: `notLive`.
        known: fields that it states otherwise.
    """
    names = [field.name for field in fields(kind) if field.name not in known]  # type: ignore[arg-type] # a dataclass
    return kind(**{name: getattr(done, _in_java(name))() for name in names}, **known)


def _in_java(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


class Failed(Protocol):
    """A file that failed: its path, what went wrong, and the message."""

    @property
    def file(self) -> str: ...
    @property
    def condition(self) -> str | None: ...
    @property
    def message(self) -> str | None: ...


def error_of(first: Failed, undone: str, others: str, report: object) -> PmeError:
    """Return the error to raise: of the first file's condition, with the report.

    Args:
        first: the first file that failed.
        undone: what could not be done with it, for example `rotated`.
        others: the result for the others.
        report: what the error carries.
    """
    kind = BY_CONDITION.get(first.condition or "")
    ours = f"{first.file}: it could not be {undone}: {first.condition}: {first.message}."
    error = (kind or PmeError)(f"{first.message if kind else ours} ({others})")
    error.report = report
    return error
