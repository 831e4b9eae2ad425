"""What the docstring of a function or a class says of a parameter, in the words of the command line."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from pme_parquet._audience import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SECTION = re.compile(r"^(?:Args|Attributes):\n((?: .*\n?|\n)*)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)
# A name in backticks, maybe with a value, or a text in quotes.
_CODE = re.compile(r'`(?:([\w.]+)(=[^`]*)?|"([^`]*)")`')


def help_of(function: Callable[..., Any], name: str, options: Mapping[str, str] | None = None) -> str:
    """The help of the option for a parameter.

    Args:
        function: a function, or a class, whose docstring describes the parameter.
        name: of the parameter.
        options: how the command line calls parameters.
    """
    text = dict(_entries(function))[name].removeprefix("whether to ")
    text = _CODE.sub(lambda found: _code(found, COMMANDS | dict(options or {})), text)
    return text[0].upper() + text[1:]


def _entries(function: Callable[..., Any]) -> list[tuple[str, str]]:
    section = _SECTION.search(inspect.getdoc(function) or "")
    return [(name, " ".join(text.split())) for name, text in _ENTRY.findall(section[1] if section else "")]


def _code(found: re.Match[str], options: Mapping[str, str]) -> str:
    name, value, quoted = found.groups()
    if quoted is not None:
        return f"`{quoted}`"
    return f"`{options[name]}{value or ''}`" if name in options else found[0]
