"""The kinds of indexes that a manifest can state, with the parameters of each (docs/snapshots.md, "Manifest")."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pme_parquet._snapshots.fields import MAX_NUMBER, MalformedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MOST_VALUES = 1000
_MOST_FALSE = 0.5
# As Java writes a number: 0.01 or 1.0E-4.
_FRACTION = re.compile(r"\d+(\.\d+)?(E-?\d{1,3})?", re.ASCII)
_WHOLE = re.compile(r"[1-9]\d{0,18}", re.ASCII)


def _is_max(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None and int(text) <= _MOST_VALUES


def _is_fpp(text: str) -> bool:
    return _FRACTION.fullmatch(text) is not None and 0 < float(text) <= _MOST_FALSE


def _is_ndv(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None and int(text) <= MAX_NUMBER


# A class has settings of its own, too, which only the class understands.
_CLASS = "class"
_KINDS: Mapping[str, Mapping[str, Callable[[str], bool]]] = {
    "minMax": {},
    "valueList": {"max": _is_max},
    "bloom": {"fpp": _is_fpp, "ndv": _is_ndv},
    _CLASS: {"class": bool},
}


def require_parameters(kind: str, parameters: Mapping[str, str]) -> None:
    """Requires that a kind exists, and that its parameters are ones that it can have.

    Raises:
        MalformedError: it is otherwise.
    """
    known = _KINDS.get(kind)
    if known is None:
        raise MalformedError(f"it has an index of kind '{kind}', which this format does not have")
    if kind == _CLASS and "class" not in parameters:
        raise MalformedError("an index of kind 'class' names no class")
    for name, value in parameters.items():
        is_valid = known.get(name)
        if is_valid is None and kind != _CLASS:
            raise MalformedError(f"an index of kind '{kind}' has a parameter '{name}', which this kind does not have")
        if is_valid is not None and not is_valid(value):
            raise MalformedError(f"the parameter '{name}' of an index of kind '{kind}' cannot be '{value}'")
