"""ORC's master keys in each KMS: how often it is asked, what opens, and ORC's own Hadoop provider as the other side."""

from __future__ import annotations

import base64
import json
import shutil
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

import pme_parquet as pme
from tests.kms import aws as of_aws
from tests.kms.access import COLUMNS, KEYS, PAY, PII, by_token
from tests.kms.material import bend_material
from tests.support import encrypted_orc as orc
from tests.support import needs
from tests.support.encrypted_orc import read, rows, save
from tests.support.expect import refused, untouched
from tests.support.interop.arrow_files import LocalKms
from tests.support.kms.counting import log
from tests.support.kms.hadoop_server import LONG, RESTRICTED, HadoopKms, copy_keys, running
from tests.support.session import created

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.access import Transit
    from tests.kms.aws_server import AwsServer
    from tests.kms.transit_key import TransitKey

FILES = 200 if needs.ALL else 20
COLUMN_KEYS = orc.text(COLUMNS)
ENCRYPT = orc.encrypt(COLUMNS)


def assert_protected(path: str) -> None:
    assert orc.files(path)
    orc.assert_no_canaries(path, ["ssn-7"])


def wrapped(name: str, key: bytes, kms_key: str) -> str:
    """Return a master key as ``orcMasterKeys`` has it, wrapped by the KMS that counts."""
    text = LocalKms().wrap_key(key, kms_key)
    return json.dumps({"type": "ORCMK1", "key": name, "kmsKey": kms_key, "wrapped": text})


