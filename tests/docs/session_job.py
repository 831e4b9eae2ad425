"""Runs the commands of a recorded session with one Spark, in the session's directory and environment.

``python -m tests.docs.session_job SCRATCH`` reads a JSON list of commands and writes the output of each as JSON.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path

from tests.docs.commands import shell
from tests.support.commands import run
from tests.support.session import builder, session_settings

PROGRESS = re.compile(r"^(starting Spark …|[a-z ]+: \d+ of \d+ files?.*)$")


def answers(commands: list[str]) -> list[str]:
    """Return the output of each command: results, then messages for people, but no progress."""
    told = []
    code = 0
    for command in commands:
        if command == "echo $?":
            told.append(f"{code}\n")
        elif command.startswith("pme-parquet "):
            done = run(*shlex.split(command)[1:])
            code = done.code
            told.append(done.out + "".join(f"{line}\n" for line in done.err.splitlines() if not PROGRESS.match(line)))
        else:
            told.append(shell(Path.cwd(), command))
    return told


if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"
    spark = builder(session_settings(Path(sys.argv[1]))).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    printed = answers(json.load(sys.stdin))
    spark.stop()
    json.dump(printed, sys.stdout)
