"""Neither passwords, tokens nor keys appear in logs at DEBUG, event log, UI, plans, tables' descriptions or errors.

With each of four KMSs, tables are written, read, rotated and copied under new keys, and their key usage is listed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.aws import REGION, USER
from tests.kms.secret_job import FULL, JOBS, LITERAL
from tests.kms.transit_key import TransitKey
from tests.kms.transit_server import TransitServer
from tests.kms.ui import UI
from tests.support.canary import files_under
from tests.support.files.key_material import data_keys, spellings
from tests.support.kms.moto_server import Moto
from tests.support.processes import environment
from tests.support.session import PASSWORD, PASSWORD_VARIABLE, ROOT, set_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MASTERS = {
    name: bytes((seed * 37 + at * 11) % 256 for at in range(16))
    for seed, name in enumerate(("footer", "pii", "pay"), 1)
}
WRONG_PASSWORD = "battery-staple-77ab"
WRONG_SECRET_ID = "wrong-secret-id-90aa"
VAULT_KEYS = ("v-footer", "v-pii", "v-pay")
AWS_KEYS = ("alias/footer", "alias/pii", "alias/pay")
AWS_SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "aws-secret-of-the-job-4e8b",
    "AWS_SESSION_TOKEN": "aws-session-of-the-job-91cd",
}


def key_lines(masters: dict[str, bytes]) -> str:
    return "".join(f"{name}={b64encode(key).decode()}\n" for name, key in masters.items())


@pytest.fixture(scope="module")
def vault() -> Iterator[TransitServer]:
    """Return the Vault of the job."""
    with TransitServer(keys={name: TransitKey() for name in VAULT_KEYS}) as made:
        yield made


@dataclass(frozen=True)
class AwsKey:
    """Any key of moto's: what it wrapped names the key."""

    moto: Moto

    def decrypt(self, ciphertext: str) -> str:
        return self.moto.decrypt(REGION, ciphertext)


@pytest.fixture(scope="module")
def moto() -> Iterator[Moto]:
    """Return the AWS KMS of the job."""
    with Moto() as made:
        for alias in AWS_KEYS:
            made.create_key(REGION, alias)
        yield made


@pytest.fixture(scope="module")
def work(vault: TransitServer, moto: Moto, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a finished job: ``shown`` in it has everything that Spark showed."""
    root = tmp_path_factory.mktemp("secrets")
    role = vault.approle(VAULT_KEYS)
    (root / "vault.json").write_text(json.dumps({"url": vault.url, "role": role.role_id}))
    (root / "aws.json").write_text(json.dumps({"region": REGION, "endpoint": moto.url}))
    (root / "secret-id.keys").write_text(role.secret_id)
    (root / "wrong-id.keys").write_text(WRONG_SECRET_ID)
    (root / "static.keys").write_text(key_lines(MASTERS))
    (root / "wrong.keys").write_text(key_lines({name: bytes(16) for name in MASTERS}))
    set_secrets()
    given = environment() | {"PME_WRONG_PASSWORD": WRONG_PASSWORD, "AWS_ACCESS_KEY_ID": USER} | AWS_SECRETS
    pme.Keystore(str(root / "keys.p12"), password=pme.env(PASSWORD_VARIABLE)).create(list(MASTERS))
    command = [sys.executable, "-m", "tests.kms.secret_job", str(root)]
    done = subprocess.run(command, env=given, capture_output=True, check=False, cwd=ROOT, timeout=600)
    (root / "shown" / "console.txt").write_bytes(done.stdout + done.stderr)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-4000:]
    return root


@pytest.fixture(scope="module")
def keys(work: Path, vault: TransitServer, moto: Moto) -> set[bytes]:
    """Return every data key and key-encryption key that the test can unwrap: some of each KMS."""
    held = (MASTERS, vault.keys, dict.fromkeys(AWS_KEYS, AwsKey(moto)))
    found = [data_keys(work, masters) for masters in held]
    assert all(len(some) > len(AWS_KEYS) for some in found)
    return set().union(*found)


@cache
def shown(work: Path) -> dict[str, bytes]:
    return {str(path.relative_to(work)): path.read_bytes() for path in files_under(work / "shown")}


def places(work: Path, secret: bytes) -> list[tuple[str, str]]:
    """Return where, and in which encoding, the secret was shown."""
    return [
        (name, spelling)
        for name, content in shown(work).items()
        for spelling, raw in spellings(secret).items()
        if raw in content
    ]


def test_the_job_logged_and_showed_everything_it_should(work: Path) -> None:
    texts = shown(work)
    events = b"".join(content for name, content in texts.items() if "events" in name)
    assert b"DEBUG " in texts["shown/driver.log"]
    assert b"SparkListenerSQLExecutionStart" in events
    for name in JOBS:
        assert b"CREATE TABLE" in texts[f"shown/{name}.txt"] or name not in FULL
        assert b"== Analyzed Logical Plan ==" in texts[f"shown/{name}.txt"]
        assert b"status='rotated'" in texts[f"shown/{name}.txt"]
        assert b"pme_rotate" in texts[f"shown/{name}.txt"]
        assert b"copied: " in texts[f"shown/{name}.txt"]
    assert b"kms.vault.secretId" in texts["shown/by_vault.txt"]
    assert b"awssdk" in texts["shown/driver.log"]
    assert b"kms.aws.endpoint" in texts["shown/by_aws.txt"]
    assert b"PME_KEY_NOT_FOUND" in texts["shown/by_aws.txt"]
    assert b"by_vault" in texts[f"shown/ui-{len(UI)}.txt"]
    assert b"kms.keystore.path" in texts["shown/by_keystore.txt"]


@pytest.mark.parametrize("secret", [PASSWORD, WRONG_PASSWORD, LITERAL], ids=["password", "wrong password", "literal"])
def test_no_password_is_shown(work: Path, secret: str) -> None:
    assert places(work, secret.encode()) == []


def test_no_vault_token_and_nothing_that_gets_one_is_shown(work: Path, vault: TransitServer) -> None:
    [(_, role)] = vault.state.roles.items()
    tokens = list(vault.state.tokens)
    assert tokens
    assert {
        place for secret in (role.secret, WRONG_SECRET_ID, *tokens) for place in places(work, secret.encode())
    } == set()


@pytest.mark.parametrize("name", AWS_SECRETS)
def test_no_aws_credential_is_shown(work: Path, name: str) -> None:
    assert places(work, AWS_SECRETS[name].encode()) == []


@pytest.mark.parametrize("name", MASTERS)
def test_no_master_key_is_shown(work: Path, name: str) -> None:
    assert places(work, MASTERS[name]) == []


def test_no_data_key_is_shown(work: Path, keys: set[bytes]) -> None:
    assert {place for key in keys for place in places(work, key)} == set()


def test_no_key_is_in_what_spark_wrote(work: Path, keys: set[bytes]) -> None:
    needles = [raw for key in (*MASTERS.values(), *keys) for raw in spellings(key).values()]
    contents = {path: path.read_bytes() for path in files_under(work) if path.suffix != ".keys"}
    assert [path for path, content in contents.items() if any(raw in content for raw in needles)] == []
