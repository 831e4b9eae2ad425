"""``kms=hadoop`` against a real Hadoop KMS 3.4.2, which each key's access is asked of."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

import pme_parquet as pme
from tests.kms.access import COLUMNS, FOOTER, KEYS, read, rows
from tests.kms.material import bend_material
from tests.support.canary import assert_encrypted_footers, assert_no_canaries
from tests.support.expect import DONE, outcome, refused, save

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kms.hadoop_server import HadoopKms


PREFIX = "parquet.encryption."
CLIENT = {
    "parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
    f"{PREFIX}kms.client.class": "io.pmeparquet.kms.HadoopKmsClient",
}


@pytest.fixture(scope="module")
def keys(hadoop_kms: HadoopKms) -> pme.HadoopKms:
    return pme.HadoopKms(hadoop_kms.uri)


def under(keys: pme.HadoopKms, key: str) -> dict[str, str]:
    """Return the options that put everything under one key, with its material beside the file."""
    return pme.Encryption(kms=keys, uniform_key=key, key_material="external").options()


def client(**settings: str) -> dict[str, str]:
    """Return the settings of parquet-java, which keeps one client for each token, whatever its class."""
    own = {f"{PREFIX}key.access.token": uuid4().hex}
    return CLIENT | own | {PREFIX + name.replace("_", "."): value for name, value in settings.items()}


def test_a_table_is_written_and_read_and_the_server_opens_each_key_once(
    spark: SparkSession, hadoop_kms: HadoopKms, keys: pme.HadoopKms, frame: DataFrame, target: str
) -> None:
    before = hadoop_kms.opened()
    save(frame.repartition(3), target, pme.Encryption(kms=keys, footer_key=FOOTER, column_keys=COLUMNS).options())
    assert hadoop_kms.opened() - before == len(KEYS)
    assert_encrypted_footers(target)
    assert_no_canaries(target, ["ssn-7", "salary"])
    assert rows(read(spark, target, keys.options())) == rows(frame)
    assert hadoop_kms.opened() - before == 2 * len(KEYS)
    # Executors can call the server themselves.
    here = {"kms.callFrom": "executor"}
    assert rows(read(spark, target, keys.options() | here)) == rows(frame)
    assert hadoop_kms.opened() - before == 3 * len(KEYS)
    itself = f"{target}-itself"
    save(frame, itself, under(keys, FOOTER) | here)
    assert rows(read(spark, itself, keys.options() | here)) == rows(frame)


def test_without_an_address_hadoops_own_is_taken(
    spark: SparkSession, hadoop_kms: HadoopKms, frame: DataFrame, target: str
) -> None:
    keys = pme.HadoopKms()
    with refused("PME_BAD_OPTION", "hadoop.security.key.provider.path"):
        save(frame, target, under(keys, FOOTER))
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("hadoop.security.key.provider.path", hadoop_kms.uri)
    try:
        save(frame, target, under(keys, FOOTER))
        assert rows(read(spark, target, keys.options())) == rows(frame)
    finally:
        conf.unset("hadoop.security.key.provider.path")


def test_spark_parquet_reads_what_we_wrote_and_we_read_what_it_wrote(
    spark: SparkSession, hadoop_kms: HadoopKms, keys: pme.HadoopKms, frame: DataFrame, tmp_path: Path
) -> None:
    settings = client(kms_hadoop_uri=hadoop_kms.uri)
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    save(frame, ours, pme.Encryption(kms=keys, footer_key=FOOTER, column_keys=COLUMNS).options())
    assert rows(spark.read.options(**settings).parquet(ours)) == rows(frame)
    named = {f"{PREFIX}footer.key": FOOTER, f"{PREFIX}column.keys": "pii: ssn; pay: salary"}
    frame.write.options(**settings, **named).parquet(theirs)
    assert rows(read(spark, theirs, keys.options())) == rows(frame)


def test_the_address_in_key_material_is_never_asked(
    spark: SparkSession, frame: DataFrame, keys: pme.HadoopKms, target: str
) -> None:
    save(frame, target, under(keys, FOOTER))
    settings = client(key_material_store_internally="false")
    with socket.create_server(("127.0.0.1", 0)) as planted:
        planted.settimeout(0)
        uri = f"kms://http@127.0.0.1:{planted.getsockname()[1]}/kms"
        bend_material(target, {"kmsInstanceURL": uri, "kmsInstanceID": "planted"})
        assert rows(read(spark, target, keys.options())) == rows(frame)
        assert outcome(lambda: spark.read.options(**settings).parquet(target).collect()) != DONE
        with pytest.raises(BlockingIOError):
            planted.accept()
