"""`kms=gcp` and `kms=azure`, as far as they are alike: what is asked of the service, and what comes of its refusals."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

import pme_parquet as pme
from tests.kms import answers
from tests.kms.access import COLUMNS, FOOTER, KEYS, PAY, PII, read, rows
from tests.kms.answers import Answer
from tests.kms.azure_server import AzureServer
from tests.kms.bend import bend_material
from tests.kms.gcp_server import GcpServer
from tests.kms.transit_server import DROPPED, Fault
from tests.leaks.key_material import materials
from tests.policy.expect import refused, save, untouched
from tests.support.canary import assert_encrypted_footers, assert_no_canaries
from tests.support.errors import DONE, outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.cloud_server import CloudServer

SERVERS: dict[str, Any] = {"gcp": GcpServer, "azure": AzureServer}
PREFIX = "parquet.encryption."
SOON = {"kms.timeoutSeconds": "1"}
MOST_ATTEMPTS = 6
STRANGE_IDS = ["../pii", "pii/../../x", "pii?x=y", "pii#", "p ii", "pii:wrap", "%70ii", ".", "projects/x"]
LONG = 10

NO_VALUES = {"kid": 7, "value": {}, "ciphertext": 7, "plaintext": [], "verifiedPlaintextCrc32c": True}

# Asked once: nothing changes by asking again.
FINAL = {
    "throttled for longer than there is time": (Fault(answers.throttled(60)), "429"),
    "a web page": (Fault(Answer(200, b"<html>It works!</html>")), "that is none"),
    "nothing": (Fault(Answer(200, b"")), "that is none"),
    "cut JSON": (Fault(Answer(200, b'{"ciphertext":"AA')), "that is none"),
    "a list": (Fault(Answer(200, [])), "that is none"),
    "values that are none": (Fault(Answer(200, NO_VALUES)), "that is none"),
    "a web page that refuses": (Fault(Answer(404, b"<html>")), "status 404"),
    "a status of nobody's": (Fault(Answer(418, b"")), "status 418"),
    "sent on elsewhere": (Fault(Answer(307, b"", {"Location": "https://localhost:1/v1"})), "sends on"),
}
# Asked again, for some of the time that there is.
PASSING = {
    "internal error": (Fault(Answer(500, {"error": {}})), "500"),
    "unavailable": (Fault(Answer(503, b"<html>")), "503"),
    "throttled": (Fault(answers.throttled(0)), "429"),
    "dropped connections": (DROPPED, "reached"),
}


@pytest.fixture(scope="module", params=SERVERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def service_keys(kind: str) -> dict[str, Any]:
    """Return the keys that the servers of this cloud hold, each of them its own copies."""
    made: dict[str, Any] = SERVERS[kind].new_keys()
    return made


@pytest.fixture
def cloud(kind: str, service_keys: dict[str, Any]) -> Iterator[CloudServer]:
    with SERVERS[kind](service_keys) as made:
        yield made


@pytest.fixture(scope="module")
def table(frame: DataFrame, kind: str, service_keys: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of a table of one file that was written with the servers' keys."""
    root = tmp_path_factory.mktemp(kind)
    path = str(root / "table")
    with SERVERS[kind](service_keys) as written_with:
        save(frame, path, encryption(written_with.access(root, KEYS)).options())
    return path


def encryption(kms: Any, **fields: Any) -> pme.Encryption:
    return pme.Encryption(kms=kms, footer_key=FOOTER, column_keys=COLUMNS, **fields)


def reading(cloud: CloudServer, directory: Path, keys: tuple[str, ...] = KEYS) -> dict[str, str]:
    """Return the options of a new user."""
    return cloud.access(directory, keys).options()


def alone(cloud: CloudServer, keys: tuple[str, ...] = KEYS) -> dict[str, str]:
    """Return the settings of parquet-java, which keeps one client for each token, whatever its class."""
    return {
        f"{PREFIX}key.access.token": uuid4().hex,
        "parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
        f"{PREFIX}kms.client.class": cloud.client,
    } | {PREFIX + name: value for name, value in cloud.alone(keys).items()}


