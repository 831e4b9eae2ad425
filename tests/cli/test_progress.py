"""Progress and Ctrl-C of an operation: with a session that only records, so that each test chooses what happens."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass, field
from threading import Event, Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn
from unittest.mock import MagicMock

import pytest
from py4j.protocol import Py4JNetworkError
from rich.console import Console

import pme_parquet as pme
from pme_parquet._display import progress as forms
from pme_parquet._display.progress import Bar, Clock, Lines, Notebook, Nothing, Step, chosen
from pme_parquet._operations.operation import watched

if TYPE_CHECKING:
    from collections.abc import Callable

HALF = Step("copying", 2, 4, 1024, 2048)
PATIENCE = 20


@dataclass
class Session:
    """What an operation uses of Spark while it runs.

    Attributes:
        tags: the tags of its jobs, with a minus before one that was removed.
        cancelled: whether the jobs with its tag were cancelled.
        gone: whether the JVM does not answer that.
    """

    tags: list[str] = field(default_factory=list)
    cancelled: Event = field(default_factory=Event)
    gone: bool = False
    _jsparkSession: str = "the session"  # noqa: N815 as in Spark
    _jvm: MagicMock = field(default_factory=MagicMock)

    @property
    def sparkContext(self) -> Session:  # noqa: N802 as in Spark
        return self

    def addJobTag(self, tag: str) -> None:  # noqa: N802 as above
        self.tags.append(tag)

    def removeJobTag(self, tag: str) -> None:  # noqa: N802 as above
        self.tags.append(f"-{tag}")

    def cancelJobsWithTag(self, tag: str) -> None:  # noqa: N802 as above
        assert self.tags[0] == tag
        self.cancelled.set()
        if self.gone:
            raise Py4JNetworkError

    def run(self, work: Callable[[], str], *, progress: bool | None = False) -> str:
        progress_of = self._jvm.io.pmeparquet.spark.admin.job.Progress.watch
        progress_of.return_value.snapshot.return_value = "verifying\t3\t3\t10\t10"
        spark: Any = self
        return watched(spark, work, name="pme.x", progress=progress, interrupted="nothing was done.")

    def interrupted(self, then: Callable[[], str]) -> KeyboardInterrupt:
        """Press Ctrl-C during the work, which ends after its jobs were cancelled."""
        # A shell starts what runs in the background with this signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)

        def work() -> str:
            os.kill(os.getpid(), signal.SIGINT)
            assert self.cancelled.wait(PATIENCE)
            return then()

        with pytest.raises(KeyboardInterrupt) as stopped:
            self.run(work)
        return stopped.value


class Inheriting(Thread):
    """Stands in for PySpark's InheritableThread."""

    def __init__(self, target: Callable[[], None], *, daemon: bool) -> None:
        super().__init__(target=target, daemon=daemon)


class Stillborn(Inheriting):
    """A thread that ends at once, as if Spark's wrapper of the target had raised."""

    def run(self) -> None: ...


