"""Reads JSON strictly: exact names and types, no name twice, bounded numbers. Readers must not differ in what they see.

What is nested deeper than the format says has a wrong type, and is refused with it.
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_NUMBER = 2**63 - 1


class MalformedError(Exception):
    """A manifest does not have the form of one; the message is the reason, as after *damaged:*."""


class Fields:
    """The fields of one JSON object, which has exactly these fields."""

    def __init__(self, value: object, what: str, names: frozenset[str]) -> None:
        self._what = what
        if not isinstance(value, dict):
            raise MalformedError(f"{what} is not a JSON object")
        for name in sorted(names - value.keys()):
            raise MalformedError(f"{what} has no field '{name}'")
        for name in sorted(value.keys() - names):
            raise MalformedError(f"{what} has a field '{name}', which this format does not have")
        self._values: dict[str, Any] = value

    def text(self, name: str, form: str | None = None) -> str:
        """A text; of this form, if there is one."""
        value = self._values[name]
        if not _is_text(value) or (form is not None and not re.fullmatch(form, value, re.ASCII)):
            raise self._wrong(name, "a text" if form is None else "of the required form")
        return str(value)

    def text_or_null(self, name: str, form: str | None = None) -> str | None:
        """A text, or null."""
        return None if self._values[name] is None else self.text(name, form)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self._values[name]
        if not isinstance(value, list) or not all(map(_is_text, value)):
            raise self._wrong(name, "a list of texts")
        return tuple(value)

    def text_map(self, name: str) -> dict[str, str]:
        """An object whose values are texts."""
        value = self._values[name]
        if not isinstance(value, dict) or not all(map(_is_text, (*value, *value.values()))):
            raise self._wrong(name, "an object of texts")
        return value

    def number(self, name: str, least: int = 0) -> int:
        """A whole number that a reader in Java can hold."""
        value = self._values[name]
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MAX_NUMBER:
            raise self._wrong(name, f"a whole number from {least} to {MAX_NUMBER}")
        return value

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._values[name]
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def number_map(self, name: str, *, least: int = 1) -> dict[str, int]:
        """An object with at least this number of fields, whose values are whole numbers."""
        value = self._values[name]
        if not isinstance(value, dict) or len(value) < least or not all(map(_is_text, value)):
            raise self._wrong(name, "an object of numbers")
        fields = Fields(value, f"its '{name}'", frozenset(value))
        return {key: fields.number(key) for key in value}

    def object(self, name: str, names: frozenset[str]) -> Fields:
        """An object with exactly these fields."""
        return Fields(self._values[name], f"its '{name}'", names)

    def objects(self, name: str, names: frozenset[str]) -> list[Fields]:
        """A list of objects, each with exactly these fields."""
        value = self._values[name]
        if not isinstance(value, list):
            raise self._wrong(name, "a list")
        return [Fields(entry, f"an entry of its '{name}'", names) for entry in value]

    def _wrong(self, name: str, wanted: str) -> MalformedError:
        return MalformedError(f"the field '{name}' of {self._what} is not {wanted}")


def parsed(line: bytes, what: str) -> object:
    """The JSON value of a line.

    Raises:
        MalformedError: it is not JSON in UTF-8, or an object has a name twice.
    """
    try:
        return json.loads(line.decode(), object_pairs_hook=_once, parse_constant=_refused)
    except UnicodeDecodeError:
        raise MalformedError(f"{what} is not UTF-8") from None
    except RecursionError:
        raise MalformedError(f"{what} is nested too deeply") from None
    except ValueError:
        raise MalformedError(f"{what} is not JSON") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise MalformedError("an object of it has the same name twice")
    return found


def _refused(name: str) -> Any:  # noqa: ANN401 as json declares it
    raise ValueError(name)


def _is_text(value: object) -> bool:
    """Whether it is a text that UTF-8 can express: JSON's escapes can write halves of characters."""
    return isinstance(value, str) and not re.search(r"[\ud800-\udfff]", value)
