"""The faults of tests/faults still fit the sources, and `scripts/faults check` reports one that does not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
CODE = "jvm/core/src/main/scala/Door.scala"
FAULT = f"fault: the door is open\nclass: door\nfile: {CODE}\ntests: DoorSuite tests/test_door.py::test_door\n"


def faults(command: str, project: Path = PROJECT) -> tuple[int, str]:
    script = [sys.executable, str(project / "scripts" / "faults"), command]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_every_fault_fits_the_sources() -> None:
    assert faults("check") == (0, "")


def test_each_layer_has_at_least_twenty_faults_with_names_of_their_own() -> None:
    _, listed = faults("list")
    lines = listed.splitlines()
    for table in ("core", "parquet", "spark"):
        assert sum(line.split()[0] == table for line in lines) >= 20, table
    assert len({line.split(maxsplit=1)[1] for line in lines}) == len(lines)


@pytest.mark.parametrize(
    ("code", "change", "why"),
    [
        ("if (locked) refuse()\n", "- if (locked)\n+ if (false)\n", ""),
        ("if (shut) refuse()\n", "- if (locked)\n+ if (false)\n", "has 0 times"),
        ("if (locked) refuse()\nif (locked) warn()\n", "- if (locked)\n+ if (false)\n", "has 2 times"),
        ("if (locked) refuse()\n", "- if (locked)\n+ if (locked)\n", "it changes nothing"),
        ("if (locked) refuse()\n", "", "has 22 times"),
    ],
)
def test_the_text_of_a_fault_is_in_its_file_once(tmp_path: Path, code: str, change: str, why: str) -> None:
    made(tmp_path, code, FAULT + change)
    assert_reported(tmp_path, why)


@pytest.mark.parametrize("gone", [CODE, "jvm/core/src/test/scala/DoorSuite.scala", "tests/test_door.py"])
def test_a_file_or_a_test_that_is_gone_is_reported(tmp_path: Path, gone: str) -> None:
    made(tmp_path, "if (locked) refuse()\n", FAULT + "- if (locked)\n+ if (false)\n")
    (tmp_path / gone).unlink()
    assert_reported(tmp_path, Path(gone).name)


def made(project: Path, code: str, table: str) -> None:
    for name, text in {
        CODE: code,
        "jvm/core/src/test/scala/DoorSuite.scala": "",
        "tests/test_door.py": "def test_door() -> None: ...\n",
        "tests/faults/core.txt": table,
    }.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    (project / "scripts").mkdir()
    shutil.copy(PROJECT / "scripts" / "faults", project / "scripts")


def assert_reported(project: Path, why: str) -> None:
    code, printed = faults("check", project)
    assert (code, "the door is open: " in printed) == ((1, True) if why else (0, False)), printed
    assert why in printed
