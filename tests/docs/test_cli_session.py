"""The session in docs/cli.md is what its commands print. UPDATE_DOCS=1 records it again."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING

import pytest

from tests.docs.reader import Reader, in_directory
from tests.support import needs
from tests.support.commands import run
from tests.support.markdown import ROOT, code_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

PAGE = ROOT / "docs" / "cli.md"
_SESSION = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^\$ (.*)$", re.MULTILINE)
_PROGRESS = re.compile(r"^[a-z ]+: \d+ of \d+ files?.*$")
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


def answers(reader: Reader, typed: list[str]) -> Iterator[str]:
    """Yield what each command prints: results, then messages for people, but no progress."""
    code = 0
    for command in typed:
        if command == "echo $?":
            yield f"{code}\n"
        elif command.startswith("pme-parquet "):
            done = run(*shlex.split(command)[1:])
            code = done.code
            yield done.out + "".join(f"{line}\n" for line in done.err.splitlines() if not _PROGRESS.match(line))
        else:
            yield reader.bash(command)


def recorded(page: str, printed: list[str]) -> str:
    """Return the page with the output of its commands below each."""
    left = iter(printed)

    def session(found: re.Match[str]) -> str:
        return "".join(f"$ {command}\n{next(left)}" for command in _PROMPT.findall(found.group()))

    return _SESSION.sub(session, page)


@pytest.mark.nightly
# A few bytes of what Spark and parquet-java write differ between their versions.
@needs.spark((4, 3), "recorded with Spark 4.3")
def test_the_recorded_session_is_what_its_commands_print(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PAGE.read_text()
    [table], [settings] = code_blocks(PAGE, "python"), code_blocks(PAGE, "bash")
    monkeypatch.setenv("COLUMNS", "80")
    reader = Reader(spark, tmp_path, {})
    with in_directory(spark, tmp_path):
        reader.python(table)
        reader.bash(settings)
        os.environ.update({name: value for name, value in reader.environment.items() if name.startswith("PME_")})
        printed = [text.replace(str(tmp_path), "/data") for text in answers(reader, commands(page))]
    now = recorded(page, printed)
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(now)
    else:
        assert masked(page) == masked(now)
