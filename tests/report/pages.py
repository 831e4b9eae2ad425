"""A report as a reader sees it: its text and its tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

VOID = {"meta"}
# Attributes that make a browser load something or follow a link.
LOADING = {"src", "xlink:href", "srcset", "action", "formaction", "data", "poster", "background", "style"}


@dataclass
class Table:
    """A table's caption, titles, and rows by their contents."""

    caption: str = ""
    rows: list[list[str]] = field(default_factory=list)

    @property
    def titles(self) -> list[str]:
        return self.rows[0]

    def row(self, first: str) -> dict[str, str]:
        [row] = [row for row in self.rows[1:] if row[0] == first]
        return dict(zip(self.titles, row, strict=True))


class Page(HTMLParser):
    """A parsed page; an element that is not closed properly fails."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.items: list[str] = []
        self.tables: list[Table] = []
        self.feed(self.source)
        self.close()
        assert self.open == []

    @property
    def text(self) -> str:
        return " ".join(self.texts)

    def table(self, caption: str) -> Table:
        [table] = [table for table in self.tables if table.caption == caption]
        return table

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append(Table())
        elif tag == "tr":
            self.tables[-1].rows.append([])
        elif tag in {"th", "td"}:
            self.tables[-1].rows[-1].append("")
        elif tag == "li":
            self.items.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or "style" in self.open:
            return
        inside = self.open[-1]
        if inside == "title":
            return
        self.texts.append(data)
        if inside == "caption":
            self.tables[-1].caption = data
        elif {"th", "td"} & set(self.open):
            cell = (self.tables[-1].rows[-1].pop() + data).strip()
            self.tables[-1].rows[-1].append(cell)
        elif "li" in self.open:
            self.items[-1] += data


def assert_self_contained(page: Page) -> None:
    """Check that nothing is loaded, nothing runs, no reference is broken, and the page itself forbids the rest."""
    assert {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object", "base"} == set()
    assert_references_lead_somewhere(page)
    for tag, attributes in page.tags:
        assert LOADING & set(attributes) == set(), tag
        assert not any(name.startswith("on") for name in attributes), tag
    [policy] = [a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    [style] = page.source.split("<style>")[1:]
    assert "@import" not in style.split("</style>")[0]
    assert "url(" not in style.split("</style>")[0]


def assert_references_lead_somewhere(page: Page) -> None:
    """Check that every reference is to a part of the page: a reader who got it by mail has nothing else."""
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(names) == len(set(names))
    links = [attributes.get("href") or "" for tag, attributes in page.tags if tag == "a"]
    assert all(tag == "a" for tag, attributes in page.tags if "href" in attributes)
    assert {link.partition("#")[0] for link in links} <= {""}
    labels = [attributes["aria-labelledby"] or "" for _, attributes in page.tags if "aria-labelledby" in attributes]
    assert {link.removeprefix("#") for link in links} | set(labels) <= set(names)
    for path in ("docs/", ".md"):
        assert path not in page.text
    assert not re.search(r"\b(see (also|docs|section|the)|below is)\b", page.text, re.IGNORECASE)
