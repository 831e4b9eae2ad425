"""The page: its head, its sections in order, and a glossary. It loads nothing and runs nothing."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from importlib.resources import files
from typing import TYPE_CHECKING

from pme_parquet._report import exposed, orc, sections, snapshots
from pme_parquet._report.html import Html, anchor, paragraph, tag
from pme_parquet._report.keys import master_keys
from pme_parquet._report.palette import Palette
from pme_parquet._report.summary import DIFFERENCES, FINDINGS, KEYS, ORC, UNPROTECTED, lead, summary

if TYPE_CHECKING:
    from datetime import datetime

    from pme_parquet._report.facts import Facts

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
# Pattern fills for hatched and dotted parts.
_PATTERNS = tag(
    "svg",
    tag(
        "defs",
        tag(
            "pattern",
            tag("rect", width=8, height=8, class_="plain-back"),
            tag("path", d="M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4", class_="plain-line"),
            id="plain",
            width=8,
            height=8,
            patternUnits="userSpaceOnUse",
        ),
        tag(
            "pattern",
            tag("rect", width=6, height=6, class_="hidden-back"),
            tag("circle", cx=3, cy=3, r=1, class_="hidden-dot"),
            id="dots",
            width=6,
            height=6,
            patternUnits="userSpaceOnUse",
        ),
    ),
    class_="patterns",
    width=0,
    height=0,
    aria_hidden="true",
)


def page(facts: Facts, created: datetime, version: str) -> str:
    """The whole page."""
    keys = [key.name for key in master_keys(facts)]
    drawn = [part.key for layout in facts.layouts for part in layout.parts if part.key]
    palette = Palette([*keys, *drawn])
    parts = (
        _section("Summary", summary(facts)),
        _section(FINDINGS, sections.problems(facts)),
        _section(DIFFERENCES, sections.differences(facts)),
        _section(UNPROTECTED, exposed.unprotected(facts)),
        _section(KEYS, sections.keys(facts, palette)),
        *([_section(ORC, orc.columns(facts))] if orc.has_files(facts) else []),
        _section(snapshots.SNAPSHOTS, snapshots.snapshots(facts)),
        _section("File layout", sections.layouts(facts, palette)),
        _section("What this report does not show", exposed.unknown(facts)),
        _section("Glossary", _glossary()),
    )
    title = f"Encryption report: {facts.inspection.path}"
    how = "with keys" if facts.with_keys else "without keys"
    made = f"{lead(facts)}. Made {how} on {created:%Y-%m-%d at %H:%M:%S} UTC by pme-parquet {version}."
    reached = facts.inspection.storage
    storage = [paragraph(f"Storage: {reached}.", class_="lead")] if reached else []
    header = tag("header", tag("h1", title), paragraph(made, class_="lead"), *storage)
    body = tag("body", _PATTERNS, header, tag("main", *parts))
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
