"""`kms=gcp` and `kms=azure`, as far as they are alike: what is asked of the service, and who gets which keys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

import pme_parquet as pme
from tests.kms.clouds import SERVERS, encryption, reading
from tests.support.canary import assert_encrypted_footers, assert_no_canaries
from tests.support.errors import DONE, outcome
from tests.support.expect import refused, save, untouched
from tests.support.files.key_material import materials
from tests.support.kms.access import FOOTER, KEYS, PAY, PII, read, rows
from tests.support.kms.bend import bend_material
from tests.support.stored import assert_not_of_a_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.cloud_server import CloudServer
    from tests.support.source import Conf

PREFIX = "parquet.encryption."


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
    spark: SparkSession, cloud: CloudServer, frame: DataFrame, cloud_table: str, target: str, tmp_path: Path
) -> None:
    for name in KEYS:
        cloud.rotate(name)
    keys = cloud.access(tmp_path, KEYS)
    save(frame, target, encryption(keys).options())
    for path in (cloud_table, target):
        assert rows(read(spark, path, keys.options())) == rows(frame)


def test_a_table_is_signed_with_a_key_of_the_cloud(
    spark: SparkSession, cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    signer, pem = cloud.signer("publisher")
    public = tmp_path / "publisher.pem"
    public.write_bytes(pem)
    publisher, reader = cloud.access(tmp_path, (*KEYS, "publisher")), cloud.access(tmp_path, KEYS)
    save(frame, target, encryption(reader).options())
    with untouched(target), refused("PME_KEY_DENIED", f"'{signer}'", never=cloud.secrets):
        pme.seal(spark, target, kms=reader, signing=signer, expect="unsealed")
    sealed = pme.seal(spark, target, kms=publisher, signing=signer, expect="unsealed")
    assert (sealed.algorithm, sealed.key) == ("SHA256withECDSA", signer)
    options = reader.options() | {"verifyKey": str(pme.file(str(public)))}
    assert rows(read(spark, target, options)) == rows(frame)
    assert cloud.count(cloud.sign) == 1


def test_a_key_that_the_user_may_not_use_is_denied(
    spark: SparkSession, cloud: CloudServer, frame: DataFrame, cloud_table: str, target: str, tmp_path: Path
) -> None:
    few = cloud.access(tmp_path, (FOOTER, PAY))
    with untouched(target), refused("PME_KEY_DENIED", f"'{PII}'", never=cloud.secrets):
        save(frame, target, encryption(few).options())
    limited = read(spark, cloud_table, few.options())
    assert rows(limited.select("id", "salary")) == rows(frame.select("id", "salary"))
    with refused("PME_KEY_DENIED", f"'{PII}'", ".parquet", "ssn", never=cloud.secrets):
        limited.collect()


def test_a_key_that_is_gone_or_disabled_is_not_found(
    spark: SparkSession, cloud: CloudServer, frame: DataFrame, cloud_table: str, target: str, tmp_path: Path
) -> None:
    cloud.disable(PII)
    with refused("PME_KEY_NOT_FOUND", f"'{PII}'", "disabled", ".parquet", never=cloud.secrets):
        read(spark, cloud_table, reading(cloud, tmp_path)).collect()
    cloud.remove(PII)
    keys = cloud.access(tmp_path, KEYS)
    with refused("PME_KEY_NOT_FOUND", f"'{PII}'", "does not have it", ".parquet"):
        read(spark, cloud_table, keys.options()).collect()
    with untouched(target), refused("PME_KEY_NOT_FOUND", f"'{PII}'"):
        save(frame, target, encryption(keys).options())


def test_an_id_that_would_change_the_address_is_refused_unasked(
    cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = cloud.access(tmp_path, KEYS)
    with untouched(target), refused("PME_KEY_NOT_FOUND", "of the form"):
        save(frame, target, pme.Encryption(kms=keys, uniform_key="../pii").options())
    assert cloud.calls == []


def test_a_key_that_another_wrapped_does_not_open(
    spark: SparkSession, cloud_kind: str, cloud_table: str, tmp_path: Path
) -> None:
    # A wrapped key of Key Vault names the version that wrapped it, and another key has no such version.
    condition = {"gcp": "PME_NOT_AUTHENTIC", "azure": "PME_KEY_NOT_FOUND"}[cloud_kind]
    with SERVERS[cloud_kind]() as other:
        with refused(condition, f"'{FOOTER}'", ".parquet", never=other.secrets):
            read(spark, cloud_table, reading(other, tmp_path)).collect()
        assert other.count(other.unwrap) == 1


def test_an_altered_key_does_not_open(
    spark: SparkSession, cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = cloud.access(tmp_path, KEYS)
    written = pme.Encryption(kms=keys, uniform_key=FOOTER, double_wrapping=False, key_material="external")
    save(frame, target, written.options())
    [wrapped] = {material["wrappedDEK"] for material in materials(Path(target)) if material["masterKeyID"] == FOOTER}
    flipped = f"{wrapped[:-30]}{'A' if wrapped[-30] != 'A' else 'B'}{wrapped[-29:]}"
    bend_material(target, {"wrappedDEK": flipped})
    with refused("PME_NOT_AUTHENTIC", f"'{FOOTER}'", ".parquet", never=cloud.secrets):
        read(spark, target, reading(cloud, tmp_path)).collect()


def test_no_host_is_named_by_a_table(
    spark: SparkSession, cloud: CloudServer, cloud_table: str, tmp_path: Path, conf: Conf
) -> None:
    options = reading(cloud, tmp_path)
    for host in ("https://kms.example.com", "https://cloudkms.googleapis.com", cloud.url + "/other"):
        assert_not_of_a_table(spark, conf, cloud_table, options | {cloud.address: host}, cloud.address)
    # An option of the read itself names any, but none that listens in the clear.
    with refused("PME_BAD_OPTION", cloud.address):
        read(spark, cloud_table, options | {cloud.address: cloud.url.replace("127.0.0.1", "example.com")}).collect()
    assert cloud.calls == []


def test_plans_hold_references_and_no_secrets(
    spark: SparkSession, cloud: CloudServer, cloud_table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = reading(cloud, tmp_path)
    found = read(spark, cloud_table, options)
    assert found.count()
    found.explain("extended")
    shown = capsys.readouterr().out + str(options)
    assert not [secret for secret in cloud.secrets if secret in shown]


def test_two_users_of_a_session_do_not_mix(
    spark: SparkSession, cloud: CloudServer, cloud_table: str, frame: DataFrame, tmp_path: Path
) -> None:
    full, few = reading(cloud, tmp_path), reading(cloud, tmp_path, (FOOTER, PAY))
    for _ in range(2):
        assert rows(read(spark, cloud_table, full)) == rows(frame)
        with refused("PME_KEY_DENIED", f"'{PII}'"):
            read(spark, cloud_table, few).select("ssn").collect()
    mixed = read(spark, cloud_table, full).select("ssn").union(read(spark, cloud_table, few).select("ssn"))
    with refused("PME_KEY_DENIED", f"'{PII}'"):
        mixed.collect()


def test_spark_parquet_reads_and_writes_through_the_client(
    spark: SparkSession, cloud: CloudServer, cloud_table: str, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    settings = alone(cloud)
    assert rows(spark.read.options(**settings).parquet(cloud_table)) == rows(frame)
    keys = {f"{PREFIX}footer.key": FOOTER, f"{PREFIX}column.keys": "pii: ssn; pay: salary"}
    frame.write.options(**settings, **keys).parquet(target)
    assert rows(read(spark, target, reading(cloud, tmp_path))) == rows(frame)


def test_the_address_in_key_material_is_not_called(
    spark: SparkSession, cloud_kind: str, cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = cloud.access(tmp_path, KEYS)
    save(frame, target, encryption(keys, key_material="external").options())
    settings = alone(cloud) | {f"{PREFIX}key.material.store.internally": "false"}
    with SERVERS[cloud_kind]() as planted:
        bend_material(target, {"kmsInstanceURL": planted.url, "kmsInstanceID": "planted"})
        assert outcome(lambda: spark.read.options(**settings).parquet(target).collect()) == DONE
        assert rows(read(spark, target, keys.options())) == rows(frame)
        assert planted.calls == []
