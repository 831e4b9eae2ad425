"""A part of `make test-all` runs again after a change that touches it, and not after another one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
NEWEST = ("suites", "format", "orc", "docs", "kms.client")
PARTS = ("scala", *(f"4.3.0-{name}" for name in NEWEST), "3.5.9-kms", "4.0.5-tests")
PRINT = ("sh", "-c", "echo work; echo '== 7 passed in 1s =='; echo bye")

# Tests have no name of their own in git.
IDENTITY = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
IDENTITY |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
FILES = {
    "docs/tested.md": "# Tested\n\n| part | date | commit | passed |\n|---|---|---|---|\n",
    "tests/format/test_write.py": "from tests.support import source\n",
    "tests/kms/client/test_vault_client.py": "from tests.kms import server\n",
    "tests/kms/conftest.py": "from tests.kms import served\n",
    "tests/support/source.py": "from tests.support.rows import row\n",
}
EMPTY = (
    *("docs/orc.md", "build.sbt", "bench/speed.py", "tests/conftest.py", "tests/kms/test_vault.py"),
    *("jvm/core/src/main/Door.scala", "jvm/core/src/test/DoorSuite.scala", "jvm/kms-aws/src/main/Signer.java"),
    *("tests/kms/server.py", "tests/kms/served.py", "tests/data/a.orc", "tests/orc/test_read.py"),
    *("tests/docs/test_pages.py", "tests/support/rows.py", "tests/support/Kms.java", "tests/vectors/vectors.json"),
)


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with one file of each kind, all committed."""
    made = tmp_path_factory.mktemp("parts") / "project"
    for name, text in {**dict.fromkeys(EMPTY, ""), **FILES}.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text)
    (made / ".gitignore").write_text("target\n")
    (made / "scripts").mkdir()
    shutil.copy(PROJECT / "scripts" / "test-part", made / "scripts")
    git(made, "init", "--quiet")
    git(made, "add", "--all")
    git(made, "commit", "--quiet", "--message=All")
    return made


