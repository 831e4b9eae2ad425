"""Neither passwords nor keys appear in logs at DEBUG, the event log, plans, tables' descriptions or errors."""

from __future__ import annotations

import os
import subprocess
import sys
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.leaks.key_material import data_keys, spellings
from tests.support.canary import files_under
from tests.support.session import PASSWORD, PASSWORD_VARIABLE, ROOT

if TYPE_CHECKING:
    from pathlib import Path

MASTERS = {
    name: bytes((seed * 37 + at * 11) % 256 for at in range(16))
    for seed, name in enumerate(("footer", "pii", "pay"), 1)
}
WRONG_PASSWORD = "battery-staple-77ab"
LITERAL = "aGVsbG8taHVudGVyMi1rZXk="


def key_lines(masters: dict[str, bytes]) -> str:
    return "".join(f"{name}={b64encode(key).decode()}\n" for name, key in masters.items())


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a finished job: what Spark showed is under ``shown``."""
    root = tmp_path_factory.mktemp("secrets")
    (root / "static.keys").write_text(key_lines(MASTERS))
    (root / "wrong.keys").write_text(key_lines({name: bytes(16) for name in MASTERS}))
    environment = {
        **os.environ,
        PASSWORD_VARIABLE: PASSWORD,
        "PME_WRONG_PASSWORD": WRONG_PASSWORD,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
    }
    environment.pop("PYSPARK_GATEWAY_PORT", None)
    os.environ[PASSWORD_VARIABLE] = PASSWORD
    pme.Keystore(str(root / "keys.p12"), password=pme.env(PASSWORD_VARIABLE)).create(list(MASTERS))
    command = [sys.executable, "-m", "tests.leaks.secret_job", str(root)]
    done = subprocess.run(command, env=environment, capture_output=True, check=False, cwd=ROOT, timeout=600)
    (root / "shown" / "console.txt").write_bytes(done.stdout + done.stderr)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-4000:]
    return root


def shown(work: Path) -> dict[str, bytes]:
    return {str(path.relative_to(work)): path.read_bytes() for path in files_under(work / "shown")}


def places(work: Path, secret: bytes) -> list[tuple[str, str]]:
    """Return where, and in which spelling, the secret was shown."""
    return [
        (name, spelling)
        for name, content in shown(work).items()
        for spelling, raw in spellings(secret).items()
        if raw in content
    ]


def test_the_job_logged_and_showed_what_it_was_to(work: Path) -> None:
    texts = shown(work)
    events = b"".join(content for name, content in texts.items() if "events" in name)
    assert b"DEBUG " in texts["shown/driver.log"]
    assert b"SparkListenerSQLExecutionStart" in events
    for name in ("shown/by_keystore.txt", "shown/by_static.txt"):
        assert b"CREATE TABLE" in texts[name]
        assert b"== Analyzed Logical Plan ==" in texts[name]
    assert b"kms.keystore.path" in texts["shown/by_keystore.txt"]


@pytest.mark.parametrize("secret", [PASSWORD, WRONG_PASSWORD, LITERAL], ids=["password", "wrong password", "literal"])
def test_no_password_is_shown(work: Path, secret: str) -> None:
    assert places(work, secret.encode()) == []


@pytest.mark.parametrize("name", MASTERS)
def test_no_master_key_is_shown(work: Path, name: str) -> None:
    assert places(work, MASTERS[name]) == []


def test_no_data_key_is_shown(work: Path) -> None:
    keys = data_keys(work, MASTERS)
    assert len(keys) > 1
    assert {place for key in keys for place in places(work, key)} == set()


def test_no_key_lies_in_what_spark_wrote(work: Path) -> None:
    keys = [*MASTERS.values(), *data_keys(work, MASTERS)]
    found = []
    for path in files_under(work):
        if path.suffix != ".keys":
            content = path.read_bytes()
            found += [path for key in keys for raw in spellings(key).values() if raw in content]
    assert found == []
