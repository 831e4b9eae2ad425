"""Progress: counts reach the total, lines if output is piped, nothing from the library unless asked for."""

from __future__ import annotations

import os
import re
import signal
import sys
from threading import Event, Thread
from time import sleep
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JNetworkError
from rich.console import Console

import pme_parquet as pme
from pme_parquet._display import progress as forms
from pme_parquet._display.progress import Bar, Clock, Lines, Notebook, Nothing, Step, chosen
from pme_parquet._operations.operation import watched
from tests.cli.conftest import FILES
from tests.support.canary import data_files
from tests.support.commands import run
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

HALF = Step("copying", 2, 4, 1024, 2048)
LINE = re.compile(r"^([a-z ]+): (\d+) of (\d+) files(?:, ([\d.]+ \w+) of ([\d.]+ \w+))?(?:, .* left)?$")


def lines(text: str) -> Iterator[tuple[str, ...]]:
    for line in text.splitlines():
        found = LINE.match(line)
        if found:
            yield found.groups("")


def of_table(table: Path, target: Path, given: list[str]) -> dict[str, list[Any]]:
    return {
        "verifying": ["verify", table, *given],
        "writing keys": ["rotate", table, *given, "--master-key", "footer=other"],
        "copying": ["rekey", table, target, "--uniform-key", "pay", *given],
        "looking into footers": ["key-usage", table, *given],
    }


@pytest.fixture(scope="module")
def tables(encrypted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("progress") / "table"
    path.mkdir()
    for number in range(4):
        for file in data_files(encrypted):
            (path / f"{number}-{file.name}").write_bytes(file.read_bytes())
    return path


@pytest.mark.parametrize("step", ["verifying", "writing keys", "copying", "looking into footers"])
def test_counts_reach_the_total_and_lines_are_printed_where_output_is_piped(
    tables: Path, given: list[str], tmp_path: Path, step: str
) -> None:
    done = run(*of_table(tables, tmp_path / "target", given)[step])
    assert done.code == 0, done.err
    name, files, all_files, size, all_size = list(lines(done.err))[-1]
    assert (name, int(files), int(all_files)) == (step, 4 * FILES, 4 * FILES)
    assert size == all_size
    assert bool(size) == (step != "looking into footers")
    assert not list(lines(done.out))


def test_a_failed_file_counts_too(tables: Path, given: list[str], tmp_path: Path) -> None:
    file = data_files(tables)[0]
    (tmp_path / "whole").write_bytes(file.read_bytes())
    (tmp_path / "cut").write_bytes(file.read_bytes()[:-20])
    done = run("verify", tmp_path, *given)
    assert done.code == 1
    assert list(lines(done.err))[-1][1:3] == ("2", "2")


def test_quiet_prints_no_progress(encrypted: Path, given: list[str]) -> None:
    assert run("verify", encrypted, *given, "--quiet").err == ""


def test_a_library_prints_no_progress_unless_asked(
    spark: SparkSession, encrypted: Path, keys: pme.Keystore, capfd: pytest.CaptureFixture[str]
) -> None:
    pme.verify(spark, encrypted, kms=keys)
    assert capfd.readouterr() == ("", "")
    pme.verify(spark, encrypted, kms=keys, progress=True)
    assert list(lines(capfd.readouterr().err))[-1][:3] == ("verifying", "3", "3")


def test_an_error_in_the_thread_is_raised_in_the_waiting_caller(spark: SparkSession, keys: pme.Keystore) -> None:
    for progress in (True, False):
        with pytest.raises(pme.BadOptionError, match="there is nothing"):
            pme.verify(spark, "/no/such/place", kms=keys, progress=progress)


def test_jobs_keep_the_group_that_the_user_gave_them(spark: SparkSession, encrypted: Path, keys: pme.Keystore) -> None:
    context = spark.sparkContext
    context.setJobGroup("mine", "a table")
    try:
        pme.verify(spark, encrypted, kms=keys, progress=False)
        assert context.statusTracker().getJobIdsForGroup("mine")
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
        context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]


def test_a_session_sees_its_own_settings(spark: SparkSession, encrypted: Path, keys: pme.Keystore) -> None:
    other = spark.newSession()
    for name, value in keys.options().items():
        other.conf.set(f"spark.datasource.pme-parquet.{name}", value)
    assert pme.verify(other, encrypted).count() == 0


