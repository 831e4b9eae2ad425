"""`pme-parquet inspect`: nothing is imported here that takes time."""

from __future__ import annotations

import json
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
        sys.stdout.write(f"{json.dumps(document)}\n")
    elif sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 slow to import

        Console().print(shown, markup=False, highlight=False, soft_wrap=isinstance(shown, str))
    else:
        sys.stdout.write(f"{shown}\n")
