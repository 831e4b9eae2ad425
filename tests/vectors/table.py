"""The table of docs/other-engines.md: how many valid files each program opens. It says nothing of other files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tests.vectors.index import FOLDER, Index
from tests.vectors.runs import NOT_RUN, OPENS, OTHER_ROWS, REFUSES, UNSUPPORTED

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from tests.vectors.index import Case
    from tests.vectors.runs import Outcome

ROOT = FOLDER.parents[1]
PAGE = ROOT / "docs" / "other-engines.md"
BEGIN, END = "<!-- Made by `scripts/vectors docs`. -->", "<!-- The end of what it makes. -->"

# A row for all files, and one for those with any of some features.
GROUPS = {
    "all": (),
    "`AES_GCM_V1`": ("AES_GCM_V1",),
    "`AES_GCM_CTR_V1`": ("AES_GCM_CTR_V1",),
    "encrypted footer": ("EncryptedFooter",),
    "plaintext footer, signed": ("PlaintextFooter",),
    "keys of columns": ("ColumnKeys",),
    "plaintext columns": ("PlaintextColumns",),
    "wrapped keys, in the file or beside it": ("WrappedKeys",),
    "keys of 192 and 256 bits": ("Key192", "Key256"),
    "AAD prefix, stored": ("StoredAadPrefix",),
    "AAD prefix, supplied": ("SuppliedAadPrefix",),
    "nested columns": ("NestedColumns",),
    "chunks of several pages": ("ManyPages",),
    "Bloom filters": ("BloomFilter",),
    "V2 pages": ("V2Pages",),
}
ENDS = {
    "refused, and the error says that something is not supported": (UNSUPPORTED,),
    "refused with another error": (REFUSES, OTHER_ROWS),
    "not run": (NOT_RUN,),
}


def ours(index: Index) -> tuple[str, Mapping[str, str]]:
    """Return our name with the version, and how each valid case ends as VectorsSuite asserts."""
    conditions = json.loads((FOLDER / "conditions.json").read_text())
    source = (ROOT / "python" / "src" / "pme_parquet" / "_version.py").read_text()
    version = re.search(r'__version__ = "(.+)"', source)
    kinds = {case.id: REFUSES if case.id in conditions else OPENS for case in index.of("valid")}
    return f"pme-parquet {version[1] if version else ''}", kinds


def table(index: Index, runs: Mapping[str, list[Outcome]], day: dt.date) -> str:
    """Return the part of the page. `runs` are the programs, named with their versions, and what they did."""
    name, own = ours(index)
    programs = {name: own} | {title: {one.case.id: one.kind for one in done} for title, done in runs.items()}
    valid = list(index.of("valid"))
    lines = [
        BEGIN,
        f"Valid [vectors](../tests/vectors/vectors.json) that each program opened on {day.day} {day:%B %Y},",
        "of those that it was given.",
        "The last rows count the others.",
        "From Python, PyArrow takes no raw keys of columns, and no AAD prefix with wrapped keys: these are not run.",
        "Polars, DuckDB and arrow-rs are given data keys, also where the file has them wrapped.",
        "",
        f"| Valid files with | {' | '.join(programs)} |",
        "|---" * (len(programs) + 1) + "|",
    ]
    for words, features in GROUPS.items():
        some = [case for case in valid if not features or set(features) & set(case.features)]
        cells = [cell(some, kinds) for kinds in programs.values()]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    for words, ends in ENDS.items():
        counts = [str(sum(kinds[case.id] in ends for case in valid)) for kinds in programs.values()]
        lines.append(f"| {words} | {' | '.join(counts)} |")
    return "\n".join([*lines, END])


def cell(cases: list[Case], kinds: Mapping[str, str]) -> str:
    opened = sum(kinds[case.id] == OPENS for case in cases)
    return f"{opened}/{sum(kinds[case.id] != NOT_RUN for case in cases)}"


def part(page: str) -> str:
    """Return the part of the page that is made."""
    return page[page.index(BEGIN) : page.index(END) + len(END)]


def write(made: str) -> None:
    """Write the part into the page."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page.replace(part(page), made), encoding="utf-8")


def columns(text: str) -> dict[str, list[str]]:
    """Return the cells of each program in the table."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {title: cells for title, *cells in zip(*rows, strict=True)}
