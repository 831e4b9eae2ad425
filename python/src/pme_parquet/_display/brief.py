"""The `repr` of objects of this package: only what differs from the defaults, and no secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

# Mappings that hold only names of keys and columns.
_OF_NAMES = {"column_keys"}
_USER_OF_URL = re.compile(r"//[^/@\s]*@")


class Brief:
    """A dataclass (with `repr=False`) whose `repr` leaves out default values."""

    def __repr__(self) -> str:
        of: Any = self
        parts = [
            f"{field.name}={_shown(field.name, getattr(self, field.name))}"
            for field in fields(of)
            if getattr(self, field.name) != _default(field)
        ]
        return f"{type(self).__name__}({', '.join(parts)})"


def _default(field: Field[Any]) -> object:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _shown(name: str, value: object) -> str:
    """A form without secrets: a dict of the user may hold one under any name, and a URL may contain a password."""
    if isinstance(value, str):
        return _USER_OF_URL.sub("//…@", repr(value))
    if isinstance(value, Mapping) and name not in _OF_NAMES:
        return f"{{{', '.join(f'{key!r}: …' for key in value)}}}"
    return repr(value)
