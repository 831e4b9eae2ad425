"""Just enough Markdown for the tests of the documents: links, headings and code blocks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")


class Link(NamedTuple):
    """A link of a document: the file it names, relative to the document, and the heading in it."""

    file: str
    heading: str


def documents() -> list[Path]:
    """Return every document of the project."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("python/*.md"), *ROOT.glob("docs/**/*.md")])


def code_blocks(document: Path, language: str) -> list[str]:
    """Return the code blocks of one language, in order."""
    return [code for found, code in _BLOCK.findall(document.read_text()) if found == language]


def links(document: Path) -> list[Link]:
    """Return the links into this project; links to the web are not followed."""
    prose = _CODE.sub("", _BLOCK.sub("", document.read_text()))
    local = [target for target in _LINK.findall(prose) if "://" not in target and not target.startswith("mailto:")]
    return [Link(*target.partition("#")[::2]) for target in local]


def headings(document: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub makes them."""
    prose = _BLOCK.sub("", document.read_text())
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in _HEADING.findall(prose)}
