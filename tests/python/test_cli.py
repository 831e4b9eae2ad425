"""`pme-parquet keys`: its output and its exit codes (0 success, 2 wrong use, 3 the KMS refused)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import run
from tests.support.session import QUICK

COMMAND = [sys.executable, "-c", "from pme_parquet.cli import main; main()"]
PASSWORD = "swordfish-41"


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the password of the keystores, whose keys are derived quickly."""
    monkeypatch.setenv("PME_KEYSTORE_PASSWORD", PASSWORD)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK)


def test_a_process_ends_with_the_exit_code_of_its_command(tmp_path: Path) -> None:
    for arguments, code in ((["keys", "create", str(tmp_path / "keys.p12"), "footer"], 0), (["keys", "no-command"], 2)):
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr


def test_keys_are_created_added_and_listed_as_json(tmp_path: Path) -> None:
    path = str(tmp_path / "keys.p12")
    assert run("keys", "create", path, "pii").code == 0
    added = run("keys", "add", path, "pay", "--bits", "128", "--json")
    assert json.loads(added.out) == {"keystore": path, "type": "PKCS12", "keys": ["pay", "pii"]}
    listed = run("keys", "list", path, "--json")
    assert (listed.code, listed.out) == (0, added.out)


def test_a_listing_for_people_has_one_key_per_line(tmp_path: Path) -> None:
    path = str(tmp_path / "keys.p12")
    created = run("keys", "create", path, "pii", "footer")
    assert created.out.splitlines() == [f"{path} (PKCS12)", "footer", "pii"]
    assert run("keys", "list", path).out == created.out


def test_wrong_use_exits_with_2_and_says_why(tmp_path: Path) -> None:
    path = tmp_path / "keys.p12"
    path.touch()
    again = run("keys", "create", str(path), "footer")
    assert (again.code, again.out) == (2, "")
    assert again.err.startswith("[PME_BAD_OPTION]")
    assert run("keys", "no-such-command").code == 2


def test_a_password_on_the_command_line_exits_with_2_and_is_not_repeated(tmp_path: Path) -> None:
    done = run("keys", "create", str(tmp_path / "k.p12"), "footer", "--password", PASSWORD)
    assert done.code == 2
    assert "PME_SECRET_IN_OPTION" in done.err
    assert PASSWORD not in done.out + done.err


def test_a_refused_password_exits_with_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "keys.p12")
    assert run("keys", "create", path, "footer").code == 0
    monkeypatch.setenv("PME_KEYSTORE_PASSWORD", "another-one")
    refused = run("keys", "list", path)
    assert refused.code == 3
    assert refused.err.startswith("[PME_KMS_UNAVAILABLE]")


def test_a_missing_keystore_exits_with_3(tmp_path: Path) -> None:
    assert run("keys", "list", str(tmp_path / "none.p12")).code == 3
