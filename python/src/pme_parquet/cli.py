"""The command `pme-parquet`. Its commands are in `_cli`; this module turns failures into messages and exit codes."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from pme_parquet._audience import used
from pme_parquet._cli import output
from pme_parquet._cli.output import FINDING, print_result, put, write_error
from pme_parquet._inspect import inspect

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command, and ends with its exit code.

    Args:
        arguments: those of this process by default.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    with used("cli"):
        try:
            code = _run(given)
        except KeyboardInterrupt:
            code = output.INTERRUPTED
        except Exception as error:  # noqa: BLE001 a traceback says nothing to a user, and 1 would be a finding
            _report(error, given)
            code = output.code(error)
    raise SystemExit(code)


def _run(arguments: list[str]) -> int:
    match arguments:
        # Inspecting a file takes less time than typer takes to build its commands.
        case ["inspect", path] if not path.startswith("-"):
            _look(path, as_json=False)
        case ["inspect", "--json", path] | ["inspect", path, "--json"] if not path.startswith("-"):
            _look(path, as_json=True)
        case _:
            from pme_parquet._cli.app import run  # noqa: PLC0415 as above

            return run(arguments)
    return 0


def _look(path: str, *, as_json: bool) -> None:
    report = inspect(path, progress=True)
    print_result(report, report.to_dict(), as_json=as_json)
    if report.findings:
        raise SystemExit(FINDING)


def _report(error: Exception, arguments: list[str]) -> None:
    if "--verbose" in arguments and not output.foreseen(error):
        from traceback import print_exception  # noqa: PLC0415 slow to import

        print_exception(error)
    if not (isinstance(error, output.CommandFailedError) and error.shown):
        write_error(output.message_of(error))
    if "--json" in arguments:
        with suppress(output.CommandFailedError):  # stdout cannot be written, and stderr has the message
            put(json.dumps(output.document(error)))
