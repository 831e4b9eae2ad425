"""Neither passwords, tokens nor keys appear in logs at DEBUG, event log, UI, plans, tables' descriptions or errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.cluster_job import UI
from tests.kms.transit_key import TransitKey
from tests.kms.transit_server import TransitServer
from tests.leaks.key_material import data_keys, spellings
from tests.support.canary import files_under
from tests.support.session import PASSWORD, PASSWORD_VARIABLE, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MASTERS = {
    name: bytes((seed * 37 + at * 11) % 256 for at in range(16))
    for seed, name in enumerate(("footer", "pii", "pay"), 1)
}
WRONG_PASSWORD = "battery-staple-77ab"
LITERAL = "aGVsbG8taHVudGVyMi1rZXk="
WRONG_SECRET_ID = "wrong-secret-id-90aa"
VAULT_KEYS = ("v-footer", "v-pii", "v-pay")
JOBS = ("by_keystore", "by_static", "by_vault")


def key_lines(masters: dict[str, bytes]) -> str:
    return "".join(f"{name}={b64encode(key).decode()}\n" for name, key in masters.items())


@pytest.fixture(scope="module")
def vault() -> Iterator[TransitServer]:
    """Return the Vault of the job."""
    with TransitServer(keys={name: TransitKey() for name in VAULT_KEYS}) as made:
        yield made


@pytest.fixture(scope="module")
def work(vault: TransitServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a finished job: what Spark showed is under ``shown``."""
    root = tmp_path_factory.mktemp("secrets")
    role = vault.approle(VAULT_KEYS)
    (root / "vault.json").write_text(json.dumps({"url": vault.url, "role": role.role_id}))
    (root / "secret-id.keys").write_text(role.secret_id)
    (root / "wrong-id.keys").write_text(WRONG_SECRET_ID)
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
    for name in JOBS:
        assert b"CREATE TABLE" in texts[f"shown/{name}.txt"]
        assert b"== Analyzed Logical Plan ==" in texts[f"shown/{name}.txt"]
    assert b"kms.vault.secretId" in texts["shown/by_vault.txt"]
    assert b"by_vault" in texts[f"shown/ui-{len(UI)}.txt"]
    assert b"kms.keystore.path" in texts["shown/by_keystore.txt"]


@pytest.mark.parametrize("secret", [PASSWORD, WRONG_PASSWORD, LITERAL], ids=["password", "wrong password", "literal"])
def test_no_password_is_shown(work: Path, secret: str) -> None:
    assert places(work, secret.encode()) == []


def test_no_token_of_vault_s_and_nothing_that_gets_one_is_shown(work: Path, vault: TransitServer) -> None:
    [(_, role)] = vault.state.roles.items()
    tokens = list(vault.state.tokens)
    assert tokens
    assert {
        place for secret in (role.secret, WRONG_SECRET_ID, *tokens) for place in places(work, secret.encode())
    } == set()


@pytest.mark.parametrize("name", MASTERS)
def test_no_master_key_is_shown(work: Path, name: str) -> None:
    assert places(work, MASTERS[name]) == []


def test_no_data_key_is_shown(work: Path, vault: TransitServer) -> None:
    for keys in (data_keys(work, MASTERS), data_keys(work, vault.keys)):
        assert len(keys) > len(VAULT_KEYS)
        assert {place for key in keys for place in places(work, key)} == set()


def test_no_key_lies_in_what_spark_wrote(work: Path, vault: TransitServer) -> None:
    keys = [*MASTERS.values(), *data_keys(work, MASTERS), *data_keys(work, vault.keys)]
    found = []
    for path in files_under(work):
        if path.suffix != ".keys":
            content = path.read_bytes()
            found += [path for key in keys for raw in spellings(key).values() if raw in content]
    assert found == []
