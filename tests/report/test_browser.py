"""A report in a browser: it shows without complaint, fits wide and narrow pages, and lets nothing run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from pme_parquet._report.protection import Problem, Protection
from tests.report.browser import CHROMIUM, DARK, dom, measured, screenshot
from tests.report.made import Known, alike
from tests.support.files import tails

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: no chromium")


@pytest.fixture(scope="module")
def with_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a table with several keys, a damaged file and a readable column."""
    damaged = Problem("a", "row group 0, column id", "PME_NOT_AUTHENTIC", "it was altered.", "verification", "id")
    groups = (*Known().protection.groups, alike("b", id="footer", name=None))
    known = Known(problems=(damaged,), protection=Protection(groups, "a KMS", {}))
    return known.write(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def without_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a table with long names and files of each kind."""
    root = tmp_path_factory.mktemp("report")
    table = root / "table"
    table.mkdir()
    long = "arn:aws:kms:eu-central-1:111122223333:key/" + "1234abcd" * 8
    for number in range(30):
        (table / f"part-{number:05}-{'c0ffee' * 12}.parquet").write_bytes(tails.encrypted(tails.material(long)))
    columns = [tails.column(b"column" * 30 + b"%d" % number, key=tails.material(f"k{number}")) for number in range(12)]
    (table / "signed").write_bytes(tails.readable(columns, signed=True))
    (table / "plain").write_bytes(tails.readable([tails.column(b"a")]))
    return pme.report(table, root / "without-keys.html")


@pytest.fixture(params=["with_keys", "without_keys"])
def page(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


@pytest.mark.parametrize("scheme", [(), (DARK,)], ids=["light", "dark"])
def test_it_shows_without_warnings(page: Path, tmp_path: Path, scheme: tuple[str, ...]) -> None:
    picture, size = screenshot(page, tmp_path, 1200, 1600, *scheme)
    assert size == (1200, 1600)
    assert picture.stat().st_size > 50_000  # a page without its style, or an empty one, is far smaller


WHITE, BLACK = "rgb(255, 255, 255)", "rgb(21, 24, 29)"


@pytest.mark.parametrize(("width", "scheme", "back"), [(320, (), WHITE), (700, (DARK,), BLACK), (1400, (), WHITE)])
def test_nothing_is_wider_than_the_page_and_it_is_dark_if_the_reader_prefers_dark(
    page: Path, tmp_path: Path, width: int, scheme: tuple[str, ...], back: str
) -> None:
    found = measured(page, tmp_path, width, *scheme)
    assert found["width"] == pytest.approx(width, abs=20)
    assert found["content"] <= found["width"]
    assert found["back"] == back


INJECTED = "<script>document.title = 'ran'</script><style>body {display: none}</style><img src='x.png'>"


def test_injected_content_can_neither_run_nor_load_nor_restyle_the_page(page: Path, tmp_path: Path) -> None:
    bent = tmp_path / "bent.html"
    bent.write_text(page.read_text().replace("<header>", f"{INJECTED}<header>"))
    shown = dom(bent, tmp_path)
    assert "<title>Encryption report" in shown.dom
    # How a browser words it changes with its version; which directives it names does not.
    directives = ("script-src", "style-src", "img-src")
    assert len(shown.console) == len(directives), shown.console
    for directive in directives:
        assert [directive in line for line in shown.console].count(True) == 1, shown.console
