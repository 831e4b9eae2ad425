"""Finds broken links in the built site, and resources that a page would fetch from elsewhere.

    python docs/_site/check.py target/docs

Sphinx checks only the links that it makes from Markdown. This script checks the pages as a browser gets them, including
links from themes and docstrings. It runs without internet access, so it checks only the form of web links.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
_FETCHED = {("img", "src"), ("script", "src"), ("iframe", "src"), ("source", "src"), ("video", "src")}
_FETCHED_LINKS = {"stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "modulepreload", "prefetch"}
_CSS = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])(?!data:)([^"')\s]+)""")


class Reference(NamedTuple):
    """A link target of a page, and whether a browser fetches it to show the page."""

    target: str
    fetched: bool


class Page(HTMLParser):
    """A page's references, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.references: list[Reference] = []
        self.anchors = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the link and the anchor of a tag."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        linked = tag == "link" and bool(set(given.get("rel", "").split()) & _FETCHED_LINKS)
        for name in ("href", "src"):
            if name in given and tag != "base":
                self.references.append(Reference(given[name], linked or (tag, name) in _FETCHED))


def faults(site: Path) -> list[str]:
    """Return a sentence for each broken reference of a page or style sheet."""
    pages = {file.resolve(): Page(file.read_text()) for file in sorted(site.rglob("*.html"))}
    found = [
        f"{file.relative_to(site.resolve())}: {fault}"
        for file, page in pages.items()
        for fault in _of(file, page, pages)
    ]
    for sheet in sorted(site.rglob("*.css")):
        foreign = [target for target in _CSS.findall(sheet.read_text()) if urlsplit(target).netloc]
        found += [f"{sheet.relative_to(site)}: {target} is fetched from elsewhere" for target in foreign]
    return found if pages else [f"there is no page in {site}"]


def _of(file: Path, page: Page, pages: dict[Path, Page]) -> list[str]:
    found = [(reference.target, _fault(file, reference, pages)) for reference in page.references]
    return [f"{target} {fault}" for target, fault in found if fault]


def _fault(file: Path, reference: Reference, pages: dict[Path, Page]) -> str | None:
    url = urlsplit(reference.target)
    if url.scheme in {"data", "mailto"}:
        return None
    if url.scheme or url.netloc:
        if reference.fetched:
            return "is fetched from elsewhere"
        right = url.scheme in {"http", "https"} and _HOST.fullmatch(url.hostname or "")
        return None if right else "is no address of the web"
    target = (file.parent / unquote(url.path)).resolve() if url.path else file
    if not target.is_file():
        return "is not there"
    known = target not in pages or unquote(url.fragment) in pages[target].anchors
    return None if known else "is a place that the page does not have"


def main() -> None:
    """Print all faults of the site, and exit with 1 if there are any."""
    found = faults(Path(sys.argv[1]))
    sys.stdout.write("".join(f"{fault}\n" for fault in found))
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
