"""Runs the commands that the documents tell a user to run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support import archive
from tests.support.session import JAVA_OPTIONS


def environment(python: Path = Path(sys.executable)) -> dict[str, str]:
    """Return the environment of someone who followed the README, with the interpreter's commands first on the path."""
    # Variables that name the session and the jars of the tests are not part of it.
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    return (
        own
        | archive.VARIABLES
        | {
            "PATH": os.pathsep.join([str(python.parent), os.environ["PATH"]]),
            "PYSPARK_PYTHON": str(python),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "JDK_JAVA_OPTIONS": JAVA_OPTIONS,
            "MASTER": "local[4]",  # a page does not tell the reader to set this
        }
    )


def run(command: list[str], directory: Path, variables: dict[str, str] | None = None) -> str:
    """Run a command in a directory and return its output; fail with all of it if the command fails."""
    env = variables or environment()
    done = subprocess.run(command, cwd=directory, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shell(directory: Path, commands: str, variables: dict[str, str] | None = None) -> str:
    """Run shell commands that must all succeed."""
    return run(["bash", "-euc", f"{commands}\ntrue"], directory, variables)
