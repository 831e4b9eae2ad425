"""`pme-parquet inspect`: what it prints, how it exits, and what it does not import."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.commands import run
from tests.support.files.handmade import column, encrypted, readable

if TYPE_CHECKING:
    from pathlib import Path


COMMAND = [sys.executable, "-c", "from pme_parquet.cli import main; main()"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "a").write_bytes(encrypted(b"footer"))
    return tmp_path


def test_it_prints_the_report_and_exits_with_0(table: Path) -> None:
    done = run("inspect", table)
    assert (done.code, done.out, done.err) == (0, f"{pme.inspect(table)}\n", "")


@pytest.mark.parametrize("order", [1, -1])
def test_json_is_the_dict(table: Path, order: int) -> None:
    done = run("inspect", *[str(table), "--json"][::order])
    assert done.code == 0
    assert done.document == json.loads(json.dumps(pme.inspect(table).to_dict()))


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_a_finding_exits_with_1(table: Path, arguments: list[str]) -> None:
    (table / "b").write_bytes(readable([column(b"x")]))
    done = run("inspect", table, *arguments)
    assert done.code == 1
    assert "PME_PLAINTEXT_FILE" in done.out


def test_wrong_use_exits_with_2(table: Path) -> None:
    nowhere = run("inspect", table / "nowhere")
    assert nowhere.err.startswith("[PME_BAD_OPTION]")
    for done in (nowhere, run("inspect"), run("inspect", table, "--no-such-option")):
        assert (done.code, done.out) == (2, "")


def test_a_terminal_gets_tables(table: Path) -> None:
    """Without a terminal's width rich takes 80 columns."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen([*COMMAND, "inspect", str(table)], stdout=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # an error of Linux for a closed other end
            pass
    os.close(ours)
    assert process.returncode == 0
    assert "\x1b[1m" in shown.decode()
    assert "encrypted" in shown.decode()


def test_looking_at_local_files_imports_nothing_large(table: Path) -> None:
    large = ("pyspark", "pandas", "numpy", "pyarrow", "fsspec", "rich", "pydantic", "importlib.metadata", "asyncio")
    code = (
        f"import sys, atexit; atexit.register(lambda: print([m for m in {large!r} if m in sys.modules])); "
        f"sys.argv = ['pme-parquet', 'inspect', {str(table)!r}]; from pme_parquet.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_importing_the_package_imports_no_part_of_looking() -> None:
    code = "import sys, pme_parquet; print([m for m in sys.modules if m.split('.')[0] in ('thrift', 'fsspec', 'rich')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
