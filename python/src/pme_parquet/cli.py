"""The command `pme-parquet`. Its commands are in `_cli`; what fails becomes a message and an exit code here."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from pme_parquet._cli import exits

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command, and ends with its exit code.

    Args:
        arguments: those of this process by default.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _run(given)
    except KeyboardInterrupt:
        raise SystemExit(exits.INTERRUPTED) from None
    except Exception as error:
        told = exits.told(error)
        if told is None:
            raise
        sys.stderr.write(f"{told}\n")
        if "--json" in given:
            sys.stdout.write(f"{json.dumps(exits.document(error))}\n")
        raise SystemExit(exits.code(error)) from None


def _run(arguments: list[str]) -> None:
    match arguments:
        # Looking at a file takes less time than typer takes to make its commands of functions.
        case ["inspect", path] if not path.startswith("-"):
            as_json = False
        case ["inspect", "--json", path] | ["inspect", path, "--json"] if not path.startswith("-"):
            as_json = True
        case _:
            from pme_parquet._cli.app import app  # noqa: PLC0415 as above

            app(arguments, prog_name="pme-parquet")
            return
    from pme_parquet._cli.looking import look  # noqa: PLC0415 as above

    look(path, as_json=as_json)
