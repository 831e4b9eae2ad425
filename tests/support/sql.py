"""Calls of the SQL functions, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    Argument = Mapping[str, str] | str | bool


def call(function: str, path: str, **arguments: Argument) -> str:
    """Return a call with the path as its first argument and the others by name."""
    named = (f"{name} => {literal(value)}" for name, value in arguments.items())
    return f"{function}({', '.join([literal(path), *named])})"


def literal(value: Argument) -> str:
    """Return a value as SQL spells it."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case _:
            return f"map({', '.join(literal(text) for entry in value.items() for text in entry)})"
