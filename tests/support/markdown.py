"""A minimal Markdown parser for the tests of the documents: links, headings and code blocks."""

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


class Block(NamedTuple):
    """A block of code, and its output: a `text` block that follows it with only blank lines between."""

    language: str
    code: str
    line: int
    shown: str | None


def documents() -> list[Path]:
    """Return every document of the project."""
    places = ("*.md", ".github/**/*.md", "python/*.md", "docs/**/*.md")
    return sorted(path for place in places for path in ROOT.glob(place))


def blocks(document: Path) -> list[Block]:
    """Return the blocks of code, in order; the output of one is not a block of its own."""
    text = document.read_text()
    found: list[Block] = []
    end = -1
    for match in _BLOCK.finditer(text):
        follows = found and match[1] == "text" and not text[end : match.start()].strip()
        line = text.count("\n", 0, match.start()) + 1
        if follows and found[-1].shown is None:
            found[-1] = found[-1]._replace(shown=match[2])
        else:
            found.append(Block(match[1], match[2], line, None))
        end = match.end()
    return found


def code_blocks(document: Path, language: str) -> list[str]:
    """Return the code blocks of one language, in order."""
    return [block.code for block in blocks(document) if block.language == language]


def links(document: Path) -> list[Link]:
    """Return the links into this project, without links to the web."""
    return [Link(*target.partition("#")[::2]) for target in _targets(document) if not _leaves(target)]


def web_links(document: Path) -> list[str]:
    """Return the links to elsewhere."""
    return [target for target in _targets(document) if _leaves(target)]


def headings(document: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub makes them."""
    prose = _BLOCK.sub("", document.read_text())
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in _HEADING.findall(prose)}


def _targets(document: Path) -> list[str]:
    return _LINK.findall(_CODE.sub("", _BLOCK.sub("", document.read_text())))


def _leaves(target: str) -> bool:
    return "://" in target or target.startswith("mailto:")
