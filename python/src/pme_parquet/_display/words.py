"""Sizes, numbers, names and findings in words. Text from a file may reach a screen only through `printable`.

Findings of one cause share a line: readers of a screen look for causes. `--json` lists each finding.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
_MOST = 20
_MOST_COLUMNS = 8
# A shorter name may also be a word of the message.
_SHORT = 5
_COLUMN = re.compile(r"\bcolumn '[^']*'")
# Numbers of pages and row groups and lengths differ within one cause. Digits in names do not.
_NUMBER = re.compile(r"('[^']*')|\d+")


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


class Grouped(NamedTuple):
    """A finding in the form used for grouping."""

    condition: str
    file: str
    message: str
    column: str | None = None

    @property
    def cause(self) -> tuple[str, str]:
        """A value that is equal for findings that differ only in their place."""
        why = self.message.removeprefix(f"[{self.condition}] ").removeprefix(self.file)
        # For key material next to a file: its path contains the file's directory and name.
        for part in self.file.rpartition("/")[::2]:
            why = why.replace(part, "") if len(part) > _SHORT else why
        why = _COLUMN.sub("column", why)
        return self.condition, _NUMBER.sub(lambda found: found[1] or "0", why)


def by_cause(findings: Iterable[Grouped]) -> Iterator[str]:
    """One line for each cause, with the first of its findings."""
    groups: dict[tuple[str, str], list[Grouped]] = {}
    for finding in findings:
        groups.setdefault(finding.cause, []).append(finding)
    for alike in list(groups.values())[:_MOST]:
        yield _line(alike)
    if len(groups) > _MOST:
        left = number(sum(map(len, list(groups.values())[_MOST:])), "finding")
        yield f"and {left} more of {number(len(groups) - _MOST, 'other cause')}; --json and to_dict() list all"


def _line(alike: list[Grouped]) -> str:
    first = alike[0]
    condition = f"[{first.condition}] "
    message = printable(first.message.removeprefix(condition))
    # Our messages contain the place; those of a storage may not.
    where = "" if first.condition.startswith("PME_") or first.file in first.message else f"{printable(first.file)}: "
    files = len({finding.file for finding in alike})
    if len(alike) == 1:
        return f"{printable(condition)}{where}{message}"
    times = "" if files == len(alike) else f"{len(alike):,} times "
    return f"{printable(condition)}{times}in {number(files, 'file')}{_columns(alike)}, as in {where}{message}"


def _columns(alike: list[Grouped]) -> str:
    names = list(dict.fromkeys(finding.column for finding in alike if finding.column))
    if len(names) < 2:  # noqa: PLR2004 the message names the only column
        return ""
    more = f" and {len(names) - _MOST_COLUMNS:,} more" if len(names) > _MOST_COLUMNS else ""
    return f", columns {', '.join(map(printable, names[:_MOST_COLUMNS]))}{more}"