def test_each_key_is_asked_for_once_and_with_one_login(
    spark: SparkSession, cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = cloud.access(tmp_path, KEYS)
    save(frame, target, encryption(keys).options())
    assert_encrypted_footers(target)
    assert_no_canaries(target, ["ssn-7", "salary"])
    assert (cloud.count(cloud.wrap), cloud.count(cloud.login)) == (len(KEYS), 1)
    cloud.calls.clear()
    assert rows(read(spark, target, keys.options())) == rows(frame)
    assert (cloud.count(cloud.unwrap), cloud.count(cloud.login)) == (len(KEYS), 1)
    assert len(cloud.calls) == len(KEYS) + 1


@pytest.mark.parametrize("bits", [128, 192, 256])
def test_keys_of_every_length_come_back(
    spark: SparkSession, cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path, bits: Any
) -> None:
    keys = cloud.access(tmp_path, KEYS)
    save(frame, target, encryption(keys, kek_bits=bits, data_key_bits=bits).options())
    assert rows(read(spark, target, keys.options())) == rows(frame)


def test_a_rotated_key_still_reads_old_files_and_wraps_new_ones(
    spark: SparkSession, cloud: CloudServer, frame: DataFrame, table: str, target: str, tmp_path: Path
) -> None:
    for name in KEYS:
        cloud.rotate(name)
    keys = cloud.access(tmp_path, KEYS)
    save(frame, target, encryption(keys).options())
    for path in (table, target):
        assert rows(read(spark, path, keys.options())) == rows(frame)


@pytest.mark.parametrize("name", FINAL)
def test_a_write_that_cannot_succeed_asks_once(
    cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path, name: str
) -> None:
    fault, mention = FINAL[name]
    options = encryption(cloud.access(tmp_path, KEYS)).options() | SOON
    cloud.inject(fault, times=None, path=cloud.wrap)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", cloud.url, mention, never=cloud.secrets):
        save(frame, target, options)
    assert (cloud.count(cloud.wrap), cloud.count(cloud.login)) == (1, 1)


@pytest.mark.parametrize("name", ["a web page", "a list", "values that are none"])
def test_a_read_that_cannot_succeed_asks_once(
    spark: SparkSession, cloud: CloudServer, table: str, tmp_path: Path, name: str
) -> None:
    fault, mention = FINAL[name]
    cloud.inject(fault, times=None, path=cloud.unwrap)
    with refused("PME_KMS_UNAVAILABLE", ".parquet", mention, never=cloud.secrets):
        read(spark, table, reading(cloud, tmp_path)).collect()
    assert cloud.count(cloud.unwrap) == 1


@pytest.mark.parametrize("name", PASSING)
def test_a_failure_that_does_not_pass_is_given_up(
    cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path, name: str
) -> None:
    fault, mention = PASSING[name]
    cloud.inject(fault, times=None, path=cloud.wrap)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", cloud.url, mention, never=cloud.secrets):
        save(frame, target, encryption(cloud.access(tmp_path, KEYS)).options() | SOON)
    assert 2 <= cloud.count(cloud.wrap) <= MOST_ATTEMPTS


@pytest.mark.parametrize("name", PASSING)
def test_a_failure_that_passes_is_not_seen(
    spark: SparkSession, cloud: CloudServer, table: str, frame: DataFrame, tmp_path: Path, name: str
) -> None:
    cloud.inject(PASSING[name][0], times=2, path=cloud.unwrap)
    assert rows(read(spark, table, reading(cloud, tmp_path))) == rows(frame)
    assert cloud.count(cloud.unwrap) == len(KEYS) + 2


@pytest.mark.parametrize("what", ["login", "wrap"])
def test_a_slow_service_is_given_up_in_time(
    cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path, what: str
) -> None:
    cloud.inject(Fault(delay=LONG), times=None, path=getattr(cloud, what))
    began = time.monotonic()
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "1 s", never=cloud.secrets):
        save(frame, target, encryption(cloud.access(tmp_path, KEYS)).options() | SOON)
    assert time.monotonic() - began < LONG
    assert cloud.count(getattr(cloud, what)) == 1


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_login_that_is_refused_is_tried_once(
    cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path, status: int
) -> None:
    cloud.inject(Answer(status, {"error": "invalid_grant"}), times=None, path=cloud.login)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "login", str(status), never=cloud.secrets):
        save(frame, target, encryption(cloud.access(tmp_path, KEYS)).options())
    assert (cloud.count(cloud.wrap), cloud.count(cloud.login)) == (0, 1)


