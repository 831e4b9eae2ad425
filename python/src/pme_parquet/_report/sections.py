"""The sections of a report: keys, what is not protected, findings, differences, layouts, and what is not known."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pme_parquet._display.words import FOOTERS, number, size
from pme_parquet._inspect.key_words import key_ids
from pme_parquet._report.html import MOST_ROWS, Html, first, limited, listed, paragraph, table, tag
from pme_parquet._report.keys import master_keys
from pme_parquet._report.picture import picture
from pme_parquet._report.problems import DIFFERENT, READABLE
from pme_parquet.errors import BY_CONDITION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pme_parquet._report.facts import Facts
    from pme_parquet._report.keys import MasterKey
    from pme_parquet._report.palette import Palette
    from pme_parquet._report.problems import Problem
    from pme_parquet._report.protection import Protection

_MOST_KEYS = 100
_MOST_NAMES = 12
_FOUND_BY = {
    "verification": "verification, with keys",
    "footers": "comparison of footers, with keys",
    "inspection": "inspection, without keys",
}
_OF_TABLE = {
    READABLE: "A column of an encrypted file has no key.",
    DIFFERENT: "A column is protected differently in different files.",
}


def keys(facts: Facts, palette: Palette) -> Html:
    """Which master key protects what, and what would be lost without it."""
    rows = []
    for key in master_keys(facts):
        columns = "not visible" if key.columns is None else first(sorted(key.columns), _MOST_NAMES) or "none"
        name = tag("span", palette.swatch("encrypted", key.name), f" {key.title}")
        role = "footers, and columns without a key of their own" if key.role == "footer" else "columns"
        amount = "not visible" if key.bytes is None else size(key.bytes)
        rows.append((name, role, f"{key.files:,}", columns, amount, _kept(key), _lengths(key), key.loss))
    if not rows:
        return paragraph("The files name no keys.")
    header = ("Master key", "Protects", "Files", "Columns", "Size", "Data keys", "Key lengths", "Unreadable without it")
    explained = paragraph(
        "A master key wraps the data keys in the files and is stored outside them. Anyone who may use it can read "
        "what its row lists. If it is lost, that data is lost."
    )
    return tag("div", explained, limited("Master keys", header, rows, numbers=(2, 4), most=_MOST_KEYS))


def _kept(key: MasterKey) -> str:
    return "; ".join(sorted(key.wrappings)) or "not known"


def _lengths(key: MasterKey) -> str:
    data, between = (_bits(bits) for bits in (key.data_key_bits, key.kek_bits))
    parts = [f"data keys {data}" if data else "not visible"]
    if key.keks:
        parts.append(f"{number(len(key.keks), 'key-encryption key')}{' of ' + between if between else ''}")
    elif between:
        parts.append(f"key-encryption keys of {between}")
    return ", ".join(parts)


def _bits(bits: Iterable[int]) -> str:
    text = " or ".join(str(one) for one in sorted(bits))
    return f"{text} bits" if text else ""


def problems(facts: Facts) -> Html:
    """Problems: how often, what they mean, and where."""
    parts = [_opened(facts)]
    if not facts.problems:
        return tag("div", *parts, paragraph("There are no findings."))
    counts = Counter(problem.condition for problem in facts.problems)
    conditions = [(name or "other", f"{count:,}", _meaning(name)) for name, count in counts.most_common()]
    parts.append(table("Findings by condition", ("Condition", "Findings", "Meaning"), conditions, numbers=(1,)))
    header = ("File", "Part", "Condition", "Problem and remedy", "Found by")
    rows = [_row(problem) for problem in facts.problems]
    return tag("div", *parts, limited("Findings", header, rows))


def _row(problem: Problem) -> Sequence[str]:
    return problem.file, problem.where, problem.condition, problem.message, _FOUND_BY[problem.found_by]


def _meaning(condition: str) -> str:
    if condition in _OF_TABLE:
        return _OF_TABLE[condition]
    known = BY_CONDITION.get(condition)
    return (known.__doc__ or "").split("\n")[0] if known else "The storage failed, with this message."


def _opened(facts: Facts) -> Html:
    opened = facts.opened
    if opened is None:
        return paragraph(
            "Inspected without keys. No module was opened, so damage and forgery inside files are not detected."
        )
    modules = number(opened.modules, "module")
    files = number(opened.files, "file")
    sentences = [f"{files} checked with keys: {modules} opened, {size(opened.bytes)} read."]
    if opened.untagged_pages:
        sentences.append(
            f"{number(opened.untagged_pages, 'page')} have no authentication tag: only their lengths were checked."
        )
    if opened.sample:
        left = f"{number(opened.skipped_files, 'file')} and {number(opened.skipped_pages, 'page')}"
        sentences.append(f"This was a sample (seed {opened.sample.seed}) that left out {left}.")
    return paragraph(" ".join(sentences))


def differences(facts: Facts) -> Html:
    """How files differ, and groups of similar files: by each column if there are keys."""
    columns = facts.protection.differences() if facts.protection else []
    unlike = [*(difference.in_words for difference in columns[:MOST_ROWS]), *facts.inspection.drift]
    more = len(columns) - MOST_ROWS
    unlike += [f"and {more:,} more groups of differing columns"] if more > 0 else []
    parts = [listed(unlike, "drift") if unlike else Html("")]
    parts += [paragraph(text) for text in _not_compared(facts, differ=bool(unlike))]
    if facts.protection and facts.protection.groups:
        parts.append(_by_columns(facts.protection))
    return tag("div", *parts, *_by_footers(facts))


def _not_compared(facts: Facts, *, differ: bool) -> Iterator[str]:
    """What the comparison of files did not cover."""
    files = facts.inspection.files
    if not facts.protection:
        if any(file.footer == "encrypted" for file in files):
            yield (
                "Files were compared without keys. Encrypted footers hide which columns there are, which key each "
                "has, and whether any is readable."
            )
        elif files and not differ:
            yield "All files state the same protection. No module was opened to prove it."
    elif facts.protection.unknown_files:
        yield f"{number(facts.protection.unknown_files, 'file')} could not be opened or compared."
    elif files and not differ:
        if len(facts.protection.groups) == len(facts.inspection.groups) == 1:
            yield "All files are protected in the same way. Every column of every file was compared."
        else:
            yield (
                "Each column is protected in the same way in every file that has it. The groups below differ in "
                "something else, such as which columns their files have."
            )


def _by_columns(protection: Protection) -> Html:
    rows = [(one.first, f"{one.files:,}", size(one.bytes), one.in_words) for one in protection.groups]
    header = ("First file", "Files", "Size", "Columns")
    return limited("Files by protection of their columns", header, rows, numbers=(1, 2))


def _by_footers(facts: Facts) -> Iterator[Html]:
    header = ("First file", "Files", "Size", "Footer", "Algorithm", "Keys visible without keys")
    rows = []
    for group in facts.inspection.groups:
        file = group.example
        algorithm = file.algorithm or "none"
        rows.append((file.file, f"{group.files:,}", size(group.bytes), FOOTERS[file.footer], algorithm, key_ids(file)))
    if rows:
        yield limited("Files by what is visible without keys", header, rows, numbers=(1, 2))


def layouts(facts: Facts, palette: Palette) -> Html:
    """A picture of one file of each of the largest groups."""
    if not facts.layouts:
        return paragraph("There is no file to show.")
    parts = [
        paragraph(
            "The bytes of one file from left to right, to scale. Each colour and letter is a master key, darker parts "
            "are headers, and anyone can read hatched parts. Point at a part to see what it is."
        )
    ]
    for layout in facts.layouts:
        by = "with this protection of columns" if facts.protection else "that look the same without keys"
        alike = f"{number(layout.alike, 'file')} {by}" if layout.alike > 1 else "the only such file"
        parts += [tag("h3", layout.file), paragraph(f"{size(layout.bytes)}; {alike}.")]
        parts.append(picture(layout, palette))
    return tag("div", *parts)
