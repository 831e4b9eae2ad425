"""A reader who types the contents of a page into a shell, a Python and a SQL prompt, in a directory of their own."""

from __future__ import annotations

import os
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.docs.commands import environment, run
from tests.support.session import QUICK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.support.markdown import Block

_MARK = "the environment after it"
# Of the tool that makes keystores; no block starts another Java.
KEYTOOL = {"JAVA_TOOL_OPTIONS": QUICK}


class Reader:
    """Shares the tests' Spark session; Python names and shell variables last from block to block."""

    def __init__(self, spark: SparkSession, directory: Path, names: dict[str, Any]) -> None:
        self.spark = spark
        self.directory = directory
        self.names = names
        self.environment = environment() | KEYTOOL

    def type(self, block: Block) -> str:
        """Run a block and return its output."""
        return {"bash": self.bash, "python": self.python, "sql": self.sql}[block.language](block.code)

    def bash(self, commands: str) -> str:
        """Run commands in a shell that ends at the first one that fails."""
        script = f"{commands}\nprintf '\\n%s\\n' '{_MARK}'\nenv -0"
        done = run(["bash", "-euc", script], self.directory, self.environment)
        printed, _, after = done.rpartition(f"\n{_MARK}\n")
        self.environment = dict(entry.split("=", 1) for entry in after.split("\0") if "=" in entry)
        return printed

    def python(self, code: str) -> str:
        """Run Python and return its output; an error names the line of the block."""
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(code, "<block>", "exec"), self.names)  # noqa: S102  our own document
        return printed.getvalue()

    def sql(self, statements: str) -> str:
        """Run statements, each with a semicolon at the end of a line, and return the results of queries."""
        printed = StringIO()
        with redirect_stdout(printed):
            for statement in filter(str.strip, statements.split(";\n")):
                frame = self.spark.sql(statement)
                if statement.lstrip().startswith("SELECT"):
                    frame.show()
        return printed.getvalue()


@contextmanager
def in_directory(spark: SparkSession, directory: Path) -> Iterator[None]:
    """Let relative paths of Python and Spark start in a directory, and remove what the block creates in the session."""
    jvm: Any = spark._jvm
    hadoop = jvm.org.apache.hadoop.fs
    files = hadoop.FileSystem.getLocal(spark._jsc.hadoopConfiguration())
    before, variables, settings = files.getWorkingDirectory(), dict(os.environ), _settings(spark)
    here = Path.cwd()
    files.setWorkingDirectory(hadoop.Path(str(directory)))
    started = jvm.java.lang.System.setProperty("user.dir", str(directory))  # checkpoints of streams look here
    spark.sql(f"CREATE DATABASE page LOCATION '{directory / 'warehouse'}'")
    spark.sql("USE page")
    os.chdir(directory)
    os.environ.update(KEYTOOL)
    try:
        yield
    finally:
        os.chdir(here)
        for query in spark.streams.active:
            query.stop()
        spark.sql("USE default")
        spark.sql("DROP DATABASE page CASCADE")
        for name in _settings(spark).keys() - settings.keys():
            spark.conf.unset(name)
        files.setWorkingDirectory(before)
        jvm.java.lang.System.setProperty("user.dir", started)
        os.environ.clear()
        os.environ.update(variables)


def _settings(spark: SparkSession) -> dict[str, str]:
    return {row.key: row.value for row in spark.sql("SET").collect() if row.key.startswith("spark.datasource.")}