@pytest.mark.parametrize(
    "body",
    [b"<html>", {}, {"access_token": 7, "expires_in": 60}, {"access_token": "a\r\nb: c", "expires_in": 60}],
    ids=["a web page", "nothing", "a number", "two lines"],
)
def test_a_token_that_is_none_is_not_used(
    cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path, body: object
) -> None:
    cloud.inject(Answer(200, body), times=None, path=cloud.login)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "login", never=cloud.secrets):
        save(frame, target, encryption(cloud.access(tmp_path, KEYS)).options())
    assert cloud.count(cloud.wrap) == 0


def test_a_token_that_ends_early_is_replaced_once(
    spark: SparkSession, cloud: CloudServer, table: str, frame: DataFrame, tmp_path: Path
) -> None:
    refusal = Answer(401, {"error": {"code": "Unauthorized", "status": "UNAUTHENTICATED"}})
    cloud.inject(refusal, times=1, path=cloud.unwrap)
    assert rows(read(spark, table, reading(cloud, tmp_path))) == rows(frame)
    assert (cloud.count(cloud.unwrap), cloud.count(cloud.login)) == (len(KEYS) + 1, 2)


def test_tokens_that_are_never_taken_are_given_up(
    spark: SparkSession, cloud: CloudServer, table: str, tmp_path: Path
) -> None:
    refusal = Answer(401, {"error": {"code": "Unauthorized", "status": "UNAUTHENTICATED"}})
    cloud.inject(refusal, times=None, path=cloud.unwrap)
    with refused("PME_KMS_UNAVAILABLE", "token", never=cloud.secrets):
        read(spark, table, reading(cloud, tmp_path)).collect()
    assert (cloud.count(cloud.unwrap), cloud.count(cloud.login)) == (2, 2)


def test_a_key_that_the_user_may_not_use_is_denied(
    spark: SparkSession, cloud: CloudServer, frame: DataFrame, table: str, target: str, tmp_path: Path
) -> None:
    few = cloud.access(tmp_path, (FOOTER, PAY))
    with untouched(target), refused("PME_KEY_DENIED", f"'{PII}'", never=cloud.secrets):
        save(frame, target, encryption(few).options())
    limited = read(spark, table, few.options())
    assert rows(limited.select("id", "salary")) == rows(frame.select("id", "salary"))
    with refused("PME_KEY_DENIED", f"'{PII}'", ".parquet", "ssn", never=cloud.secrets):
        limited.collect()


def test_a_key_that_is_gone_or_disabled_is_not_found(
    spark: SparkSession, cloud: CloudServer, frame: DataFrame, table: str, target: str, tmp_path: Path
) -> None:
    cloud.disable(PII)
    with refused("PME_KEY_NOT_FOUND", f"'{PII}'", "disabled", ".parquet", never=cloud.secrets):
        read(spark, table, reading(cloud, tmp_path)).collect()
    cloud.remove(PII)
    keys = cloud.access(tmp_path, KEYS)
    with refused("PME_KEY_NOT_FOUND", f"'{PII}'", "does not have it", ".parquet"):
        read(spark, table, keys.options()).collect()
    with untouched(target), refused("PME_KEY_NOT_FOUND", f"'{PII}'"):
        save(frame, target, encryption(keys).options())


@pytest.mark.parametrize("name", STRANGE_IDS)
def test_an_id_that_would_change_the_address_is_refused_unasked(
    cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path, name: str
) -> None:
    keys = cloud.access(tmp_path, KEYS)
    with untouched(target), refused("PME_KEY_NOT_FOUND", "of the form"):
        save(frame, target, pme.Encryption(kms=keys, uniform_key=name).options())
    assert cloud.calls == []


