"""How help presents the commands: in groups, with the options of Spark in one place."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_type_hints

from pme_parquet._cli.sessions import SparkChoice

if TYPE_CHECKING:
    import typer

GROUPS = {
    "Look at a table, without a key": ("inspect", "snapshots", "delta-check", "hudi-check", "iceberg-check"),
    "Keys": ("keys", "key-usage", "rotate"),
    "Encrypt and copy": (
        "plan",
        "encrypt",
        "rekey",
        "decrypt",
        "migrate-orc",
        "delta-encrypt",
        "delta-rotate",
    ),
    "Check": ("doctor", "verify", "seal", "report"),
}
_GROUP_OF = {name: title for title, names in GROUPS.items() for name in names}
_ORDER = list(_GROUP_OF)
_SPARK = tuple(field.name for field in fields(SparkChoice))
_POINTER = "`pme-parquet --help` explains the options for Spark: {}."


def arrange(app: typer.Typer) -> None:
    """Puts each command into its group, and says which of them take the options for Spark."""
    for command in app.registered_commands:
        callback: Any = command.callback
        name = command.name or callback.__name__.replace("_", "-")
        command.name, command.rich_help_panel = name, _GROUP_OF[name]
        if set(_SPARK) <= set(inspect.signature(callback).parameters):
            command.epilog = _POINTER.format(", ".join(f"`--{option}`" for option in _SPARK))
    for group in app.registered_groups:
        group.rich_help_panel = _GROUP_OF[str(group.name)]
    app.registered_commands.sort(key=lambda command: _ORDER.index(str(command.name)))


def of_spark() -> str:
    """The options for Spark, as Markdown."""
    hints = get_type_hints(SparkChoice, include_extras=True)
    lines = [_line(field.name, hints[field.name].__metadata__[0]) for field in fields(SparkChoice)]
    return "\n\n".join(["Commands that start Spark also take:", *lines])


def _line(name: str, option: Any) -> str:  # noqa: ANN401 typer does not name its type
    names = ", ".join(f"`{one}`" for one in dict.fromkeys((f"--{name}", *option.param_decls)))
    metavar = f" {option.metavar}" if option.metavar else ""
    return f"{names}{metavar}: {option.help}"
