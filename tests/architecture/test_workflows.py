"""The workflows of GitHub run the Makefile, with actions that nobody can replace."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github").glob("*/*.yml")) + sorted((ROOT / ".github").glob("actions/*/action.yml"))
WORKFLOWS = [file for file in FILES if file.parent.name != "ISSUE_TEMPLATE"]
every_workflow = pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: str(file.relative_to(ROOT)))
PINNED = re.compile(r"[\w-]+/[\w/-]+@[0-9a-f]{40}|\./\.github/actions/[\w-]+")
MAKE = re.compile(r'(sudo )?make [^;&|`]+|echo "parts=\$\(make --silent test-parts-json\)" >> "\$GITHUB_OUTPUT"')


def steps(file: Path) -> Iterator[dict[str, Any]]:
    content = yaml.safe_load(file.read_text())
    if "runs" in content:
        yield from content["runs"]["steps"]
    for job in content.get("jobs", {}).values():
        yield from job["steps"]


def test_there_are_workflows_for_changes_nights_releases_and_documents() -> None:
    assert {"test.yml", "nightly.yml", "release.yml", "docs.yml", "codeql.yml"} <= {file.name for file in WORKFLOWS}


@every_workflow
def test_actions_are_pinned_by_digest_and_commands_are_the_makefiles(file: Path) -> None:
    found = list(steps(file))
    assert found
    assert [step["uses"] for step in found if "uses" in step and not PINNED.fullmatch(step["uses"])] == []
    assert [step["run"] for step in found if "run" in step and not MAKE.fullmatch(step["run"])] == []


@every_workflow
def test_a_command_takes_what_others_write_from_its_environment_only(file: Path) -> None:
    assert [step["run"] for step in steps(file) if "${{" in step.get("run", "")] == []


@every_workflow
def test_jobs_get_only_the_permissions_that_they_name(file: Path) -> None:
    content = yaml.safe_load(file.read_text())
    if "jobs" in content:
        assert content["permissions"] == {"contents": "read"}


@pytest.mark.skipif(not shutil.which("actionlint"), reason="actionlint is not installed")
def test_actionlint_finds_nothing() -> None:
    done = subprocess.run(["actionlint"], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607
    assert (done.returncode, done.stdout) == (0, "")