def test_a_key_that_another_wrapped_does_not_open(spark: SparkSession, kind: str, table: str, tmp_path: Path) -> None:
    # A wrapped key of Key Vault names the version that wrapped it, and another key has no such version.
    condition = {"gcp": "PME_NOT_AUTHENTIC", "azure": "PME_KEY_NOT_FOUND"}[kind]
    with SERVERS[kind]() as other:
        with refused(condition, f"'{FOOTER}'", ".parquet", never=other.secrets):
            read(spark, table, reading(other, tmp_path)).collect()
        assert other.count(other.unwrap) == 1


def test_an_altered_key_does_not_open(
    spark: SparkSession, cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = cloud.access(tmp_path, KEYS)
    written = pme.Encryption(kms=keys, uniform_key=FOOTER, double_wrapping=False, key_material="external")
    save(frame, target, written.options())
    [wrapped] = {material["wrappedDEK"] for material in materials(Path(target)) if material["masterKeyID"] == FOOTER}
    flipped = f"{wrapped[:-30]}{'A' if wrapped[-30] != 'A' else 'B'}{wrapped[-29:]}"
    for altered in (flipped, wrapped[:-8], wrapped[:40], f"{wrapped}?", "azure:1:AAAA", "?"):
        bend_material(target, {"wrappedDEK": altered})
        with refused("PME_NOT_AUTHENTIC", f"'{FOOTER}'", ".parquet", never=cloud.secrets):
            read(spark, target, reading(cloud, tmp_path)).collect()


def test_only_the_clouds_own_hosts_are_named_by_a_table(
    spark: SparkSession, cloud: CloudServer, table: str, tmp_path: Path
) -> None:
    options = reading(cloud, tmp_path)
    for host in (
        "https://kms.example.com",
        "https://cloudkms.googleapis.com.example",
        "https://vault.azure.net.example",
    ):
        with refused("PME_BAD_OPTION", cloud.address):
            read(spark, table, options | {cloud.address: host}).collect()
    with refused("PME_BAD_OPTION", cloud.address):
        read(spark, table, options | {cloud.address: cloud.url.replace("127.0.0.1", "example.com")}).collect()
    assert cloud.calls == []


def test_plans_hold_references_and_no_secrets(
    spark: SparkSession, cloud: CloudServer, table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = reading(cloud, tmp_path)
    found = read(spark, table, options)
    assert found.count()
    found.explain("extended")
    shown = capsys.readouterr().out + str(options)
    assert not [secret for secret in cloud.secrets if secret in shown]


def test_two_users_of_a_session_do_not_mix(
    spark: SparkSession, cloud: CloudServer, table: str, frame: DataFrame, tmp_path: Path
) -> None:
    full, few = reading(cloud, tmp_path), reading(cloud, tmp_path, (FOOTER, PAY))
    for _ in range(2):
        assert rows(read(spark, table, full)) == rows(frame)
        with refused("PME_KEY_DENIED", f"'{PII}'"):
            read(spark, table, few).select("ssn").collect()
    mixed = read(spark, table, full).select("ssn").union(read(spark, table, few).select("ssn"))
    with refused("PME_KEY_DENIED", f"'{PII}'"):
        mixed.collect()


def test_spark_parquet_reads_and_writes_through_the_client(
    spark: SparkSession, cloud: CloudServer, table: str, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    settings = alone(cloud)
    assert rows(spark.read.options(**settings).parquet(table)) == rows(frame)
    keys = {f"{PREFIX}footer.key": FOOTER, f"{PREFIX}column.keys": "pii: ssn; pay: salary"}
    frame.write.options(**settings, **keys).parquet(target)
    assert rows(read(spark, target, reading(cloud, tmp_path))) == rows(frame)


def test_the_address_in_key_material_is_not_called(
    spark: SparkSession, kind: str, cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = cloud.access(tmp_path, KEYS)
    save(frame, target, encryption(keys, key_material="external").options())
    settings = alone(cloud) | {f"{PREFIX}key.material.store.internally": "false"}
    with SERVERS[kind]() as planted:
        bend_material(target, {"kmsInstanceURL": planted.url, "kmsInstanceID": "planted"})
        assert outcome(lambda: spark.read.options(**settings).parquet(target).collect()) == DONE
        assert rows(read(spark, target, keys.options())) == rows(frame)
        assert planted.calls == []
