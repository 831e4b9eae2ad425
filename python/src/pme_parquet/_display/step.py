"""The progress of an operation, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from pme_parquet._display.words import number, size

_MINUTE = 60
_HOUR = 60 * _MINUTE


@dataclass(frozen=True)
class Step:
    """A part of an operation that goes through all files.

    Attributes:
        name: what it does.
        files: number of finished files.
        all_files: number of all files.
        bytes: number of finished bytes; 0 if bytes do not matter.
        all_bytes: number of all bytes.
    """

    name: str
    files: int
    all_files: int
    bytes: int
    all_bytes: int

    @classmethod
    def parsed(cls, text: str) -> Step:
        """The step that the connector reports."""
        name, *numbers = text.split("\t")
        return cls(name, *map(int, numbers))

    @property
    def fraction(self) -> float:
        """The finished fraction: by bytes, if there are any."""
        done, total = (self.bytes, self.all_bytes) if self.all_bytes else (self.files, self.all_files)
        return done / total if total else 1.0

    def __str__(self) -> str:
        files = f"{self.files:,} of {number(self.all_files, 'file')}"
        return f"{files}, {size(self.bytes)} of {size(self.all_bytes)}" if self.all_bytes else files


class Clock:
    """Estimates how long a step still takes, from its pace so far."""

    def __init__(self) -> None:
        self._name = ""
        self._since = 0.0

    def left(self, step: Step) -> str:
        """The estimate in words; empty if there is none yet."""
        if step.name != self._name:
            self._name, self._since = step.name, monotonic()
        if not 0 < step.fraction < 1:
            return ""
        seconds = (monotonic() - self._since) * (1 - step.fraction) / step.fraction
        return f", {_words(seconds)} left"


def _words(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"
