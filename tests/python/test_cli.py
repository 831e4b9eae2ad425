"""`pme-parquet keys`: its output and its exit codes (0 success, 2 wrong use, 3 the KMS refused)."""

import json
import os
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-c", "from pme_parquet.cli import main; main()"]
PASSWORD = "swordfish-41"


def _run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PME_KEYSTORE_PASSWORD": PASSWORD} | variables
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, env=environment)


def test_keys_are_created_added_and_listed_as_json(tmp_path: Path) -> None:
    path = str(tmp_path / "keys.p12")
    assert _run("keys", "create", path, "footer", "pii").returncode == 0
    added = _run("keys", "add", path, "pay", "--bits", "128", "--json")
    assert json.loads(added.stdout) == {"keystore": path, "type": "PKCS12", "keys": ["footer", "pay", "pii"]}
    listed = _run("keys", "list", path, "--json")
    assert (listed.returncode, listed.stdout) == (0, added.stdout)


def test_a_listing_for_people_has_one_key_per_line(tmp_path: Path) -> None:
    path = str(tmp_path / "keys.p12")
    created = _run("keys", "create", path, "footer", "pii")
    assert created.stdout.splitlines() == [f"{path} (PKCS12)", "footer", "pii"]


def test_wrong_use_exits_with_2_and_says_why(tmp_path: Path) -> None:
    path = str(tmp_path / "keys.p12")
    assert _run("keys", "create", path, "footer").returncode == 0
    again = _run("keys", "create", path, "footer")
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.startswith("[PME_BAD_OPTION]")
    assert _run("keys", "no-such-command").returncode == 2


def test_a_password_on_the_command_line_exits_with_2_and_is_not_repeated(tmp_path: Path) -> None:
    done = _run("keys", "create", str(tmp_path / "k.p12"), "footer", "--password", PASSWORD)
    assert done.returncode == 2
    assert "PME_SECRET_IN_OPTION" in done.stderr
    assert PASSWORD not in done.stdout + done.stderr


def test_a_refused_password_exits_with_3(tmp_path: Path) -> None:
    path = str(tmp_path / "keys.p12")
    assert _run("keys", "create", path, "footer").returncode == 0
    refused = _run("keys", "list", path, PME_KEYSTORE_PASSWORD="another-one")
    assert refused.returncode == 3
    assert refused.stderr.startswith("[PME_KMS_UNAVAILABLE]")


def test_a_missing_keystore_exits_with_3(tmp_path: Path) -> None:
    assert _run("keys", "list", str(tmp_path / "none.p12")).returncode == 3
