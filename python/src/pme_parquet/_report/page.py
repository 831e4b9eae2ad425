"""The page: its head, its sections in order, and a glossary. It loads nothing and runs nothing."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections import Counter
from importlib.resources import files
from typing import TYPE_CHECKING

from pme_parquet._display.words import FOOTERS, number, size
from pme_parquet._inspect.view import key_ids
from pme_parquet._report import exposed, snapshots
from pme_parquet._report.html import MOST_ROWS, Html, anchor, limited, listed, paragraph, table, tag
from pme_parquet._report.keys import keys
from pme_parquet._report.protection import DIFFERENT, READABLE
from pme_parquet._report.summary import DIFFERENCES, FINDINGS, KEYS, ORC, UNPROTECTED, lead, summary
from pme_parquet.errors import BY_CONDITION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from pme_parquet._report.facts import Facts
    from pme_parquet._report.protection import Problem, Protection

_GLOSSARY = {
    "Master key": "A key in a key management system or keystore. This report knows only its name.",
    "Data key": "A key that encrypts the footer or a column of one file.",
    "Key-encryption key": (
        "With double wrapping: a key of one write job that wraps data keys, and is itself wrapped by a master key."
    ),
    "Wrapped": "Encrypted with another key, so that it can be stored with the data.",
    "Footer": "The end of a Parquet file, with the schema and the position of all other parts.",
    "Module": (
        "A part of a file that is encrypted and authenticated as a unit: a page, a header, an index, a filter, a "
        "footer."
    ),
    "Tag": (
        "Sixteen bytes that authenticate a module. Only holders of the key can create them, and they reveal any change."
    ),
    "AAD prefix": "A name that files are bound to, so that readers refuse a file of another table.",
    "Snapshot": "A numbered list of the files of a table. Readers refuse files that differ from the newest list.",
    "Manifest": "The file of a snapshot that everyone can read. It names the parts of the list, which are encrypted.",
    "Seal": "The signature or HMAC of a manifest. It shows who made the list, and that nobody altered it.",
    "Index": "What each file can contain of a column, so that a query can skip files.",
    "Drift": "Differences in protection between the files of one table.",
}
_FOUND_BY = {
    "verification": "verification, with keys",
    "footers": "comparison of footers, with keys",
    "inspection": "inspection, without keys",
}
_OF_TABLE = {
    READABLE: "A column of an encrypted file has no key.",
    DIFFERENT: "A column is protected differently in different files.",
}


def page(facts: Facts, created: datetime, version: str) -> str:
    """The whole page."""
    parts = (
        _section("Summary", summary(facts)),
        _section(FINDINGS, problems(facts)),
        _section(DIFFERENCES, differences(facts)),
        _section(UNPROTECTED, exposed.unprotected(facts)),
        _section(KEYS, keys(facts)),
        *([_section(ORC, exposed.orc_columns(facts))] if exposed.has_orc_files(facts) else []),
        _section(snapshots.SNAPSHOTS, snapshots.snapshots(facts)),
        _section("What this report does not show", exposed.unknown(facts)),
        _section("Glossary", _glossary()),
    )
    title = f"Encryption report: {facts.inspection.path}"
    how = "with keys" if facts.with_keys else "without keys"
    made = f"{lead(facts)}. Made {how} on {created:%Y-%m-%d at %H:%M:%S} UTC by pme-parquet {version}."
    reached = facts.inspection.storage
    storage = [paragraph(f"Storage: {reached}.", class_="lead")] if reached else []
    header = tag("header", tag("h1", title), paragraph(made, class_="lead"), *storage)
    body = tag("body", header, tag("main", *parts))
    return f"<!DOCTYPE html>\n{tag('html', _head(title), body, lang='en')}\n"


def _head(title: str) -> Html:
    style = files("pme_parquet._report").joinpath("style.css").read_text(encoding="utf-8")
    # The policy allows the one style by its hash, so that injected content cannot load, run or restyle anything.
    known = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{known}'; base-uri 'none'; form-action 'none'"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="robots", content="noindex"),
        tag("title", title),
        tag("style", Html(style)),
    )


def _section(title: str, content: Html) -> Html:
    name = anchor(title)
    return tag("section", tag("h2", title, id=name), content, aria_labelledby=name)


def _glossary() -> Html:
    return tag("dl", *(part for word, meaning in _GLOSSARY.items() for part in (tag("dt", word), tag("dd", meaning))))


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
    parts = [listed(unlike)]
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
