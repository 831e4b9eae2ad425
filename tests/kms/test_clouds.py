"""`kms=gcp` and `kms=azure`, as far as they are alike: what is asked of the service, and who gets which keys."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

import pme_parquet as pme
from tests.kms.access import FOOTER, KEYS, PAY, PII, read, rows
from tests.kms.clouds import SERVERS, encryption, reading
from tests.kms.material import bend_material
from tests.support.canary import assert_encrypted_footers, assert_no_canaries
from tests.support.expect import DONE, outcome, refused, save, untouched

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.cloud_server import CloudServer

PREFIX = "parquet.encryption."


def alone(cloud: CloudServer, keys: tuple[str, ...] = KEYS) -> dict[str, str]:
    """Return the settings of parquet-java, which keeps one client for each token, whatever its class."""
    return {
        f"{PREFIX}key.access.token": uuid4().hex,
        "parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
        f"{PREFIX}kms.client.class": cloud.client,
    } | {PREFIX + name: value for name, value in cloud.alone(keys).items()}


@pytest.mark.all_rows
def test_each_key_is_asked_for_once_and_with_one_login(
    spark: SparkSession,
    cloud: CloudServer,
    frame: DataFrame,
    target: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
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
    # Another user of the session gets no key from this one.
    few = read(spark, target, reading(cloud, tmp_path, (FOOTER, PAY)))
    assert rows(few.select("id", "salary")) == rows(frame.select("id", "salary"))
    for limited in (few.select("ssn"), read(spark, target, keys.options()).select("ssn").union(few.select("ssn"))):
        with refused("PME_KEY_DENIED", f"'{PII}'", never=cloud.secrets):
            limited.collect()
    # Plans hold references, and no secrets.
    few.explain("extended")
    shown = capsys.readouterr().out + str(keys.options())
    assert not [secret for secret in cloud.secrets if secret in shown]


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
