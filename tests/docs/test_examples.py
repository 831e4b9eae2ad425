from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, NamedTuple

import nbformat
import pytest
from nbclient import NotebookClient

from tests.docs.commands import environment, run
from tests.docs.markdown import ROOT
from tests.support.canary import assert_encrypted_footers, assert_no_canaries

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"


def example(name: str, directory: Path, *arguments: str) -> str:
    return run([sys.executable, str(EXAMPLES / name), "--out", str(directory), *arguments], directory)


class Demo(NamedTuple):
    """What the demo printed, and where it ran."""

    shown: str
    path: Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """Return what it does with little data."""
    path = tmp_path_factory.mktemp("demo")
    return Demo(example("demo.py", path, "--scale", "0.01", "--rounds", "1"), path)


def test_demo_runs_and_all_of_its_checks_hold(demo: Demo) -> None:
    shown, path = demo
    assert "FAILED" not in shown
    assert "refused: PME_KEY_NOT_FOUND" in shown
    assert "refused: PME_NOT_AUTHENTIC" in shown
    assert re.search(r"encrypted copy: 0\n", shown)
    assert "Try next" in shown
    assert_encrypted_footers(path / "encrypted")
    assert_no_canaries(path / "encrypted", ["Customer#", "c_phone"])


def test_demo_never_shows_the_password_of_its_keystores(demo: Demo) -> None:
    assert (demo.path / "keys" / "password").read_text() not in demo.shown


def test_streaming_example_writes_across_a_restart_and_reads_back(tmp_path: Path) -> None:
    shown = example("streaming.py", tmp_path)
    assert "the encrypted table has 6 rows" in shown
    assert re.search(r"P-2\|\s*75\|", shown)
    assert_encrypted_footers(tmp_path / "pulse")
    assert_no_canaries(tmp_path / "pulse", ["P-1", "patient"])


def test_sql_example_reads_what_it_inserted(tmp_path: Path) -> None:
    shown = example("sql_tables.py", tmp_path)
    assert re.search(r"London\|\s*2\|", shown)
    assert re.search(r"Alan\|555-0103\|", shown)
    assert_encrypted_footers(tmp_path / "warehouse")
    assert_no_canaries(tmp_path / "warehouse", ["Grace", "555-0102", "phone"])


def test_notebook_runs_and_shows_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.read(EXAMPLES / "notebooks" / "look_at_a_table.ipynb", as_version=4)
    NotebookClient(notebook, timeout=180, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    html = "".join(output.data["text/html"] for output in shown if "text/html" in output.get("data", {}))
    printed = "".join(output.text for output in shown if output.output_type == "stream" and output.name == "stdout")
    assert "1 of 4 files is plaintext" in html
    assert "column key: key &#x27;pii&#x27;" in html
    assert "[PME_PLAINTEXT_FILE]" in printed
    assert "0 findings" in printed
    password = (tmp_path / "password").read_text()
    assert password not in nbformat.writes(notebook)


def test_notebook_is_kept_without_outputs() -> None:
    notebook = nbformat.read(EXAMPLES / "notebooks" / "look_at_a_table.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
