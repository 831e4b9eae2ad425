"""``kms=hadoop`` against a real Hadoop KMS 3.4.2, which each key's access is asked of."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

import pme_parquet as pme
from tests.support.canary import assert_encrypted_footers, assert_no_canaries
from tests.support.errors import DONE, outcome
from tests.support.expect import refused, save, untouched
from tests.support.files.key_material import materials
from tests.support.kms.access import COLUMNS, FOOTER, KEYS, PII, read, rows
from tests.support.kms.bend import bend_material
from tests.support.kms.hadoop_server import LONG, RESTRICTED, HadoopKms, copy_keys, free_port, running
from tests.support.stored import assert_not_of_a_table, stored_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

PREFIX = "parquet.encryption."
OURS = "spark.datasource.pme-parquet."
SESSION = f"{OURS}kms.hadoop.uri"
HADOOPS = "hadoop.security.key.provider.path"
ELSEWHERE = "kms://https@kms.invalid:9600/kms"
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


def wrapped(directory: str) -> set[str]:
    return {material["wrappedKEK"] for material in materials(Path(directory))}


def test_a_table_is_written_and_read(spark: SparkSession, keys: pme.HadoopKms, frame: DataFrame, target: str) -> None:
    save(frame, target, pme.Encryption(kms=keys, footer_key=FOOTER, column_keys=COLUMNS).options())
    assert_encrypted_footers(target)
    assert_no_canaries(target, ["ssn-7", "salary"])
    assert rows(read(spark, target, keys.options())) == rows(frame)


@pytest.mark.parametrize("bits", [128, 192, 256])
@pytest.mark.parametrize("key", [FOOTER, LONG])
def test_keys_of_every_length_come_back(
    spark: SparkSession, keys: pme.HadoopKms, frame: DataFrame, target: str, key: str, bits: Any
) -> None:
    save(frame, target, under(keys, key) | {"kekBits": str(bits)})
    assert rows(read(spark, target, keys.options())) == rows(frame)


def test_the_server_opens_one_key_for_each_key_that_is_wrapped_or_unwrapped(
    spark: SparkSession, hadoop_kms: HadoopKms, keys: pme.HadoopKms, frame: DataFrame, target: str
) -> None:
    before = hadoop_kms.opened()
    options = pme.Encryption(kms=keys, footer_key=FOOTER, column_keys=COLUMNS).options()
    save(frame.repartition(3), target, options)
    assert hadoop_kms.opened() - before == len(KEYS)
    assert rows(read(spark, target, keys.options())) == rows(frame)
    assert hadoop_kms.opened() - before == 2 * len(KEYS)


def test_a_rolled_key_still_reads_old_files_and_wraps_new_ones_with_its_new_version(
    spark: SparkSession, hadoop_kms: HadoopKms, keys: pme.HadoopKms, frame: DataFrame, tmp_path: Path
) -> None:
    hadoop_kms.create("turning")
    paths = [str(tmp_path / name) for name in ("old", "new")]
    for path in paths:
        save(frame, path, under(keys, "turning"))
        hadoop_kms.roll("turning")
    assert [{text.split(":")[1] for text in wrapped(path)} for path in paths] == [{"0"}, {"1"}]
    assert [rows(read(spark, path, keys.options())) for path in paths] == [rows(frame)] * 2


def test_a_write_under_a_key_of_others_is_denied(keys: pme.HadoopKms, frame: DataFrame, target: str) -> None:
    with untouched(target), refused("PME_KEY_DENIED", f"'{RESTRICTED}'", "Hadoop KMS"):
        save(frame, target, under(keys, RESTRICTED))


def test_a_reader_reads_the_columns_whose_keys_the_server_lets_it_use(
    spark: SparkSession,
    hadoop_kms: HadoopKms,
    keys: pme.HadoopKms,
    hadoop_folder: Path,
    frame: DataFrame,
    target: str,
    tmp_path: Path,
) -> None:
    save(frame, target, pme.Encryption(kms=keys, footer_key=FOOTER, column_keys=COLUMNS).options())
    copy_keys(hadoop_folder, tmp_path / "strict")
    with running(tmp_path / "strict", {PII: "nobody-here"}) as strict:
        few = read(spark, target, pme.HadoopKms(strict.uri).options())
        assert rows(few.select("id", "salary")) == rows(frame.select("id", "salary"))
        with refused("PME_KEY_DENIED", f"'{PII}'", "ssn"):
            few.select("ssn").collect()


def test_a_key_that_the_server_does_not_have_is_not_found(keys: pme.HadoopKms, frame: DataFrame, target: str) -> None:
    with untouched(target), refused("PME_KEY_NOT_FOUND", "'../keys'"):
        save(frame, target, pme.Encryption(kms=keys, footer_key="../keys").options())


def test_what_a_deleted_key_wrapped_does_not_open(
    spark: SparkSession, hadoop_kms: HadoopKms, keys: pme.HadoopKms, frame: DataFrame, target: str
) -> None:
    hadoop_kms.create("leaving")
    save(frame, target, under(keys, "leaving"))
    hadoop_kms.delete("leaving")
    with refused("PME_KEY_NOT_FOUND", "'leaving'"):
        read(spark, target, keys.options()).collect()


def test_an_altered_wrapped_key_does_not_open(
    spark: SparkSession, keys: pme.HadoopKms, frame: DataFrame, target: str
) -> None:
    save(frame, target, under(keys, FOOTER))
    [text] = wrapped(target)
    bend_material(target, {"wrappedKEK": text.rpartition(":")[0]})
    with refused("PME_KEY_METADATA"):
        read(spark, target, keys.options()).collect()
    bend_material(target, {"wrappedKEK": text, "masterKeyID": PII})
    with refused("PME_NOT_AUTHENTIC", f"'{PII}'"):
        read(spark, target, keys.options()).collect()


def test_a_server_that_is_down_is_unavailable(frame: DataFrame, target: str) -> None:
    down = pme.HadoopKms(f"kms://http@127.0.0.1:{free_port()}/kms")
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "Hadoop KMS"):
        save(frame, target, under(down, FOOTER))


def test_an_address_of_no_use_is_refused(frame: DataFrame, target: str, conf: Conf) -> None:
    unencrypted = {SESSION: "kms://http@kms.example:9600/kms"}
    with conf(unencrypted), untouched(target), refused("PME_BAD_OPTION", "kms.hadoop.uri", "unencrypted"):
        save(frame, target, under(pme.HadoopKms(), FOOTER))


@pytest.mark.parametrize("name", ["kms.hadoop.uri", f"{PREFIX}kms.hadoop.uri", HADOOPS])
@pytest.mark.parametrize("uri", [ELSEWHERE, "kms://https@127.0.0.1:9600/kms", "kms:evil"])
def test_a_table_s_options_do_not_send_a_user_s_login_elsewhere(
    spark: SparkSession, target: str, conf: Conf, name: str, uri: str
) -> None:
    assert_not_of_a_table(spark, conf, target, {"kms": "hadoop", name: uri}, name)


def test_an_address_that_the_session_names_may_be_repeated_by_a_table(
    spark: SparkSession, target: str, conf: Conf
) -> None:
    # Nothing listens there, and that is found out by calling it.
    said = {"kms": "hadoop", "kms.hadoop.uri": ELSEWHERE, "footerKey": FOOTER}
    of_session = {f"{OURS}kms": "hadoop", f"{OURS}kms.timeoutSeconds": "1"}
    with stored_table(spark, target, said) as table, conf(of_session):
        for uri, condition in ((ELSEWHERE, "PME_KMS_UNAVAILABLE"), (f"{ELSEWHERE}/other", "PME_BAD_OPTION")):
            with conf({SESSION: uri}), refused(condition):
                spark.sql(f"INSERT INTO {table} VALUES (1)")


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


def test_the_session_can_hold_the_settings(
    spark: SparkSession, keys: pme.HadoopKms, frame: DataFrame, target: str, conf: Conf
) -> None:
    with conf({f"spark.datasource.pme-parquet.{name}": value for name, value in keys.options().items()}):
        save(frame, target, {"footerKey": FOOTER})
        assert rows(spark.read.format("pme-parquet").load(target)) == rows(frame)


def test_executors_can_call_the_server_themselves(
    spark: SparkSession, keys: pme.HadoopKms, frame: DataFrame, target: str
) -> None:
    here = {"kms.callFrom": "executor"}
    save(frame, target, under(keys, FOOTER) | here)
    assert rows(read(spark, target, keys.options() | here)) == rows(frame)


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


def test_keys_that_cannot_leave_the_server_are_no_data_keys(keys: pme.HadoopKms, frame: DataFrame, target: str) -> None:
    direct = pme.Encryption(kms=keys, footer_key=FOOTER, key_management="direct")
    with untouched(target), refused("PME_BAD_OPTION", "keyManagement=envelope"):
        save(frame, target, direct.options())
