"""`make demo` builds only what the demo needs, and nobody waits without a line."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.session import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SOURCES = (
    *("Makefile", "build.sbt", ".scalafmt.conf", "LICENSE", "jvm", "project", "python", "scripts", "examples", "docs"),
)


def test_the_first_demo_builds_one_connector_and_says_how_long_it_takes(tmp_path: Path) -> None:
    for name in SOURCES:
        (tmp_path / name).symlink_to(ROOT / name)
    planned = subprocess.run(
        ["make", "--dry-run", "demo", f"PYTHON={sys.executable}"],  # noqa: S607 that of the path
        cwd=tmp_path,
        # `make test` runs this, and is another make.
        env={name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "minutes on two cores" in planned.splitlines()[0]
    builds = [line.split("scripts/sbt ")[1] for line in planned.splitlines() if "scripts/sbt " in line]
    assert builds == ["demoJar"]
    assert "requirements/test.txt" not in planned


def test_a_long_step_says_again_that_it_runs() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "step", "resting", "sleep", "3"],
        env=os.environ | {"PME_STEP_SECONDS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    first, second, *_ = done.stdout.splitlines()
    assert first == "resting …"
    assert second.startswith("resting: ")


def test_a_step_ends_as_its_command_does() -> None:
    assert subprocess.run([ROOT / "scripts" / "step", "failing", "false"], check=False).returncode == 1
