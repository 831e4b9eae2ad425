"""The Spark session of a command: started only if a command needs it, and quiet."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pme_parquet._cli.exits import FAILED, INTERRUPTED, WRONG_USE, CommandFailedError
from pme_parquet._cli.parsing import pairs
from pme_parquet._cli.starting import Starting, is_interruption
from pme_parquet._delta_tables.session import configure
from pme_parquet.errors import PmeError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

_HOME = "127.0.0.1"
_QUIET = {"spark.app.name": "pme-parquet", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
_MOST_LINES = 12
_INTERRUPTED = "Interrupted while Spark was starting. Nothing was done. Run it again."


@dataclass(frozen=True)
class SparkChoice:
    """Which Spark runs the command. The help of each command points to that of `pme-parquet`, which explains them."""

    master: Annotated[str, typer.Option(help="Spark master URL.", envvar="PME_MASTER", hidden=True)] = "local[*]"
    conf: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=VALUE",
            help="A Spark setting, for example spark.hadoop.fs.s3a.endpoint=… Repeat it for several settings.",
            hidden=True,
        ),
    ] = field(default_factory=list)
    packages: Annotated[
        str | None,
        typer.Option(
            help=(
                "Maven coordinates of packages that Spark loads, for example org.apache.hadoop:hadoop-aws:3.4.2 for "
                "s3a://."
            ),
            hidden=True,
        ),
    ] = None
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            help="Show the Spark log, and the traceback of unexpected errors.",
            hidden=True,
        ),
    ] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Hide progress.", hidden=True)] = False

    @property
    def progress(self) -> bool:
        """Whether to show progress: a bar on a terminal, lines elsewhere."""
        return not self.quiet

    def settings(self) -> dict[str, str]:
        """Spark settings; a later setting wins."""
        local = {"spark.driver.host": _HOME, "spark.driver.bindAddress": _HOME} if self._is_local else {}
        packages = {"spark.jars.packages": self.packages} if self.packages else {}
        return {"spark.master": self.master} | _QUIET | local | packages | pairs(self.conf, "--conf")

    @property
    def _is_local(self) -> bool:
        return self.master.startswith("local")


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

    from pme_parquet._cli.chatter import Chatter  # noqa: PLC0415 as above

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
    chatter = Chatter(shown=choice.verbose)
    starting = Starting()
    try:
        with starting.watched():
            gateway: Any = launch_gateway(conf=conf, popen_kwargs={"stderr": chatter.file})  # type: ignore[no-untyped-call]
        SparkContext(conf=conf, gateway=gateway)
        spark = builder.getOrCreate()
    except BaseException as failed:
        starting.end()
        if is_interruption(failed):
            raise KeyboardInterrupt(_INTERRUPTED) from None
        if not isinstance(failed, Exception):
            raise
        lines = chatter.last(_MOST_LINES) or [_in_short(failed)]
        remedy = "Check --master, --conf and --packages, and that java is JDK 17."
        message = "\n".join([f"pme-parquet: Spark did not start; its last output gives the reason. {remedy}", *lines])
        raise UnsupportedError(message) from failed
    if not choice.verbose:
        _hush(spark)
    chatter.show()
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
