"""Runs the commands of a recorded session with one Spark, where and with the environment that the session has.

``python -m tests.docs.session_job SCRATCH`` reads a JSON list of commands and writes, as JSON, what each printed.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from pme_parquet.cli import main
from tests.docs.commands import shell
from tests.support.session import builder, session_settings

PROGRESS = re.compile(r"^(starting Spark …|[a-z ]+: \d+ of \d+ files?.*)$")


def answers(commands: list[str]) -> list[str]:
    """Return what each command printed: results, then what it told people, but no progress."""
    told = []
    code = 0
    for command in commands:
        if command == "echo $?":
            told.append(f"{code}\n")
        elif command.startswith("pme-parquet "):
            code, text = answer(shlex.split(command)[1:])
            told.append(text)
        else:
            told.append(shell(Path.cwd(), command))
    return told


def answer(arguments: list[str]) -> tuple[int, str]:
    """Return the exit code of a command and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as ended:
            code = int(ended.code or 0)
    messages = [line for line in err.getvalue().splitlines() if not PROGRESS.match(line)]
    return code, out.getvalue() + "".join(f"{line}\n" for line in messages)


if __name__ == "__main__":
    os.environ["COLUMNS"] = "120"
    spark = builder(session_settings(Path(sys.argv[1]))).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    printed = answers(json.load(sys.stdin))
    spark.stop()
    json.dump(printed, sys.stdout)