def many_files(frame: DataFrame, directory: Path, options: dict[str, str]) -> str:
    """Return a table of many files: links to a few, since Spark and the KMS cannot tell."""
    few, many = directory / "few", directory / "many"
    save(frame.repartition(4), str(few), options)
    many.mkdir()
    for file in orc.files(few):
        for number in range(FILES // 4):
            shutil.copy(file, many / f"part-{number:03d}-{file.name}")
    assert len(orc.files(many)) == FILES
    return str(many)


@pytest.mark.nightly
@pytest.mark.usefixtures("counting_kms")
def test_wrapped_master_keys_are_unwrapped_once_each_whatever_the_number_of_files(
    spark: SparkSession, frame: DataFrame, tmp_path: Path
) -> None:
    orc.know_keys(spark)
    texts = [wrapped(orc.PII, orc.MASTERS[orc.PII, 0], "w-pii"), wrapped(orc.PAY, orc.MASTERS[orc.PAY, 0], "w-pay")]
    masters = {"orcMasterKeys": "\n".join(texts)}
    writer, reader = log(tmp_path), log(tmp_path)
    keys = {"columnKeys": f"{orc.PII}: ssn; {orc.PAY}: salary"}
    path = many_files(frame, tmp_path, writer.options() | masters | keys)
    assert writer.count("unwrap") == {"w-pii": 1, "w-pay": 1}
    assert writer.count("wrap") == {}
    ours = read(spark, path, reader.options() | masters)
    assert ours.select("id").distinct().count() == frame.count()
    assert reader.calls() == []
    assert rows(ours.distinct()) == rows(frame)
    assert ours.where("ssn = 'ssn-7'").count() == FILES // 4
    assert reader.count("unwrap") == {"w-pii": 1, "w-pay": 1}
    # These are files of ORC's memory provider.
    assert rows(orc.read_by_spark(spark, path).distinct()) == rows(frame)
    one = log(tmp_path)
    assert (
        read(spark, path, one.options() | {"orcMasterKeys": texts[0]}).where("ssn = 'ssn-7'").select("id").count() > 0
    )
    assert one.count("unwrap") == {"w-pii": 1}
    with refused("PME_KEY_DENIED", f"'{orc.PAY}@0'", "salary", "orcMasterKeys"):
        read(spark, path, one.options() | {"orcMasterKeys": texts[0]}).select("salary").collect()


@pytest.mark.usefixtures("counting_kms")
def test_a_kms_that_only_wraps_is_asked_once_for_each_key_of_a_write(
    spark: SparkSession, frame: DataFrame, tmp_path: Path
) -> None:
    writer, reader = log(tmp_path), log(tmp_path)
    path = many_files(frame, tmp_path, writer.options() | {"columnKeys": COLUMN_KEYS})
    assert writer.count("wrap") == {PII: 1, PAY: 1}
    assert writer.count("unwrap") == {}
    assert rows(read(spark, path, reader.options()).distinct()) == rows(frame)
    assert reader.count("unwrap") == {PII: 1, PAY: 1}
    assert_protected(path)
    # Executors can call the KMS themselves.
    here, itself = log(tmp_path).options() | {"kms.callFrom": "executor"}, str(tmp_path / "itself")
    save(frame, itself, here | {"columnKeys": COLUMN_KEYS})
    assert rows(read(spark, itself, here)) == rows(frame)


@pytest.mark.usefixtures("counting_kms")
def test_two_frames_of_one_session_see_the_keys_of_their_own_settings(
    spark: SparkSession, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    save(frame, target, log(tmp_path).options() | {"columnKeys": COLUMN_KEYS})
    one = read(spark, target, log(tmp_path).options())
    few = read(spark, target, log(tmp_path).options(deny=PII))
    masked = read(spark, target, log(tmp_path).options(deny=PII) | {"deniedColumns": "null"})
    for _ in range(2):
        assert rows(one) == rows(frame)
        with refused("PME_KEY_DENIED", "ssn"):
            few.collect()
        assert {row.ssn for row in masked.collect()} == {None}
        assert rows(few.select("id", "salary")) == rows(frame.select("id", "salary"))
    joined = one.alias("a").join(masked.alias("b"), "id").selectExpr("a.ssn AS mine", "b.ssn AS theirs").collect()
    assert {(row.mine is None, row.theirs is None) for row in joined} == {(False, True)}
    # A KMS that is down is no refusal.
    (tmp_path / "down").touch()
    for more in ({"deniedColumns": "null"}, {"deniedColumns": "drop"}, {"orcMasks": "allow"}):
        with refused("PME_KMS_UNAVAILABLE"):
            read(spark, target, log(tmp_path).options(down=tmp_path / "down") | more).collect()
    with untouched(str(tmp_path / "new")), refused("PME_KMS_UNAVAILABLE"):
        down = log(tmp_path).options(down=tmp_path / "down")
        save(frame, str(tmp_path / "new"), down | {"columnKeys": COLUMN_KEYS})


def test_vault_protects_local_keys_and_wraps_master_keys(
    spark: SparkSession,
    server: Transit,
    held: dict[str, TransitKey],
    frame: DataFrame,
    target: str,
    tmp_path: Path,
) -> None:
    orc.know_keys(spark)
    keys = by_token(server, tmp_path).options()
    save(frame, target, keys | {"columnKeys": COLUMN_KEYS})
    assert rows(read(spark, target, keys)) == rows(frame)
    assert_protected(target)
    few = by_token(server, tmp_path, [PAY]).options()
    with refused("PME_KEY_DENIED", "ssn"):
        read(spark, target, few).collect()
    assert {row.ssn for row in read(spark, target, few, deniedColumns="null").collect()} == {None}
    # As a Hive table's property has it: what Vault made of the master key, and nothing else.
    theirs = str(tmp_path / "theirs")
    orc.save_by_spark(frame, theirs, f"{orc.PII}:ssn,salary")
    text = held[PII].encrypt(base64.b64encode(orc.MASTERS[orc.PII, 0]).decode())
    masters = {"orcMasterKeys": text, "orcWrappingKey": PII}
    assert rows(read(spark, theirs, keys | masters)) == rows(frame)
    with refused("PME_KEY_DENIED", f"'{PII}'"):
        read(spark, theirs, few | masters).select("ssn").collect()
    with refused("PME_KEY_DENIED", "orcMasterKeys"):
        read(spark, theirs, keys).select("ssn").collect()
    with refused("PME_BAD_OPTION", "orcWrappingKey"):
        read(spark, theirs, keys | {"orcMasterKeys": text}).collect()


@pytest.mark.nightly
def test_aws_protects_local_keys(spark: SparkSession, aws: AwsServer, frame: DataFrame, target: str) -> None:
    keys = of_aws.access(aws).options()
    columns = json.dumps(of_aws.COLUMN_KEYS)
    with of_aws.properties(spark, of_aws.CREDENTIALS):
        save(frame, target, keys | {"columnKeys": columns})
        assert rows(read(spark, target, keys)) == rows(frame)
        assert rows(read(spark, target, keys | {"columnKeys": columns})) == rows(frame)
    assert_protected(target)


def test_a_keystore_opens_files_of_the_memory_provider(
    spark: SparkSession, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    given = pme.Keystore(str(tmp_path / "keys.p12"), password=pme.env("PME_TEST_PASSWORD"))
    store = created(given, [PII, PAY, "turn@3"])
    columns = {PII: ["ssn"], "turn@3": ["salary"]}
    save(frame, target, store.options() | {"columnKeys": orc.text(columns)})
    assert rows(read(spark, target, store.options())) == rows(frame)
    assert_protected(target)
    [file] = orc.files(target)
    assert len(keys_of(spark, file)) == len(columns)
    assert ("turn", 3) in keys_of(spark, file)


def keys_of(spark: SparkSession, file: Path) -> set[tuple[str, int]]:
    """Return name and version of each key that a file names, as ORC reads it."""
    return {
        (str(key.getKeyName()), int(key.getKeyVersion())) for key in orc.reader(spark, file).getColumnEncryptionKeys()
    }


class ByHadoop:
    """Spark's own ``orc`` with ORC's provider for Hadoop KMS."""

    def __init__(self, spark: SparkSession, server: HadoopKms) -> None:
        self._spark = spark
        orc.forget_hadoops_keys(spark)
        self.options = {"orc.key.provider": "hadoop", "hadoop.security.key.provider.path": server.uri}

    def save(self, frame: DataFrame, path: str, encrypt: str) -> None:
        frame.write.format("orc").options(**self.options, **{"orc.encrypt": encrypt}).save(path)

    def read(self, path: str) -> DataFrame:
        return self._spark.read.format("orc").options(**self.options).load(path)


def test_files_of_orcs_hadoop_provider_open_here_and_ours_there(
    spark: SparkSession, hadoop_kms: HadoopKms, frame: DataFrame, tmp_path: Path
) -> None:
    turning = f"turning_{uuid4().hex[:6]}"
    hadoop_kms.create(turning)
    hadoop_kms.roll(turning)
    keys, by_hadoop = pme.HadoopKms(hadoop_kms.uri).options(), ByHadoop(spark, hadoop_kms)
    theirs, ours = str(tmp_path / "theirs"), str(tmp_path / "ours")
    columns = {LONG: ["ssn"], turning: ["salary"]}
    by_hadoop.save(frame, theirs, orc.encrypt(columns))
    assert keys_of(spark, orc.files(theirs)[0]) == {(LONG, 0), (turning, 1)}
    before = hadoop_kms.opened()
    assert rows(read(spark, theirs, keys)) == rows(frame)
    # One local key for each column of the one file.
    assert hadoop_kms.opened() - before == len(columns)
    for bits in ("128", "256"):
        path = f"{ours}-{bits}"
        save(frame, path, keys | {"columnKeys": orc.text(columns), "dataKeyBits": bits})
        assert keys_of(spark, orc.files(path)[0]) == {(LONG, 0), (turning, 1)}
        assert rows(by_hadoop.read(path)) == rows(read(spark, path, keys)) == rows(frame)
        assert_protected(path)
    # A file under the version before stays readable.
    hadoop_kms.roll(turning)
    save(frame, f"{ours}-rolled", keys | {"columnKeys": f"{turning}: ssn"})
    assert keys_of(spark, orc.files(f"{ours}-rolled")[0]) == {(turning, 2)}
    for path in (theirs, f"{ours}-128", f"{ours}-rolled"):
        assert rows(read(spark, path, keys)) == rows(frame)


def test_hadoop_kms_refuses_the_keys_of_others(
    spark: SparkSession, hadoop_kms: HadoopKms, hadoop_folder: Path, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = pme.HadoopKms(hadoop_kms.uri).options()
    save(frame, target, keys | {"columnKeys": COLUMN_KEYS})
    copy_keys(hadoop_folder, tmp_path / "strict")
    with running(tmp_path / "strict", {PII: "nobody-here"}) as strict:
        few = pme.HadoopKms(strict.uri).options()
        assert rows(read(spark, target, few).select("id", "salary")) == rows(frame.select("id", "salary"))
        with refused("PME_KEY_DENIED", f"'{PII}'", "ssn"):
            read(spark, target, few).select("ssn").collect()
        assert {row.ssn for row in read(spark, target, few, deniedColumns="null").collect()} == {None}
    for key, condition in ((RESTRICTED, "PME_KEY_DENIED"), ("absent", "PME_KEY_NOT_FOUND")):
        with untouched(str(tmp_path / key)), refused(condition, f"'{key}'"):
            save(frame, str(tmp_path / key), keys | {"columnKeys": f"{key}: ssn"})


def test_a_local_key_is_no_wrapped_key_of_a_parquet_file(
    spark: SparkSession, hadoop_kms: HadoopKms, frame: DataFrame, target: str
) -> None:
    # Whoever has read an ORC file knows a local key, and could forge a file under it.
    keys = pme.HadoopKms(hadoop_kms.uri)
    options = pme.Encryption(kms=keys, uniform_key=KEYS[0], key_material="external").options()
    frame.write.format("pme-parquet").options(**options).save(target)
    bend_material(target, {"wrappedKEK": "hadoop-orc:0:AAAAAAAAAAAAAAAAAAAAAA=="})
    with refused("PME_KEY_METADATA"):
        spark.read.format("pme-parquet").options(**keys.options()).load(target).collect()
