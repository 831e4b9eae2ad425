from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import nbformat
import pytest
from nbclient import NotebookClient

from tests.docs.commands import environment, run, shell
from tests.support import encrypted_orc as orc
from tests.support.canary import assert_encrypted_footers, assert_no_canaries
from tests.support.markdown import ROOT
from tests.support.session import QUICK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = ROOT / "examples"


def example(name: str, directory: Path, *arguments: str) -> str:
    return run([sys.executable, str(EXAMPLES / name), "--out", str(directory), *arguments], directory)


class Demo(NamedTuple):
    """What the demo printed, and its directory."""

    shown: str
    path: Path


def arguments(path: Path, scale: float, rounds: int) -> list[str]:
    """Return the demo's program and arguments for little data."""
    return [str(EXAMPLES / "demo.py"), "--out", str(path), "--scale", str(scale), "--rounds", str(rounds)]


@pytest.fixture(scope="module")
def demo(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """Return the result of the demo in the tests' session, without its measurements."""
    path, printed = tmp_path_factory.mktemp("demo"), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setenv("JAVA_TOOL_OPTIONS", QUICK)
        patch.syspath_prepend(EXAMPLES)
        patch.setattr(sys, "argv", arguments(path, 0.001, 0))
        main = importlib.import_module("demo")
        patch.setattr(main, "start_spark", lambda: spark)
        patch.setattr(spark, "stop", lambda: None)
        code = main.main()
    assert code == 0, printed.getvalue()
    return Demo(printed.getvalue(), path)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """Return the result of the demo with a Spark of its own, as `make demo` runs it."""
    # Pasted commands must work with a space in a path.
    path = tmp_path_factory.mktemp("demo") / "a demo"
    path.mkdir()
    command = [sys.executable, *arguments(path, 0.01, 1)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return Demo(done.stdout, path)


@pytest.mark.nightly
def test_demo_runs_and_all_of_its_checks_hold(demo: Demo) -> None:
    shown, path = demo.shown, demo.path
    assert "FAILED" not in shown
    assert "refused: PME_KEY_NOT_FOUND" in shown
    assert "refused: PME_NOT_AUTHENTIC" in shown
    assert "refused: PME_SNAPSHOT_MISMATCH" in shown
    assert re.search(r"encrypted copy: 0\n", shown)
    assert "Try next" in shown
    assert_encrypted_footers(path / "encrypted")
    assert_no_canaries(path / "encrypted", ["Customer#", "c_phone"])
    # The password of its keystores.
    assert (path / "keys" / "password").read_text() not in shown


@pytest.mark.nightly
@pytest.mark.slow
def test_demo_compares_no_cold_write_with_a_warm_one(started: Demo) -> None:
    written, compared = started.shown.partition("[5/10]")[0], started.shown.partition("[9/10]")[2]
    assert not re.search(r"written as .*\d s", written)
    assert not re.search(r"as (pme-)?parquet +\d", written)
    assert compared.index("warm-up of both done") < compared.index("round 1 of 1 done")


@pytest.mark.nightly
@pytest.mark.slow
def test_spark_messages_do_not_break_up_the_demos_lines(started: Demo) -> None:
    assert "FAILED" not in started.shown
    assert re.search(r"\n      starting \d+\.\d s\n", started.shown)
    assert "WARN" not in started.shown
    assert (started.path / "spark.log").exists()
    assert (started.path / "keys" / "password").read_text() not in started.shown


@pytest.mark.nightly
@pytest.mark.slow
def test_the_demos_next_steps_can_be_pasted(started: Demo) -> None:
    block = started.shown.partition("paste any of these into a shell.\n")[2].partition("\nEvery option: ")[0]
    commands = [part for part in re.split(r"^# .*\n", block, flags=re.MULTILINE) if part.strip()]
    directory = started.path / "elsewhere"
    directory.mkdir()
    # A reader who pastes them need not have activated the virtual environment.
    variables = environment() | {"PATH": os.environ["PATH"]}
    for command in commands:
        run(["bash", "-n", "-c", command], directory, variables)
        assert all(Path(word).exists() for word in shlex.split(command) if word.startswith(str(Path(sys.prefix))))
    inspect, usage, _, show, quickstart = commands
    assert "encrypted  AES_GCM_V1" in shell(directory, inspect, variables=variables)
    assert "o_totalprice" in shell(directory, usage, variables=variables)
    assert "o_orderkey" in shell(directory, show, variables=variables)
    assert str(EXAMPLES / "quickstart.py") in shlex.split(quickstart.strip(" \n()"))


@pytest.mark.nightly
@pytest.mark.slow
def test_streaming_example_writes_across_a_restart_and_reads_back(tmp_path: Path) -> None:
    shown = example("streaming.py", tmp_path)
    assert "the encrypted table has 6 rows" in shown
    assert re.search(r"P-2\|\s*75\|", shown)
    assert_encrypted_footers(tmp_path / "pulse")
    assert_no_canaries(tmp_path / "pulse", ["P-1", "patient"])


@pytest.mark.nightly
@pytest.mark.slow
def test_sql_example_reads_what_it_inserted(tmp_path: Path) -> None:
    shown = example("sql_tables.py", tmp_path)
    assert re.search(r"London\|\s*2\|", shown)
    assert re.search(r"Alan\|555-0103\|", shown)
    assert_encrypted_footers(tmp_path / "warehouse")
    assert_no_canaries(tmp_path / "warehouse", ["Grace", "555-0102", "phone"])


@pytest.mark.nightly
@pytest.mark.slow
def test_sealed_example_refuses_what_the_publisher_did_not_sign(tmp_path: Path) -> None:
    shown = example("sealed_table.py", tmp_path)
    assert "sealed with Ed25519, key 'publisher'" in shown
    assert "order 700: 1400" in shown
    assert "a file is removed: PME_SNAPSHOT_MISMATCH" in shown
    assert "a file is added twice: PME_SNAPSHOT_MISMATCH" in shown
    assert "a reader seals the table: PME_SNAPSHOT_NOT_AUTHENTIC" in shown
    assert_no_canaries(tmp_path / "orders", ["customer-1"])


@pytest.mark.nightly
@pytest.mark.slow
def test_orc_example_shows_an_analyst_no_mask_unless_asked(tmp_path: Path) -> None:
    shown = example("orc.py", tmp_path)
    owner, _, analyst = shown.partition("The analyst reads what needs no key:")
    assert re.search(r"1\|\s*Ada\|\s*London", owner)
    assert "and is refused names: PME_KEY_DENIED" in analyst
    assert "Ada" not in analyst
    assert re.search(r"1\|\s*NULL\|\s*London", analyst)
    orc.assert_no_canaries(tmp_path / "people", ["Grace"])


NOTEBOOKS = {
    "look_at_a_table": (
        ["1 of 4 files is plaintext", "column key: key &#x27;pii&#x27;", "[PME_PLAINTEXT_FILE]", "0 findings"]
    ),
    "seal_a_table": (
        ["version 1: 8 files", "valueList", "1 of 8 files read", "[PME_SNAPSHOT_MISMATCH]", "8000 rows", "2 versions"]
    ),
}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs_and_shows_what_it_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in environment().items():
        monkeypatch.setenv(variable, value)
    notebook = nbformat.read(EXAMPLES / "notebooks" / f"{name}.ipynb", as_version=4)
    NotebookClient(notebook, timeout=180, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    html = "".join(output.data["text/html"] for output in shown if "text/html" in output.get("data", {}))
    printed = "".join(output.text for output in shown if output.output_type == "stream" and output.name == "stdout")
    for expected in NOTEBOOKS[name]:
        assert expected in html + printed
    password = (tmp_path / "password").read_text()
    assert password not in nbformat.writes(notebook)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_is_stored_without_outputs(name: str) -> None:
    notebook = nbformat.read(EXAMPLES / "notebooks" / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
