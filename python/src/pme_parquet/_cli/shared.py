"""Options that several commands share: a dataclass is a group of options, and a command has it as a parameter."""

from __future__ import annotations

import functools
import inspect
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

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
            yield from _options(groups[parameter.name])
        else:
            yield _parameter(parameter.name, hints[parameter.name], parameter.default)


def _options(group: Any) -> Iterator[inspect.Parameter]:  # noqa: ANN401 a dataclass
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        yield _parameter(field.name, hints[field.name], default)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:  # noqa: ANN401 of any type
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
