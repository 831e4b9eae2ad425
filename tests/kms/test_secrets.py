"""Neither passwords, tokens nor keys appear in logs at DEBUG, event log, UI, plans, tables' descriptions or errors.

With each of four KMSs, tables are written, read, rotated and copied under new keys, and their key usage is listed, on
the cluster of `test_cluster`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.kms.aws import KEYS, REGION
from tests.kms.secret_job import AWS_SECRETS, FULL, JOBS, LITERAL, MASTERS, WRONG_PASSWORD, WRONG_SECRET_ID
from tests.kms.ui import UI
from tests.support.canary import files_under
from tests.support.files.key_material import data_keys, spellings
from tests.support.session import PASSWORD

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kms.transit_server import TransitServer
    from tests.support.kms.cluster_places import Cluster
    from tests.support.kms.moto_server import Moto

pytestmark = [pytest.mark.slow, pytest.mark.oldest, pytest.mark.nightly]


@dataclass(frozen=True)
class AwsKey:
    """Any key of moto's: what it wrapped names the key."""

    moto: Moto

    def decrypt(self, ciphertext: str) -> str:
        return self.moto.decrypt(REGION, ciphertext)


@pytest.fixture(scope="module")
def work(searched: Cluster) -> Path:
    """Return the job's directory of secrets and tables."""
    return searched.places.secrets


@pytest.fixture(scope="module")
def shown(searched: Cluster) -> dict[str, bytes]:
    """Return everything that Spark showed."""
    return searched.shown()


@pytest.fixture(scope="module")
def keys(work: Path, job_vault: TransitServer, moto: Moto) -> set[bytes]:
    """Return every data key and key-encryption key that the test can unwrap: some of each KMS."""
    held = (MASTERS, job_vault.keys, dict.fromkeys(KEYS, AwsKey(moto)))
    found = [data_keys(work, masters) for masters in held]
    assert all(len(some) > len(KEYS) for some in found)
    return set().union(*found)


def places(shown: dict[str, bytes], secret: bytes) -> list[tuple[str, str]]:
    """Return where, and in which encoding, the secret was shown."""
    wanted = spellings(secret).items()
    return [(name, spelling) for name, content in shown.items() for spelling, raw in wanted if raw in content]


def test_the_job_logged_and_showed_everything_it_should(shown: dict[str, bytes]) -> None:
    events = b"".join(content for name, content in shown.items() if "events" in name)
    assert b"DEBUG " in shown["shown/driver.log"]
    assert b"SparkListenerSQLExecutionStart" in events
    for name in JOBS:
        assert b"CREATE TABLE" in shown[f"shown/{name}.txt"] or name not in FULL
        assert b"== Analyzed Logical Plan ==" in shown[f"shown/{name}.txt"]
        assert b"status='rotated'" in shown[f"shown/{name}.txt"]
        assert b"pme_rotate" in shown[f"shown/{name}.txt"]
        assert b"copied: " in shown[f"shown/{name}.txt"]
    assert b"kms.vault.secretId" in shown["shown/by_vault.txt"]
    assert b"awssdk" in shown["shown/driver.log"]
    assert b"kms.aws.endpoint" in shown["shown/by_aws.txt"]
    assert b"PME_KEY_NOT_FOUND" in shown["shown/by_aws.txt"]
    assert b"by_vault" in shown[f"shown/ui-{len(UI)}.txt"]
    assert b"kms.keystore.path" in shown["shown/by_keystore.txt"]


@pytest.mark.parametrize("secret", [PASSWORD, WRONG_PASSWORD, LITERAL], ids=["password", "wrong password", "literal"])
def test_no_password_is_shown(shown: dict[str, bytes], secret: str) -> None:
    assert places(shown, secret.encode()) == []


def test_no_vault_token_and_nothing_that_gets_one_is_shown(shown: dict[str, bytes], job_vault: TransitServer) -> None:
    [(_, role)] = job_vault.state.roles.items()
    tokens = list(job_vault.state.tokens)
    assert tokens
    assert {
        place for secret in (role.secret, WRONG_SECRET_ID, *tokens) for place in places(shown, secret.encode())
    } == set()


@pytest.mark.parametrize("name", AWS_SECRETS)
def test_no_aws_credential_is_shown(shown: dict[str, bytes], name: str) -> None:
    assert places(shown, AWS_SECRETS[name].encode()) == []


@pytest.mark.parametrize("name", MASTERS)
def test_no_master_key_is_shown(shown: dict[str, bytes], name: str) -> None:
    assert places(shown, MASTERS[name]) == []


def test_no_data_key_is_shown(shown: dict[str, bytes], keys: set[bytes]) -> None:
    assert {place for key in keys for place in places(shown, key)} == set()


def test_no_key_is_in_what_spark_wrote(work: Path, keys: set[bytes]) -> None:
    needles = [raw for key in (*MASTERS.values(), *keys) for raw in spellings(key).values()]
    tables = work.parent / "warehouse"
    assert (tables / "by_keystore").exists()
    written = [path for path in (*files_under(work), *files_under(tables)) if path.suffix != ".keys"]
    contents = {path: path.read_bytes() for path in written}
    assert [path for path, content in contents.items() if any(raw in content for raw in needles)] == []
