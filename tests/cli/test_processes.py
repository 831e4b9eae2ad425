"""The command as a process of its own: what it starts, what it prints, and how Ctrl-C ends it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.commands import run
from tests.support.processes import environment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PROGRAM = "from pme_parquet.cli import main; main()"
FILES = 300
PATIENCE = 120
# Spark on a busy machine gives each task little time.
QUIET = ["--master", "local[2]", "--conf", "spark.driver.memory=1g"]


def started(*arguments: str | Path, program: str = PROGRAM, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment() | variables,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def wait(process: subprocess.Popen[str], what: Callable[[], bool]) -> None:
    deadline = monotonic() + PATIENCE
    while not what():
        assert process.poll() is None, f"it ended before that:\n{process.communicate()[1]}"
        assert monotonic() < deadline
        sleep(0.005)


def interrupted(arguments: list[str | Path], when: Callable[[], bool]) -> str:
    """End a command by Ctrl-C in the middle of its work, and return its output."""
    process = started(*arguments, *QUIET)
    try:
        wait(process, when)
        process.send_signal(signal.SIGINT)
        code, out, err = ended(process)
    finally:
        process.kill()
    assert (code, out) == (130, "")
    assert "Traceback" not in err
    return err


def many_of(table: Path, path: Path) -> Path:
    """Make a table of many files, each the first file of another table."""
    path.mkdir()
    content = data_files(table)[0].read_bytes()
    for number in range(FILES):
        (path / f"part-{number:05d}.parquet").write_bytes(content)
    return path


def replaced(before: dict[Path, int]) -> bool:
    """Return whether some files were replaced."""
    return sum(file.stat().st_ino != before[file] for file in before) > FILES // 20


@pytest.fixture(scope="module")
def many(encrypted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table of many encrypted files."""
    return many_of(encrypted, tmp_path_factory.mktemp("many") / "table")


@pytest.mark.slow
def test_ctrl_c_leaves_a_rotation_that_the_next_run_continues(many: Path, kms: list[str]) -> None:
    arguments: list[str | Path] = ["rotate", many, "--master-key", "footer=pay", *kms]
    before = {file: file.stat().st_ino for file in data_files(many)}
    err = interrupted(arguments, lambda: replaced(before))
    last = err.splitlines()[-1]
    assert last.startswith(
        "pme-parquet rotate was interrupted: each file is complete, under either its old or its new master keys."
    )
    assert "Run it again" in last
    keys = [file.footer_key.master_key for file in pme.inspect(many).files if file.footer_key]
    assert set(keys) == {"footer", "pay"}
    assert len(keys) == FILES
    # No lines of Spark's log.
    first, *progress = err.splitlines()[:-1]
    assert first == "starting Spark …"
    assert progress
    assert all(re.match(rf"(reading|writing) keys: \d+ of {FILES} files", line) for line in progress), err
    assert set(run(*arguments, "--json").document["counts"]) == {"rotated", "unchanged"}
    assert [path for path in many.iterdir() if path.name.startswith(".")] == []
    assert run("verify", many, *kms).code == 0


@pytest.mark.nightly
@pytest.mark.slow
def test_a_command_with_a_spark_of_its_own_prints_one_document(encrypted: Path, kms: list[str]) -> None:
    code, out, err = ended(started("verify", encrypted, *kms, *QUIET, "--json"))
    assert code == 0, err
    assert json.loads(out)["findings"] == []


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_ctrl_c_leaves_an_encryption_in_place_that_the_next_run_continues(
    people: Path, kms: list[str], tmp_path: Path
) -> None:
    table = many_of(people, tmp_path / "table")
    arguments: list[str | Path] = ["encrypt", table, "--in-place", "--uniform-key", "footer", *kms]
    before = {file: file.stat().st_ino for file in data_files(table)}
    err = interrupted(arguments, lambda: replaced(before))
    last = err.splitlines()[-1]
    assert last.startswith("pme-parquet encrypt was interrupted: each file is either encrypted or unchanged.")
    found = pme.inspect(table)
    assert {file.footer for file in found.files} == {"encrypted", "plaintext"}
    assert len(found.files) == FILES
    again = run(*arguments, "--json")
    assert again.code == 0, again.err
    assert again.document["files"] + again.document["already"] == FILES
    assert [path for path in table.iterdir() if path.name.startswith(".")] == []
    assert run("verify", table, *kms).code == 0


@pytest.mark.nightly
@pytest.mark.slow
def test_ctrl_c_leaves_no_partial_copy(many: Path, kms: list[str], tmp_path: Path) -> None:
    target = tmp_path / "target"
    arguments: list[str | Path] = ["rekey", many, target, "--uniform-key", "other", *kms]
    err = interrupted(
        arguments, lambda: len(list(tmp_path.glob(".target.pme-rekey-*/attempt-*/*.parquet"))) > FILES // 20
    )
    assert err.splitlines()[-1].startswith("pme-parquet rekey was interrupted: no target was written")
    assert not target.exists()
    assert run(*arguments).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["target"]
    assert len(data_files(target)) == FILES


def test_without_java_it_says_what_to_install(people: Path) -> None:
    code, out, err = ended(started("verify", people, PATH=str(people), JAVA_HOME=""))
    assert (code, out) == (2, "")
    assert "JDK 17" in err
    assert "Traceback" not in err


def test_without_pyspark_it_says_what_to_install(people: Path) -> None:
    program = f"import sys; sys.modules['pyspark'] = None; {PROGRAM}"
    code, out, err = ended(started("verify", people, program=program))
    assert (code, out) == (2, "")
    assert "pip install pyspark" in err


def test_a_spark_that_does_not_start_says_why(people: Path) -> None:
    code, out, err = ended(started("verify", people, "--master", "nowhere"))
    assert (code, out) == (2, "")
    assert "Master must" in err
    assert "--master" in err
    assert "Traceback" not in err
    assert "\tat " not in err


def test_keys_and_help_need_no_spark(tmp_path: Path) -> None:
    program = f"import sys; sys.modules['pyspark'] = None; {PROGRAM}"
    code, _, err = ended(started("keys", "list", tmp_path / "none.p12", program=program))
    assert (code, err.startswith("[PME_KMS_UNAVAILABLE]")) == (3, True)
    assert ended(started("--help", program=program))[0] == 0


def test_completion_answers_when_a_shell_asks() -> None:
    asked = {"_PME_PARQUET_COMPLETE": "complete_bash", "COMP_WORDS": "pme-parquet ver", "COMP_CWORD": "1"}
    code, out, _ = ended(started(**asked))
    assert (code, out.split()) == (0, ["verify"])
