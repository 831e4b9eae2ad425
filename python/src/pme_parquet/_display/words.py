"""Sizes, numbers and names in words. What a file says reaches a screen only as `printable` gives it."""

from __future__ import annotations

_LONGEST = 400
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024
FOOTERS = {
    "encrypted": "encrypted",
    "signed": "plaintext, signed",
    "plaintext": "plaintext: the file is not encrypted",
    None: "not known",
}


def printable(text: str, longest: int = _LONGEST) -> str:
    """Text in which what could steer a terminal, or turn the direction of writing, is written as an escape."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def size(count: int) -> str:
    """A number of bytes as people read it."""
    value = float(count)
    for unit in _UNITS:
        if value < _STEP or unit == _UNITS[-1]:
            break
        value /= _STEP
    return f"{count} B" if unit == "B" else f"{value:,.1f} {unit}"


def number(count: int, what: str) -> str:
    """So many things."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
