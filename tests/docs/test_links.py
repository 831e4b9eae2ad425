from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.docs.markdown import ROOT, documents, headings, links, web_links

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_exist(document: Path) -> None:
    dead = []
    for link in links(document):
        target = (document.parent / link.file).resolve() if link.file else document
        if not target.exists() or (link.heading and link.heading not in headings(target)):
            dead.append(link)
    assert dead == []


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_the_web_are_addresses(document: Path) -> None:
    for link in web_links(document):
        url = urlsplit(link)
        assert (url.scheme, "." in url.netloc) == ("https", True), link


def test_documents_are_found() -> None:
    found = {str(path.relative_to(ROOT)) for path in documents()}
    assert {"README.md", "docs/threat-model.md", "docs/architecture.md"} <= found


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = {link.file for link in links(folder / "README.md")}
    assert listed == {path.name for path in folder.glob("0*.md")}
