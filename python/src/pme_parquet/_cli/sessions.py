"""The Spark session of a command: started only if a command needs it, quiet, and ended at once by Ctrl-C."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pme_parquet._cli.options import pairs
from pme_parquet._cli.output import FAILED, INTERRUPTED, WRONG_USE, CommandFailedError
from pme_parquet._delta_encryption.configure import configure
from pme_parquet.errors import PmeError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

_HOME = "127.0.0.1"
_QUIET = {"spark.app.name": "pme-parquet", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
_MOST_LINES = 12
_INTERRUPTED = "Interrupted while Spark was starting. Nothing was done. Run it again."


def _option(text: str, *names: str, **more: Any) -> Any:  # noqa: ANN401 typer does not name its type
    return typer.Option(*names, help=text, hidden=True, **more)


@dataclass(frozen=True)
class SparkChoice:
    """Which Spark runs the command. The help of each command points to that of `pme-parquet`, which explains them."""

    master: Annotated[str, _option("Spark master URL.", envvar="PME_MASTER")] = "local[*]"
    conf: Annotated[
        list[str],
        _option(
            "A Spark setting, for example spark.hadoop.fs.s3a.endpoint=… Repeat it for several settings.",
            metavar="NAME=VALUE",
        ),
    ] = field(default_factory=list)
    packages: Annotated[
        str | None,
        _option(
            "Maven coordinates of packages that Spark loads, for example org.apache.hadoop:hadoop-aws:3.4.2 for s3a://."
        ),
    ] = None
    verbose: Annotated[bool, _option("Show the Spark log, and the traceback of unexpected errors.", "--verbose")] = (
        False
    )
    quiet: Annotated[bool, _option("Hide progress.", "--quiet", "-q")] = False

    def settings(self) -> dict[str, str]:
        """Spark settings; a later setting wins."""
        is_local = self.master.startswith("local")
        local = {"spark.driver.host": _HOME, "spark.driver.bindAddress": _HOME} if is_local else {}
        packages = {"spark.jars.packages": self.packages} if self.packages else {}
        return {"spark.master": self.master} | _QUIET | local | packages | pairs(self.conf, "--conf")


@contextmanager
def session(choice: SparkChoice, more: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Starts a session and stops it at the end. A session that this process already has is used and kept, as it is.

    Args:
        choice: which Spark.
        more: settings of a session that is started. No list of processes shows them, as it does those of `choice`.

    Raises:
        CommandFailedError: an error of Spark that is not a `PmeError`, in short; or Ctrl-C, which typer would catch.
    """
    settings = choice.settings()
    active = spark = None
    try:
        active = spark = _active()
        if spark is None:
            spark = _start(settings, choice)
            for name, value in (more or {}).items():
                spark.conf.set(name, value)
        yield spark
    except KeyboardInterrupt as stopped:
        raise CommandFailedError(str(stopped) or "Interrupted. Run it again.", INTERRUPTED) from None
    except Exception as failed:
        if isinstance(failed, PmeError) or not type(failed).__module__.startswith(("pyspark.", "py4j.")):
            raise
        # Spark raises these before it runs a query, for example if a path does not exist.
        wrong_use = "AnalysisException" in {base.__name__ for base in type(failed).__mro__}
        raise CommandFailedError(_in_short(failed), WRONG_USE if wrong_use else FAILED) from failed
    finally:
        if active is None and spark is not None:
            spark.stop()


def _active() -> SparkSession | None:
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 slow to import
    except ImportError:
        message = "pme-parquet: this command needs PySpark, which is not installed. pip install pyspark."
        raise UnsupportedError(message) from None
    return SparkSession.getActiveSession()


