"""Writes errors to stderr, with their beginning in colour at a terminal. `NO_COLOR` turns that off."""

from __future__ import annotations

import os
import re
import sys

_BEGINNING = re.compile(r"\[PME_[A-Z_]+\]|pme-parquet:")
_RED, _PLAIN = "\033[1;31m", "\033[0m"


def write_error(message: str) -> None:
    """Writes a message as a line."""
    begins = _BEGINNING.match(message) if _has_colours() else None
    if begins:
        message = f"{_RED}{begins[0]}{_PLAIN}{message[begins.end() :]}"
    sys.stderr.write(f"{message}\n")


def _has_colours() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