def test_a_thread_of_the_jvm_has_its_session_back_afterwards(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    active = jvm.org.apache.spark.sql.SparkSession.getActiveSession
    before, other = active(), spark.newSession()
    jvm.io.pmeparquet.spark.admin.job.Progress.watch(other._jsparkSession)
    assert active().get().equals(other._jsparkSession)
    # The outcome does not matter: there is no such table.
    with pytest.raises(pme.BadOptionError):
        jvm.io.pmeparquet.spark.admin.TableCopies.encryptInPlace(
            other._jsparkSession, "/no/such/place", {}, {"kms": TEST_KMS, "footerKey": "footer"}
        )
    assert active().equals(before)


def test_ctrl_c_reports_the_state_it_leaves(spark: SparkSession) -> None:
    def interrupted(then: Callable[[], str]) -> str:
        def work() -> str:
            os.kill(os.getpid(), signal.SIGINT)
            sleep(0.5)
            return then()

        with pytest.raises(KeyboardInterrupt) as stopped:
            watched(spark, work, name="pme.x", progress=False, interrupted="nothing was done.")
        return str(stopped.value)

    def cancelled() -> str:
        raise ValueError

    assert interrupted(cancelled) == "pme.x was interrupted: nothing was done."
    assert interrupted(lambda: "done") == "pme.x was interrupted: it had already finished."


class Inheriting(Thread):
    """Stands in for PySpark's InheritableThread."""

    def __init__(self, target: Callable[[], None], *, daemon: bool) -> None:
        super().__init__(daemon=daemon)
        self.work = target

    def run(self) -> None:
        self.work()


def test_an_operation_whose_thread_ends_before_it_begins_is_reported(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stillborn(Inheriting):
        def run(self) -> None:
            """Does nothing, as if Spark's wrapper of the target had raised."""

    monkeypatch.setattr("pyspark.InheritableThread", Stillborn)
    with pytest.raises(RuntimeError, match="the operation did not begin"):
        watched(spark, lambda: None, name="pme.x", progress=True, interrupted="")


def test_ctrl_c_before_the_operation_begins_ends_it(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(Inheriting):
        def start(self) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr("pyspark.InheritableThread", Interrupted)
    with pytest.raises(KeyboardInterrupt, match=r"pme\.x was interrupted: nothing was done\."):
        watched(spark, lambda: None, name="pme.x", progress=True, interrupted="nothing was done.")


def test_a_jvm_that_does_not_answer_does_not_hide_ctrl_c(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Event()

    def gone(*_: object) -> None:
        asked.set()
        raise Py4JNetworkError

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        asked.wait(20)
        raise ValueError

    monkeypatch.setattr(type(spark.sparkContext), "cancelJobsWithTag", gone)
    with pytest.raises(KeyboardInterrupt, match=r"nothing was done\.") as stopped:
        watched(spark, work, name="pme.x", progress=False, interrupted="nothing was done.")
    assert asked.is_set()
    assert stopped.value.__cause__ is None


def test_what_failed_just_before_ctrl_c_is_its_cause(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(Nothing):
        def finish(self, step: Step | None) -> None:  # noqa: ARG002 as all forms
            raise KeyboardInterrupt

    def work() -> None:
        raise ValueError("before")

    monkeypatch.setattr("pme_parquet._operations.operation.chosen", lambda **_: Late())
    with pytest.raises(KeyboardInterrupt) as stopped:
        watched(spark, work, name="pme.x", progress=None, interrupted="")
    assert str(stopped.value.__cause__) == "before"


def test_the_job_tag_is_removed_afterwards(spark: SparkSession) -> None:
    def tagged() -> set[str]:
        return {tag for tag in spark.sparkContext.getJobTags() if tag.startswith("pme-")}

    during: list[set[str]] = []
    after: list[set[str]] = []

    class Asked(Inheriting):
        """Ask in the same thread of the JVM, when the work is done."""

        def run(self) -> None:
            super().run()
            after.append(tagged())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pyspark.InheritableThread", Asked)
        watched(spark, lambda: during.append(tagged()), name="pme.x", progress=False, interrupted="")
    assert [len(tags) for tags in during] == [1]
    assert after == [set()]


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