def _start(settings: dict[str, str], choice: SparkChoice) -> SparkSession:
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 slow to import
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415 as above
    from pyspark.sql import SparkSession  # noqa: PLC0415 as above

    _require_java()
    if not choice.quiet:
        sys.stderr.write("starting Spark …\n")
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    builder = configure(builder)
    conf = SparkConf()
    for name, value in getattr(builder, "_options", {}).items():
        conf.set(name, value)
    printed = DriverOutput(shown=choice.verbose)
    starting = Starting()
    try:
        with starting.watched():
            gateway: Any = launch_gateway(conf=conf, popen_kwargs={"stderr": printed.file})  # type: ignore[no-untyped-call]
        SparkContext(conf=conf, gateway=gateway)
        spark = builder.getOrCreate()
    except BaseException as failed:
        starting.end()
        if is_interruption(failed):
            raise KeyboardInterrupt(_INTERRUPTED) from None
        if not isinstance(failed, Exception):
            raise
        lines = printed.last(_MOST_LINES) or [_in_short(failed)]
        remedy = "Check --master, --conf and --packages, and that java is JDK 17."
        message = "\n".join([f"pme-parquet: Spark did not start; its last output gives the reason. {remedy}", *lines])
        raise UnsupportedError(message) from failed
    if not choice.verbose:
        _hush(spark)
    printed.show()
    return spark


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if (home and (Path(home) / "bin" / "java").exists()) or shutil.which("java"):
        return
    raise UnsupportedError("pme-parquet: Spark cannot start: there is no Java. Install JDK 17, or set JAVA_HOME.")


def _hush(spark: SparkSession) -> None:
    """Limits logging to warnings of the connector: the command itself reports failures."""
    spark.sparkContext.setLogLevel("OFF")
    jvm: Any = spark._jvm  # noqa: SLF001 as PySpark does
    log4j = jvm.org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel("io.pmeparquet", log4j.Level.WARN)


def _in_short(failed: Exception) -> str:
    """The first line of the error of the JVM or of PySpark."""
    java: Any = getattr(failed, "java_exception", None)
    text = str(failed) if java is None else str(java.toString())
    return text.strip().partition("\n")[0]


_KEPT = 400


class DriverOutput:
    """Reads a pipe to its end.

    Attributes:
        file: the end of the pipe that the JVM gets.
    """

    def __init__(self, *, shown: bool) -> None:
        ours, self.file = os.pipe()
        self._shown = shown
        self._kept: deque[str] = deque(maxlen=_KEPT)
        self._lock = Lock()
        Thread(target=self._read, args=(ours,), daemon=True).start()

    def show(self) -> None:
        """Shows what comes from now on. The JVM has its own copy of the pipe's end."""
        os.close(self.file)
        with self._lock:
            self._shown = True

    def last(self, most: int) -> list[str]:
        """The last lines that contain a message, without frames of stack traces."""
        with self._lock:
            lines = [line.rstrip() for line in self._kept if not line.lstrip().startswith("at ") and line.strip()]
        return lines[-most:]

    def _read(self, ours: int) -> None:
        with os.fdopen(ours, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                with self._lock:
                    self._kept.append(line)
                    if self._shown:
                        sys.stderr.write(line)
                        sys.stderr.flush()


class Starting:
    """The processes that PySpark starts while `watched`: a shell that becomes the JVM, and another JVM before it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Replaces Popen by one that reports the process at once: PySpark does so only when the JVM is ready."""
        from pyspark import java_gateway  # noqa: PLC0415 slow to import

        module: Any = java_gateway
        plain = module.Popen
        module.Popen = self._started
        try:
            yield
        finally:
            module.Popen = plain

    def end(self) -> None:
        """Kills the process and its children, which have a process group of their own."""
        process = self._process
        if process is None:
            return
        with _later(), suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            process.wait()

    def _started(self, command: list[str], **settings: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401 as Popen
        with _later():
            self._process = subprocess.Popen(command, start_new_session=True, **settings)
        return self._process


def is_interruption(failed: BaseException | None) -> bool:
    """Whether Ctrl-C caused the error: cleanup can fail, too, if Spark has not started completely."""
    while failed is not None:
        if isinstance(failed, KeyboardInterrupt):
            return True
        failed = failed.__cause__ or failed.__context__
    return False


@contextmanager
def _later() -> Iterator[None]:
    """Delays Ctrl-C until the block is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
