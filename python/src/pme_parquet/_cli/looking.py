"""`pme-parquet inspect`: nothing is imported here that takes time."""

from __future__ import annotations

import json
import os
import sys

from pme_parquet._cli.exits import FINDING
from pme_parquet._inspect import inspect


def look(path: str, *, as_json: bool) -> None:
    """Tells what `inspect` finds. Exit 1 if something is wrong."""
    report = inspect(path)
    tell(report, report.to_dict(), as_json=as_json)
    if report.findings:
        raise SystemExit(FINDING)


def tell(shown: object, document: object, *, as_json: bool) -> None:
    """Writes a result to stdout: one JSON document, what rich makes of it on a terminal, or its text."""
    if as_json:
        put(json.dumps(document))
    elif sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 slow to import

        Console().print(shown, markup=False, highlight=False, soft_wrap=isinstance(shown, str))
    else:
        put(str(shown))


def put(text: str) -> None:
    """Writes to stdout. Who reads it may have seen enough, as `head` has: the exit code stays what it is."""
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Or Python complains at its end, when it writes the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
