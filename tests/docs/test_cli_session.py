"""The session in docs/cli.md is what its commands print. UPDATE_DOCS=1 records it again."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.docs.commands import shell
from tests.support.markdown import ROOT, code_blocks
from tests.support.processes import environment
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from pathlib import Path

# A few bytes of what Spark and parquet-java write differ between their versions.
pytestmark = [pytest.mark.slow, pytest.mark.skipif(SPARK_VERSION < (4, 3), reason="recorded with Spark 4.3")]

PAGE = ROOT / "docs" / "cli.md"
_SESSION = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^\$ (.*)$", re.MULTILINE)
_MASKS = [
    (re.compile(r"[\d.,]+ (B|KiB|MiB|GiB|bytes|GB/s|MB/s|ms)\b"), "SIZE"),
    (re.compile(r'"bytes": \d+'), "SIZE"),
    (re.compile(r"[A-Za-z0-9+/]{22}=="), "ID"),
    (re.compile(r" {2,}"), "  "),
]


def masked(text: str) -> str:
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text


def commands(page: str) -> list[str]:
    return [command for session in _SESSION.findall(page) for command in _PROMPT.findall(session)]


def recorded(page: str, printed: list[str]) -> str:
    """Return the page with the output of its commands below each."""
    left = iter(printed)

    def session(found: re.Match[str]) -> str:
        return "".join(f"$ {command}\n{next(left)}" for command in _PROMPT.findall(found.group()))

    return _SESSION.sub(session, page)


def test_the_recorded_session_is_what_its_commands_print(tmp_path: Path) -> None:
    page = PAGE.read_text()
    [table], [settings] = code_blocks(PAGE, "python"), code_blocks(PAGE, "bash")
    (tmp_path / "table.py").write_text(table)
    (tmp_path / "session").mkdir()
    variables = shell(tmp_path / "session", f"{sys.executable} ../table.py\n{settings}", then="env")
    exported = dict(line.split("=", 1) for line in variables.splitlines() if line.startswith("PME_"))
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.session_job", str(tmp_path / "scratch")],
        cwd=tmp_path / "session",
        env=environment() | exported,
        input=json.dumps(commands(page)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    printed = [text.replace(str(tmp_path / "session"), "/data") for text in json.loads(done.stdout)]
    now = recorded(page, printed)
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(now)
    else:
        assert masked(page) == masked(now)
