"""Headless Chromium: the look of a page, its warnings, and its layout."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from html import escape, unescape
from typing import TYPE_CHECKING, Any, NamedTuple

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
