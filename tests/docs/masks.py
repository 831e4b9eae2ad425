"""When what a page shows is what was printed: the same, but for what differs between two runs or two machines.

- `…` in the page stands for anything; a line of it for any lines.
- Sizes (`54.8 KiB`), durations (`1.2 s`), numbers of bytes, versions (`1.17.0`), minutes
  (`2026-11-24 01:02`), Spark's names of files, ids of key
  encryption keys and of builds are compared by their form.
- The directory that the reader is in is written `/home/ada`.
- A sample depends on the names of files: what it leaves out and opens is compared without its numbers.
- Of what the doctor warns, only lines are compared, and no speed.
- Runs of blanks, and of the dashes that frame tables, count as one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HOME = "/home/ada"

# The order matters: later patterns do not see what an earlier one masked.
_FORMS = {
    # As tables show them, also without their middle.
    r"part-\d[0-9a-f…-]{6,}[\w.-]*?\.parquet": "<file>",
    r"[0-9a-f]{40}": "<build>",
    r"[A-Za-z0-9+/_-]{22}==": "<id>",
    r"\b\d+\.\d+\.\d+\b": "<version>",
    r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b(?!:)": "<minute>",
    r"\b[\d,.]+ (?:[KMGT]iB|[KMGT]?B|bytes)(?:/s)?(?!\w)": "<size>",
    r"\b[\d,.]+ (?:ms|s|seconds|min)(?!\w)": "<time>",
    r"\b\d+ modules(?=, .* left out )": "<number> modules",
    r"(?<= left out )\d+ files and \d+ pages\b": "<number> files and <number> pages",
    r"-{3,}": "---",
    r"─{3,}": "───",
    r"[ \t]+": " ",
    # The JVM of the tests stops its compiler early, and the doctor warns about that.
    r"(?m)^ (?:ok|warning) (AES speed on the driver) .*(?:\n -> .*)?": r"\1",
    r"\b\d+ warnings?, \d+ ok\b": "<counts>",
}


def same(shown: str, printed: str, directory: Path) -> bool:
    """Whether a page shows what a command printed in the directory."""
    wanted = "(?:.*\n)*?".join(map(_lines, re.split(r"^[ \t]*…[ \t]*\n", masked(shown), flags=re.MULTILINE)))
    return re.fullmatch(wanted, masked(printed.replace(str(directory), HOME))) is not None


def masked(text: str) -> str:
    """Return the text with everything that varies replaced by its form, without blank lines around it."""
    for form, name in _FORMS.items():
        text = re.sub(form, name, text)
    return "".join(f"{line.strip()}\n" for line in text.strip("\n").split("\n"))


def _lines(text: str) -> str:
    return ".*".join(map(re.escape, text.split("…")))
