"""The site: every page has its place, and the check of the built site finds broken links."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

import pme_parquet as pme
from tests.docs.commands import run
from tests.support.markdown import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"
CHECK = DOCS / "_site" / "check.py"


def places(node: object) -> list[str]:
    """Return the pages that a part of _toc.yml names; a pattern names several pages."""
    if isinstance(node, list):
        return [place for one in node for place in places(one)]
    if not isinstance(node, dict):
        return []
    named = [node[name] for name in ("root", "file") if name in node]
    found = [str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.glob(f"{node.get('glob', 'none')}.md")]
    return [*named, *found, *places(list(node.values()))]


def test_every_page_has_one_place_in_the_site() -> None:
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md")}
    placed = places(yaml.safe_load((DOCS / "_toc.yml").read_text()))
    assert set(placed) == pages
    assert len(placed) == len(pages)


def test_every_public_name_is_in_the_api_reference() -> None:
    documented = re.findall(r"^\.\. auto\w+:: (\w+)$", (DOCS / "api.md").read_text(), re.MULTILINE)
    names = [name for name in pme.__all__ if name not in {"__version__", "delta", "hudi", "iceberg"}]
    # Each module has a function `check`.
    assert sorted(documented) == sorted([*names, *pme.delta.__all__, *pme.hudi.__all__, *pme.iceberg.__all__])


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ('<a href="gone.html">x</a>', "gone.html is not there"),
        ('<a href="#gone">x</a>', "#gone is a place that the page does not have"),
        ('<a href="b.html#gone">x</a>', "b.html#gone is a place that the page does not have"),
        ('<img src="gone.png">', "gone.png is not there"),
        ('<a href="https://no-dot/">x</a>', "https://no-dot/ is no address of the web"),
        ('<a href="ftp://example.org/">x</a>', "ftp://example.org/ is no address of the web"),
        ('<script src="https://example.org/x.js"></script>', "https://example.org/x.js is fetched from elsewhere"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "//example.org/x.css is fetched from elsewhere"),
    ],
)
def test_broken_links_are_found(tmp_path: Path, content: str, fault: str) -> None:
    (tmp_path / "a.html").write_text(content)
    (tmp_path / "b.html").write_text("<p id='here'>")
    with pytest.raises(AssertionError, match=re.escape(fault)):
        run([sys.executable, str(CHECK), str(tmp_path)], tmp_path)


def test_a_font_from_another_server_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>")
    (tmp_path / "a.css").write_text("@font-face { src: url('https://example.org/a.woff2') }")
    with pytest.raises(AssertionError, match="fetched from elsewhere"):
        run([sys.executable, str(CHECK), str(tmp_path)], tmp_path)


def test_working_links_are_not_reported(tmp_path: Path) -> None:
    links = ["b.html", "b.html#here", "#top", "https://example.org/x?y#z", "mailto:a@example.org", "data:,x"]
    (tmp_path / "a.html").write_text('<h1 id="top">' + "".join(f'<a href="{link}">x</a>' for link in links))
    (tmp_path / "b.html").write_text("<p id='here'>")
    assert run([sys.executable, str(CHECK), str(tmp_path)], tmp_path) == ""
