"""Sizes, numbers and names in words. Text from a file may reach a screen only through `printable`."""

from __future__ import annotations

_LONGEST = 400
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024
FOOTERS = {
    "encrypted": "encrypted",
    "signed": "plaintext, signed",
    "plaintext": "plaintext: the file is not encrypted",
    "unsigned": "plaintext, not signed, as in every ORC file",
    None: "not known",
}


def printable(text: str, longest: int = _LONGEST) -> str:
    """Text with escapes for characters that could control a terminal or change the writing direction."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def size(count: int) -> str:
    """A number of bytes in a readable unit."""
    value = float(count)
    for unit in _UNITS:
        if value < _STEP or unit == _UNITS[-1]:
            break
        value /= _STEP
    return f"{count} B" if unit == "B" else f"{value:,.1f} {unit}"


def number(count: int, what: str) -> str:
    """A number with its noun, in the singular or plural."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
