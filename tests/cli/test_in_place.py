"""`pme-parquet encrypt --in-place`."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.cli.conftest import FILES
from tests.support.commands import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def table(people: Path, tmp_path: Path) -> Path:
    return shutil.copytree(people, tmp_path / "table")


def test_files_are_replaced_and_a_second_run_does_not_change_them(table: Path, given: list[str]) -> None:
    arguments: list[str | Path] = ["encrypt", table, "--in-place", "--footer-key", "footer", *given, "--json"]
    first, second = run(*arguments), run(*arguments)
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert re.search(rf"^encrypting: {FILES} of {FILES} files", first.err, re.MULTILINE)
    assert (first.document["files"], first.document["already"]) == (FILES, 0)
    assert (second.document["files"], second.document["already"]) == (0, FILES)
    assert {file.footer for file in pme.inspect(table).files} == {"encrypted"}


def test_a_file_that_fails_is_reported_and_the_others_are_encrypted(table: Path, given: list[str]) -> None:
    (table / "part-0.parquet").write_bytes(b"PAR1 and no more PAR1")
    done = run("encrypt", table, "--in-place", "--footer-key", "footer", *given, "--json")
    assert done.code == 1
    assert done.document["error"]["condition"] == "PME_DAMAGED_FILE"
    assert [failed["condition"] for failed in done.document["failed"]] == ["PME_DAMAGED_FILE"]
    assert done.document["files"] == FILES - 1