@pytest.fixture
def project(committed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository of this test's own, of which all tests run, whichever run now."""
    for name in ("PYTEST_ARGS", "PME_TEST_READER", "PME_TEST_HERE"):
        monkeypatch.delenv(name, raising=False)
    return shutil.copytree(committed, tmp_path / "project")


def git(project: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=project, env=os.environ | IDENTITY, capture_output=True, text=True, check=True
    ).stdout


def part(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [project / "scripts" / "test-part", *arguments], cwd=project, capture_output=True, text=True, check=False
    )


def open_parts(project: Path) -> list[str]:
    return [line.split()[0] for line in part(project, "--open", *PARTS).stdout.splitlines()]


def passed(project: Path, commit: str | None = None) -> None:
    """Let all parts have passed at a commit, or at the newest one."""
    at = commit or git(project, "rev-parse", "--short=10", "HEAD").strip()
    with (project / "docs" / "tested.md").open("a") as table:
        table.writelines(f"| `{name}` | 2026-11-28 | `{at}` | 7 passed |\n" for name in PARTS)


@pytest.mark.parametrize(
    ("changed", "opened"),
    [
        ("build.sbt", PARTS),
        ("jvm/core/src/main/Door.scala", PARTS),
        ("tests/conftest.py", PARTS),
        ("unknown.txt", PARTS),
        ("jvm/core/src/test/DoorSuite.scala", ["scala", "4.3.0-suites"]),
        ("jvm/kms-aws/src/main/Signer.java", ["scala", "4.3.0-docs", "4.3.0-kms.client", "3.5.9-kms", "4.0.5-tests"]),
        ("docs/orc.md", ["4.3.0-docs"]),
        ("tests/orc/test_read.py", ["4.3.0-orc", "4.3.0-docs", "4.0.5-tests"]),
        # By way of another helper.
        ("tests/support/rows.py", ["4.3.0-format", "4.3.0-docs", "4.0.5-tests"]),
        ("tests/support/Kms.java", PARTS[2:]),
        # Of the folder's conftest.py, and of that of the folder above.
        ("tests/kms/served.py", ["4.3.0-docs", "4.3.0-kms.client", "3.5.9-kms", "4.0.5-tests"]),
        ("tests/data/a.orc", PARTS[2:]),
        ("tests/kms/server.py", ["4.3.0-docs", "4.3.0-kms.client", "3.5.9-kms", "4.0.5-tests"]),
        ("tests/kms/test_vault.py", ["4.3.0-docs", "3.5.9-kms", "4.0.5-tests"]),
        ("tests/kms/client/test_vault_client.py", ["4.3.0-docs", "4.3.0-kms.client", "4.0.5-tests"]),
        ("tests/vectors/vectors.json", ["scala", "4.3.0-docs"]),
        ("bench/speed.py", []),
    ],
)
def test_a_change_opens_the_parts_that_it_touches(project: Path, changed: str, opened: list[str]) -> None:
    passed(project)
    (project / changed).write_text("changed")
    assert open_parts(project) == list(opened)


def test_parts_are_open_until_they_have_passed(project: Path) -> None:
    assert open_parts(project) == list(PARTS)
    passed(project)
    assert open_parts(project) == []


def test_a_mend_may_state_what_it_touches_and_then_each_later_one_must(project: Path) -> None:
    passed(project)
    mended = project / "jvm" / "core" / "src" / "main" / "Door.scala"
    mended.write_text("mended")
    # Not committed yet, so it touches everything.
    assert open_parts(project) == list(PARTS)
    git(project, "commit", "--quiet", "--all", "--message=Mend\n\nWhy.\n\nTouches: *-orc,\n  *-kms")
    suites = ["scala", "4.3.0-suites"]
    assert open_parts(project) == [*suites, "4.3.0-orc", "3.5.9-kms", "4.0.5-tests"]
    mended.write_text("mended twice")
    git(project, "commit", "--quiet", "--all", "--message=Mend\n\nTouches: 4.3.0-format")
    assert open_parts(project) == [*suites, "4.3.0-format", "4.3.0-orc", "3.5.9-kms", "4.0.5-tests"]
    mended.write_text("mended again")
    git(project, "commit", "--quiet", "--all", "--message=Mend")
    assert open_parts(project) == list(PARTS)


def test_a_mend_that_states_what_is_no_part_touches_all(project: Path) -> None:
    passed(project)
    (project / "build.sbt").write_text("mended")
    git(project, "commit", "--quiet", "--all", "--message=Mend\n\nTouches: *-orc *-ocr")
    assert open_parts(project) == list(PARTS)


def test_a_merge_that_changes_more_than_its_sides_touches_all(project: Path) -> None:
    git(project, "checkout", "--quiet", "-b", "side")
    (project / "build.sbt").write_text("side")
    git(project, "commit", "--quiet", "--all", "--message=Mend\n\nTouches: *-orc")
    git(project, "checkout", "--quiet", "-")
    passed(project)
    (project / "build.sbt").write_text("main")
    git(project, "commit", "--quiet", "--all", "--message=Mend\n\nTouches: *-orc")
    # It stops at the conflict.
    with pytest.raises(subprocess.CalledProcessError):
        git(project, "merge", "--quiet", "side")
    (project / "build.sbt").write_text("both")
    git(project, "commit", "--quiet", "--all", "--message=Merge")
    assert open_parts(project) == list(PARTS)


@pytest.mark.parametrize("name", ["PYTEST_ARGS", "PME_TEST_READER"])
def test_a_part_with_other_tests_has_no_row(project: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "-k one")
    refused = part(project, "4.3.0-orc", *PRINT)
    assert (refused.returncode, refused.stderr) == (2, f"Unset {name}: a row says that the whole part passed.\n")
    assert open_parts(project) == list(PARTS)


def test_a_row_says_when_and_at_which_commit_a_part_passed(project: Path) -> None:
    done = part(project, "4.3.0-orc", *PRINT)
    assert done.stdout == "work\n== 7 passed in 1s ==\nbye\n"
    [row] = (project / "docs" / "tested.md").read_text().splitlines()[4:]
    commit = git(project, "rev-parse", "--short=10", "HEAD").strip()
    assert re.fullmatch(rf"\| `4.3.0-orc` \| \d{{4}}-\d\d-\d\d \| `{commit}` \| 7 passed in 1s \|", row)
    # It does not run again, unless somebody asks.
    assert part(project, "4.3.0-orc", "false").stdout == f"4.3.0-orc has passed.\n{row}\n"
    part(project, "--again", "4.3.0-orc")
    assert "4.3.0-orc" in open_parts(project)


def test_a_part_that_fails_has_no_row_and_others_keep_theirs(project: Path) -> None:
    passed(project)
    (project / "tests" / "orc" / "test_read.py").write_text("changed")
    git(project, "commit", "--quiet", "--all", "--message=Change")
    # The second command prints no result.
    assert [part(project, "4.3.0-orc", command).returncode for command in ("false", "true")] == [1, 1]
    assert "4.3.0-orc` |" not in (project / "docs" / "tested.md").read_text()
    assert open_parts(project) == ["4.3.0-orc", "4.3.0-docs", "4.0.5-tests"]


def test_what_touches_a_part_is_committed_before_it_runs(project: Path) -> None:
    (project / "build.sbt").write_text("changed")
    refused = part(project, "4.3.0-orc", *PRINT)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "Commit build.sbt first: the table names the commit that passed.\n"


def test_a_commit_that_is_not_known_opens_its_part(project: Path) -> None:
    passed(project, "0123456789")
    assert open_parts(project) == list(PARTS)
    assert part(project, "--open", "scala").stdout.endswith("commit 0123456789 is not known here\n")


def test_the_makefile_and_the_script_leave_the_same_folders_out_and_name_what_there_is() -> None:
    command = ["make", "-s", "-f", "Makefile", "--eval", "named: ; @echo $(BESIDE_TESTS) : $(QUICK)", "named"]
    printed = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    folders, files = (text.split() for text in printed.split(":"))
    script = (PROJECT / "scripts" / "test-part").read_text()
    assert sorted(re.findall(r'"([\w.]+)"', script.split("LEFT_OUT = ")[1].split(")")[0])) == sorted(folders)
    assert {name: (PROJECT / name).is_file() for name in files} == dict.fromkeys(files, True) != {}
