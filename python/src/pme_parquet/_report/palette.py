"""How pictures distinguish keys: by a letter and by a colour, never by colour alone."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING

from pme_parquet._report.html import tag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pme_parquet._report.html import Html
    from pme_parquet._report.layout import Part, State

# The number of colours that people can distinguish easily; `style.css` defines them.
COLOURS = 8


class Palette:
    """Letters and colours of master keys, the same in the whole report."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}

    def letter(self, key: str) -> str:
        """A to Z, then AA and so on."""
        number = self._numbers[key]
        times, rest = divmod(number, len(ascii_uppercase))
        return ascii_uppercase[rest] * (times + 1)

    def class_of(self, state: State, key: str | None) -> str:
        """The style class for parts that are encrypted with a key, or not encrypted."""
        if state != "encrypted" or key is None:
            return "k-other" if state == "encrypted" else state
        number = self._numbers[key]
        return f"k{number}" if number < COLOURS else "k-other"

    def of(self, part: Part) -> str:
        """The same for a part."""
        return self.class_of(part.state, part.key)

    def swatch(self, state: State, key: str | None) -> Html:
        """A small square of the key's colour, with its letter."""
        square = tag("rect", width="100%", height="100%", class_=self.class_of(state, key))
        letter = [] if key is None else [tag("text", self.letter(key), x="50%", y="14", class_="letter")]
        return tag("svg", square, *letter, class_="swatch", width="26", height="20", aria_hidden="true")
