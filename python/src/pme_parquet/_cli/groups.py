"""How a command gets its options from groups of them, and how help presents the commands."""

from __future__ import annotations

import functools
import inspect
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from pme_parquet._cli.sessions import SparkChoice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


HELP = {"help_option_names": ["-h", "--help"]}
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Turns each field of a command's dataclass parameters into an option."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    @functools.wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401 what typer has parsed
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})  # type: ignore[operator]
            for name, group in groups.items()
        }
        command(**given, **made)

    parameters = list(_expanded(command, hints, groups))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _expanded(
    command: Callable[..., None], hints: dict[str, Any], groups: dict[str, Any]
) -> Iterator[inspect.Parameter]:
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name in groups:
            yield from _of_group(groups[parameter.name])
        else:
            yield _parameter(parameter.name, hints[parameter.name], parameter.default)


def _of_group(group: Any) -> Iterator[inspect.Parameter]:  # noqa: ANN401 a dataclass
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        yield _parameter(field.name, hints[field.name], default)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:  # noqa: ANN401 of any type
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


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
