"""The section about ORC files: their encrypted columns, and what each mask leaves readable."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pme_parquet._inspect.key_words import key_id
from pme_parquet._inspect.orc_view import AUTHENTICATES_NOTHING, mask, readable, statistics
from pme_parquet._report.html import limited, paragraph, tag

if TYPE_CHECKING:
    from pme_parquet._report.facts import Facts
    from pme_parquet._report.html import Html

_MOST = 200


def has_files(facts: Facts) -> bool:
    """Whether there is any ORC file."""
    return any(file.orc for file in facts.inspection.files)


def columns(facts: Facts) -> Html:
    """Each encrypted column, once for each way in which files protect and mask it."""
    counts = Counter(
        (one.name, one.type, ", ".join(map(key_id, one.keys)), mask(one), readable(one), statistics(one))
        for file in facts.inspection.files
        if file.orc
        for one in file.orc.encrypted
    )
    if not counts:
        return paragraph("No column of the ORC files is encrypted.")
    explained = paragraph(
        f"{AUTHENTICATES_NOTHING} In place of encrypted columns, readers without a key get masks, which are stored "
        "without encryption, with statistics of their own."
    )
    rows = [
        (name, type_, key, masked, left, kept, f"{files:,}")
        for (name, type_, key, masked, left, kept), files in sorted(counts.items())
    ]
    header = ("Column", "Type", "Key", "Mask", "Readable without a key", "Readable statistics", "Files")
    return tag("div", explained, limited("Encrypted columns of ORC files", header, rows, numbers=(6,), most=_MOST))
