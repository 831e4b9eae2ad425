"""The list of all commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from pme_parquet._cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterator


def commands(group: Any, *above: str) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *above, name)
        else:
            yield (*above, name)


COMMANDS = sorted(commands(typer.main.get_command(app)))
