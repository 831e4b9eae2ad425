"""A report in a browser: it shows without complaint, fits wide and narrow pages, and lets nothing run."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from html import escape, unescape
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import pme_parquet as pme
from pme_parquet._report.protection import Problem, Protection
from tests.report.made import Known, alike
from tests.support import needs
from tests.support.files import handmade

if TYPE_CHECKING:
    from pathlib import Path


CHROMIUM = shutil.which("chromium")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--virtual-time-budget=5000",
)
DARK = "--blink-settings=preferredColorScheme=0"
SECONDS = 120


class Shown(NamedTuple):
    """The output of Chromium: the page after loading, and its log on the console."""

    dom: str
    console: list[str]


def show(page: Path, scratch: Path, *flags: str) -> Shown:
    """Open a page with a new profile."""
    assert CHROMIUM
    profile = scratch / "profile"
    shutil.rmtree(profile, ignore_errors=True)
    done = subprocess.run(
        [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
        env={"HOME": str(scratch), "PATH": "/usr/bin:/bin"},
    )
    return Shown(done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line])


def dom(page: Path, scratch: Path, *flags: str) -> Shown:
    return show(page, scratch, "--dump-dom", *flags)


def screenshot(page: Path, scratch: Path, width: int, height: int, *flags: str) -> tuple[Path, tuple[int, int]]:
    """Return a picture of a page, and its size in pixels."""
    out = scratch / f"{page.stem}-{width}.png"
    shown = show(page, scratch, f"--screenshot={out}", f"--window-size={width},{height}", *flags)
    assert shown.console == []
    content = out.read_bytes()
    assert content.startswith(b"\x89PNG")
    return out, struct.unpack(">II", content[16:24])


MEASURE = """
const frame = document.getElementById("page"), page = frame.contentDocument, root = page.documentElement;
document.getElementById("measured_json").textContent = JSON.stringify({
  width: root.clientWidth, content: root.scrollWidth, height: root.scrollHeight,
  back: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
});
"""


def measured(page: Path, scratch: Path, width: int, *flags: str) -> dict[str, Any]:
    """Return the layout of a page at this width, measured by a page around it, because it runs no scripts itself."""
    frame = (
        f'<iframe id="page" width="{width}" height="900" srcdoc="{escape(page.read_text(encoding="utf-8"))}"></iframe>'
    )
    script = f'<script>document.getElementById("page").onload = () => {{{MEASURE}}}</script>'
    outer = scratch / "outer.html"
    outer.write_text(
        f'<!DOCTYPE html><meta charset="utf-8">{frame}<pre id="measured_json"></pre>{script}', encoding="utf-8"
    )
    measured_json = dom(outer, scratch, *flags).dom.split('<pre id="measured_json">')[1].split("</pre>")[0]
    found: dict[str, Any] = json.loads(unescape(measured_json))
    return found


pytestmark = [needs.chromium, pytest.mark.rows(1)]


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
        (table / f"part-{number:05}-{'c0ffee' * 12}.parquet").write_bytes(handmade.encrypted(handmade.material(long)))
    columns = [
        handmade.column(b"column" * 30 + b"%d" % number, key=handmade.material(f"k{number}")) for number in range(12)
    ]
    (table / "signed").write_bytes(handmade.readable(columns, signed=True))
    (table / "plain").write_bytes(handmade.readable([handmade.column(b"a")]))
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
