from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import yaml

from tests.support.markdown import ROOT, documents, headings, links, web_links

if TYPE_CHECKING:
    from pathlib import Path


METADATA = [ROOT / "python" / "pyproject.toml", ROOT / "python" / "accp" / "pyproject.toml", ROOT / "build.sbt"]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
_OURS = re.compile(r"https://github\.com/pme-parquet/pme-parquet([\w/.-]*)")
# Of any owner: an address that was copied from elsewhere would be just as wrong.
_ANY = re.compile(r"https://github\.com/[\w-]+/pme-parquet\b")


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
    assert {"SECURITY.md", "CONTRIBUTING.md", ".github/pull_request_template.md"} <= found
    assert {"README.md", "docs/threat-model.md", "docs/architecture.md"} <= found


def test_documents_are_few_and_short_outside_decisions_and_what_is_generated() -> None:
    generated = {f"{name}.md" for name in ("api", "cli-reference", "errors", "options", "tested")}
    pages = [page.read_text() for page in (ROOT / "docs").glob("*.md") if page.name not in generated]
    assert len(pages) <= 30
    assert sum(len(page.split()) for page in pages) <= 45_000


@pytest.mark.parametrize("file", [*METADATA, *FORMS], ids=lambda path: str(path.relative_to(ROOT)))
def test_addresses_of_the_project_exist(file: Path) -> None:
    found = _OURS.findall(file.read_text())
    assert found or file in FORMS
    dead = [rest for rest in found if not leads_somewhere(rest.rstrip("."))]
    assert dead == []


def leads_somewhere(rest: str) -> bool:
    """Return whether the rest of an address of the project is a page of GitHub or a file of ours."""
    if rest in {"", "/issues", "/security/advisories/new"}:
        return True
    view, _, path = rest.removeprefix("/").partition("/main/")
    return view in {"blob", "tree"} and (ROOT / path).exists()


def test_the_project_has_one_address() -> None:
    homes = {address for file in [*METADATA, *FORMS, *documents()] for address in _ANY.findall(file.read_text())}
    assert homes <= {"https://github.com/pme-parquet/pme-parquet"}


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.name)
def test_issue_forms_are_complete(form: Path) -> None:
    told = yaml.safe_load(form.read_text())
    if form.name == "config.yml":
        assert [link["url"].startswith("https://") for link in told["contact_links"]] == [True, True]
        return
    assert told["name"]
    assert told["description"]
    fields = [field for field in told["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)


def test_the_bug_form_asks_for_doctor_and_warns_about_keys() -> None:
    text = (ROOT / ".github" / "ISSUE_TEMPLATE" / "bug_report.yml").read_text()
    assert "pme.doctor(spark, enc)" in text
    assert "Paste no keys" in text


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = {link.file for link in links(folder / "README.md")}
    assert listed == {path.name for path in folder.glob("0*.md")}
