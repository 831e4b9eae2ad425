"""Every page is read as a new user reads it: all its code is typed, in order, in a clean directory.

A page continues from the end of the quickstart: with its keystore, its table and its variables. The output on a page
is compared as described in `masks`. `UPDATE_DOCS=1` writes the real output into the pages instead.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.docs.masks import HOME, same
from tests.docs.not_run import NOT_RUN
from tests.docs.reader import Reader, in_directory
from tests.docs.typed import TYPED, name, to_type
from tests.support.markdown import ROOT, Block, blocks
from tests.support.session import NEWEST, SPARK_VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

# Sessions of a terminal are on the page of the command, which has a test of its own.
READ = {"", "console", "hcl", "json", "scala", "text"}
QUICKSTART = ROOT / "docs" / "quickstart.md"
README = ROOT / "README.md"


DOCUMENTS = [README, *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in DOCUMENTS if page not in {README, QUICKSTART} and to_type(page)]


def go_through(page: Path, reader: Reader) -> None:
    """Type all the code of a page, and fail if the output differs from the page."""
    with in_directory(reader.spark, reader.directory):
        for block in to_type(page):
            try:
                printed = reader.type(block)
            except Exception as error:
                raise AssertionError(f"{page.name}:{block.line}: {error}") from error
            if block.shown is None or SPARK_VERSION < NEWEST:
                continue
            if os.environ.get("UPDATE_DOCS"):
                update(page, block, printed.replace(str(reader.directory), HOME))
            else:
                assert same(block.shown, printed, reader.directory), f"{page.name}:{block.line} prints\n{printed}"


def update(page: Path, block: Block, printed: str) -> None:
    """Write a block's output into its page, unless it is the same already."""
    kept = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").split("\n"))
    text = page.read_text()
    if not same(block.shown or "", printed, page.parent):
        start = text.index("```text\n", text.index(block.code)) + len("```text\n")
        page.write_text(text[:start] + kept + text[start + len(block.shown or "") :])


@pytest.fixture(scope="module")
def begun(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Return a reader who has finished the quickstart."""
    reader = Reader(spark, tmp_path_factory.mktemp("quickstart"), {})
    go_through(QUICKSTART, reader)
    return reader


@pytest.mark.newest
def test_the_quickstart_leaves_what_other_pages_need(begun: Reader) -> None:
    assert {"spark", "keys", "enc", "people", "pme"} <= begun.names.keys()
    assert (begun.directory / "people").is_dir()


@pytest.mark.rows(3)
@pytest.mark.newest
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_code_of_a_page_does_what_the_page_shows(page: Path, begun: Reader, tmp_path: Path) -> None:
    directory = tmp_path / "reader"
    shutil.copytree(begun.directory, directory)
    reader = Reader(begun.spark, directory, dict(begun.names))
    reader.environment = dict(begun.environment)
    go_through(page, reader)


def test_blocks_listed_as_not_run_exist() -> None:
    there = {name(page): [block.code for block in blocks(page)] for page in DOCUMENTS}
    found = {
        (page, start)
        for page, codes in there.items()
        for start in NOT_RUN.get(page, ())
        for code in codes
        if code.startswith(start)
    }
    assert {(page, start) for page, starts in NOT_RUN.items() for start in starts} == found


def test_every_block_is_in_a_language_that_is_run_or_read() -> None:
    others = {name(page): {block.language for block in blocks(page)} - TYPED - READ for page in DOCUMENTS}
    assert {page: languages for page, languages in others.items() if languages} == {}