class Interrupted(Inheriting):
    """A thread that does not start, because of Ctrl-C."""

    def start(self) -> NoReturn:
        raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads need no JVM."""
    monkeypatch.setattr("pyspark.InheritableThread", Inheriting)


def fail() -> NoReturn:
    raise pme.BadOptionError("there is nothing")


def test_a_library_prints_no_progress_unless_asked(capfd: pytest.CaptureFixture[str]) -> None:
    assert Session().run(lambda: "done", progress=None) == "done"
    assert capfd.readouterr() == ("", "")
    assert Session().run(lambda: "done", progress=True) == "done"
    assert capfd.readouterr() == ("", "verifying: 3 of 3 files, 10 B of 10 B\n")


@pytest.mark.parametrize("progress", [True, False])
def test_an_error_in_the_thread_is_raised_in_the_waiting_caller(*, progress: bool) -> None:
    session = Session()
    with pytest.raises(pme.BadOptionError, match="there is nothing"):
        session.run(fail, progress=progress)
    [tag, removed] = session.tags
    assert removed == f"-{tag}"


@pytest.mark.parametrize("gone", [False, True])
def test_ctrl_c_cancels_the_jobs_and_reports_the_state_it_leaves(*, gone: bool) -> None:
    stopped = Session(gone=gone).interrupted(fail)
    assert str(stopped) == "pme.x was interrupted: nothing was done."
    assert stopped.__cause__ is None
    assert str(Session(gone=gone).interrupted(lambda: "done")) == "pme.x was interrupted: it had already finished."


def test_an_operation_whose_thread_ends_before_it_begins_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.InheritableThread", Stillborn)
    with pytest.raises(RuntimeError, match="the operation did not begin"):
        Session().run(lambda: "", progress=True)


def test_ctrl_c_before_the_operation_begins_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.InheritableThread", Interrupted)
    with pytest.raises(KeyboardInterrupt, match=r"pme\.x was interrupted: nothing was done\."):
        Session().run(lambda: "", progress=True)


def test_what_failed_just_before_ctrl_c_is_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(Nothing):
        def finish(self, step: Step | None) -> None:  # noqa: ARG002 as all forms
            raise KeyboardInterrupt

    monkeypatch.setattr("pme_parquet._operations.operation.chosen", lambda **_: Late())
    with pytest.raises(KeyboardInterrupt) as stopped:
        Session().run(fail)
    assert str(stopped.value.__cause__) == "[PME_BAD_OPTION] there is nothing"


class Terminal:
    @staticmethod
    def isatty() -> bool:
        return True


def test_people_get_a_bar_and_pipes_get_lines_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(chosen(progress=None)) is Nothing
    assert type(chosen(progress=True)) is Lines
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert type(chosen(progress=None)) is Bar
    assert type(chosen(progress=False)) is Nothing
    monkeypatch.setenv("TERM", "dumb")
    assert type(chosen(progress=None)) is Lines


def test_a_line_is_printed_every_few_seconds_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr(forms, "monotonic", lambda: now[0])
    monkeypatch.setattr("pme_parquet._display.progress.monotonic", lambda: now[0])
    printed = Lines()
    for second in range(12):
        now[0] = 100.0 + second
        printed.show(Step("verifying", second, 20, 0, 0))
    printed.finish(Step("verifying", 20, 20, 0, 0))
    assert capsys.readouterr().err.splitlines() == [
        "verifying: 0 of 20 files",
        "verifying: 5 of 20 files, 15 s left",
        "verifying: 10 of 20 files, 10 s left",
        "verifying: 20 of 20 files",
    ]


def test_a_terminal_gets_a_bar_that_disappears() -> None:
    console = Console(file=open("/dev/null", "w"), force_terminal=True, width=100, record=True)  # noqa: SIM115, PTH123
    with Bar(console) as bar:
        bar.show(None)
        bar.show(HALF)
        bar._bar.refresh()
    console.file.close()
    assert "2 of 4 files, 1.0 KiB of 2.0 KiB" in console.export_text()


def test_a_notebook_gets_a_bar_that_is_changed_in_place() -> None:
    shown: list[str] = []

    def put(data: dict[str, str], **_: object) -> SimpleNamespace:
        shown.append(data["text/html"])
        return SimpleNamespace(update=put)

    with Notebook(put) as bar:
        bar.show(None)
        bar.show(HALF)
        bar.show(HALF)
        bar.finish(Step("copying <b>", 4, 4, 2048, 2048))
    assert shown[0].startswith('<progress value="0.500" max="1"></progress> copying: 2 of 4 files')
    assert shown[-1].startswith('<progress value="1.000" max="1"></progress> copying &lt;b&gt;: 4 of 4 files')


def test_an_ipython_kernel_counts_as_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    put = object()
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=put))
    assert type(chosen(progress=None)) is Notebook
    shell.kernel = None
    assert type(chosen(progress=None)) is Nothing


def test_time_left_is_shown_if_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100.0, 103.0, 109.0])
    monkeypatch.setattr("pme_parquet._display.progress.monotonic", lambda: next(times))
    clock = Clock()
    assert clock.left(Step("a", 0, 4, 0, 0)) == ""
    assert clock.left(Step("a", 1, 4, 0, 0)) == ", 9 s left"
    assert clock.left(Step("a", 1, 4, 5, 100)) == ", 3 min left"
    assert clock.left(Step("a", 4, 4, 0, 0)) == ""
    assert Step("a", 0, 0, 0, 0).fraction == 1.0
