"""``kms=hadoop`` against a real Hadoop KMS 3.4.2, which each key's access is asked of."""

from __future__ import annotations

import base64
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

import pme_parquet as pme
from tests.kms.hadoop_server import HadoopKms, copy_keys, free_port, running
from tests.support.canary import assert_encrypted_footers, assert_no_canaries
from tests.support.errors import DONE, outcome
from tests.support.expect import refused, save, untouched
from tests.support.files.key_material import materials
from tests.support.kms.access import COLUMNS, FOOTER, KEYS, PII, read, rows
from tests.support.kms.bend import bend_material
from tests.support.stored import assert_not_of_a_table, stored_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

RESTRICTED = "restricted"
LONG = "long"
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
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the server that lets this user use all keys but one."""
    return tmp_path_factory.mktemp("hadoop-kms")


@pytest.fixture(scope="module")
def kms(folder: Path) -> Iterator[HadoopKms]:
    with running(folder, {RESTRICTED: "nobody-here"}) as server:
        server.create(*KEYS, RESTRICTED)
        server.create(LONG, bits=256)
        yield server


@pytest.fixture(scope="module")
def keys(kms: HadoopKms) -> pme.HadoopKms:
    return pme.HadoopKms(kms.uri)


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
    spark: SparkSession, kms: HadoopKms, keys: pme.HadoopKms, frame: DataFrame, target: str
) -> None:
    before = kms.opened()
    options = pme.Encryption(kms=keys, footer_key=FOOTER, column_keys=COLUMNS).options()
    save(frame.repartition(3), target, options)
    assert kms.opened() - before == len(KEYS)
    assert rows(read(spark, target, keys.options())) == rows(frame)
    assert kms.opened() - before == 2 * len(KEYS)


def test_a_rolled_key_still_reads_old_files_and_wraps_new_ones_with_its_new_version(
    spark: SparkSession, kms: HadoopKms, keys: pme.HadoopKms, frame: DataFrame, tmp_path: Path
) -> None:
    kms.create("turning")
    paths = [str(tmp_path / name) for name in ("old", "new")]
    for path in paths:
        save(frame, path, under(keys, "turning"))
        kms.roll("turning")
    assert [{text.split(":")[1] for text in wrapped(path)} for path in paths] == [{"0"}, {"1"}]
    assert [rows(read(spark, path, keys.options())) for path in paths] == [rows(frame)] * 2


def test_a_write_under_a_key_of_others_is_denied(keys: pme.HadoopKms, frame: DataFrame, target: str) -> None:
    with untouched(target), refused("PME_KEY_DENIED", f"'{RESTRICTED}'", "Hadoop KMS"):
        save(frame, target, under(keys, RESTRICTED))


def test_a_reader_reads_the_columns_whose_keys_the_server_lets_it_use(
    spark: SparkSession,
    kms: HadoopKms,
    keys: pme.HadoopKms,
    folder: Path,
    frame: DataFrame,
    target: str,
    tmp_path: Path,
) -> None:
    save(frame, target, pme.Encryption(kms=keys, footer_key=FOOTER, column_keys=COLUMNS).options())
    copy_keys(folder, tmp_path / "strict")
    with running(tmp_path / "strict", {PII: "nobody-here"}) as strict:
        few = read(spark, target, pme.HadoopKms(strict.uri).options())
        assert rows(few.select("id", "salary")) == rows(frame.select("id", "salary"))
        with refused("PME_KEY_DENIED", f"'{PII}'", "ssn"):
            few.select("ssn").collect()


@pytest.mark.parametrize("name", ["none", "../keys", "a/b", "a?b", "fóoter", ".."])
def test_a_key_that_the_server_does_not_have_is_not_found(
    keys: pme.HadoopKms, frame: DataFrame, target: str, name: str
) -> None:
    with untouched(target), refused("PME_KEY_NOT_FOUND", f"'{name}'"):
        save(frame, target, pme.Encryption(kms=keys, footer_key=name).options())


def test_what_a_deleted_key_wrapped_does_not_open(
    spark: SparkSession, kms: HadoopKms, keys: pme.HadoopKms, frame: DataFrame, target: str
) -> None:
    kms.create("leaving")
    save(frame, target, under(keys, "leaving"))
    kms.delete("leaving")
    with refused("PME_KEY_NOT_FOUND", "'leaving'"):
        read(spark, target, keys.options()).collect()


def flipped(part: int, text: str) -> str:
    """Return the wrapped key with a bit of one of its parts turned over."""
    parts = text.split(":")
    content = bytearray(base64.b64decode(parts[part]))
    content[-1] ^= 1
    parts[part] = base64.b64encode(content).decode()
    return ":".join(parts)


ALTERED: dict[str, tuple[Callable[[str], str], str]] = {
    "the IV": (lambda text: flipped(2, text), "PME_NOT_AUTHENTIC"),
    "the encrypted key": (lambda text: flipped(3, text), "PME_NOT_AUTHENTIC"),
    "the wrapped key": (lambda text: flipped(4, text), "PME_NOT_AUTHENTIC"),
    "the version": (lambda text: text.replace(":0:", ":5:"), "PME_KEY_NOT_FOUND"),
    "a version that is none": (lambda text: text.replace(":0:", ":-1:"), "PME_KEY_METADATA"),
    "a number spelt otherwise": (lambda text: text.replace(":0:", ":00:"), "PME_KEY_METADATA"),
    "one part less": (lambda text: text.rpartition(":")[0], "PME_KEY_METADATA"),
    "one part more": (lambda text: f"{text}:AAAA", "PME_KEY_METADATA"),
    "a long text": (lambda text: text + "A" * 100_000, "PME_KEY_METADATA"),
    "no IV": (lambda text: "::".join((text[:8], text.split(":", 3)[3])), "PME_KEY_METADATA"),
    "a longer IV": (lambda text: text.replace(":0:", ":0:AAAA"), "PME_KEY_METADATA"),
    "nothing": (lambda _: "", "PME_KEY_METADATA"),
}


@pytest.mark.parametrize("altered", ALTERED)
def test_an_altered_wrapped_key_does_not_open(
    spark: SparkSession, keys: pme.HadoopKms, frame: DataFrame, target: str, altered: str
) -> None:
    change, condition = ALTERED[altered]
    save(frame, target, under(keys, FOOTER))
    [text] = wrapped(target)
    bend_material(target, {"wrappedKEK": change(text)})
    with refused(condition):
        read(spark, target, keys.options()).collect()


def test_a_key_wrapped_by_one_master_key_does_not_pass_for_anothers(
    spark: SparkSession, keys: pme.HadoopKms, frame: DataFrame, target: str
) -> None:
    save(frame, target, under(keys, FOOTER))
    bend_material(target, {"masterKeyID": PII})
    with refused("PME_NOT_AUTHENTIC", f"'{PII}'"):
        read(spark, target, keys.options()).collect()


def test_a_server_that_is_down_is_unavailable(frame: DataFrame, target: str) -> None:
    down = pme.HadoopKms(f"kms://http@127.0.0.1:{free_port()}/kms")
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "Hadoop KMS"):
        save(frame, target, under(down, FOOTER))


def test_a_server_that_does_not_answer_is_given_up_in_time(frame: DataFrame, target: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        keys = pme.HadoopKms(f"kms://http@127.0.0.1:{silent.getsockname()[1]}/kms")
        began = time.monotonic()
        with untouched(target), refused("PME_KMS_UNAVAILABLE", "Hadoop KMS"):
            save(frame, target, under(keys, FOOTER) | {"kms.timeoutSeconds": "1"})
        # Far below what Hadoop's own limits and further attempts come to.
        assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("kms://http@kms.example:9600/kms", "unencrypted"),
        ("kms://http@127.0.0.1;kms.example:9600/kms", "unencrypted"),
        ("jceks://file/tmp/keys.jceks", "kms://https@HOST:PORT/kms"),
        ("https://kms.example:9600/kms", "kms://https@HOST:PORT/kms"),
        ("not an address", "not a URL"),
    ],
)
def test_an_address_of_no_use_is_refused(frame: DataFrame, target: str, conf: Conf, uri: str, why: str) -> None:
    with conf({SESSION: uri}), untouched(target), refused("PME_BAD_OPTION", "kms.hadoop.uri", why):
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


@pytest.mark.parametrize("path", ["kms/../admin", "kms?user.name=root", "kms%2f..", "a//b"])
def test_an_address_that_leads_elsewhere_is_refused(frame: DataFrame, target: str, conf: Conf, path: str) -> None:
    with conf({SESSION: f"kms://https@kms.invalid:9600/{path}"}), refused("PME_BAD_OPTION", "kms.hadoop.uri"):
        save(frame, target, under(pme.HadoopKms(), FOOTER))


def test_without_an_address_hadoops_own_is_taken(
    spark: SparkSession, kms: HadoopKms, frame: DataFrame, target: str
) -> None:
    keys = pme.HadoopKms()
    with refused("PME_BAD_OPTION", "hadoop.security.key.provider.path"):
        save(frame, target, under(keys, FOOTER))
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("hadoop.security.key.provider.path", kms.uri)
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
    spark: SparkSession, kms: HadoopKms, keys: pme.HadoopKms, frame: DataFrame, tmp_path: Path
) -> None:
    settings = client(kms_hadoop_uri=kms.uri)
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
