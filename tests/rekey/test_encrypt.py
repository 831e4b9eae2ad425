"""A plaintext table is copied to an encrypted one and back, and nothing is lost or changed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.rekey.copies import left
from tests.rekey.same import ENC, MODES, assert_same
from tests.support.canary import data_files, find_canaries
from tests.support.expect import refused, snapshot
from tests.support.frames import people
from tests.support.session import TEST_KMS
from tests.support.source import rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MINUTE = 60


def read(spark: SparkSession, path: Path | str, **options: str) -> DataFrame:
    return spark.read.format("pme-parquet").options(kms=TEST_KMS, **options).load(str(path))


def names(path: Path | str) -> list[str]:
    return [str(file.relative_to(path)) for file in data_files(path)]


@pytest.mark.parametrize("mode", MODES)
def test_encrypting_and_decrypting_restores_the_table(
    spark: SparkSession, plain: Path, tmp_path: Path, mode: str
) -> None:
    encrypted, back = tmp_path / "encrypted", tmp_path / "back"
    done = pme.encrypt(spark, str(plain), str(encrypted), MODES[mode])
    ctr = {"algorithm": "AES_GCM_CTR_V1"}
    assert rows(read(spark, encrypted, **ctr)) == rows(spark.read.parquet(str(plain)))
    again = pme.decrypt(spark, str(encrypted), str(back), TEST_KMS, write_plaintext=True, options=ctr)
    assert (again.files, again.rows, again.pages) == (done.files, done.rows, done.pages)
    assert names(plain) == names(encrypted) == names(back)
    assert rows(spark.read.parquet(str(back))) == rows(spark.read.parquet(str(plain)))
    for before, after in zip(data_files(plain), data_files(back), strict=True):
        assert_same(before, after)


def test_no_encrypted_value_is_readable_in_the_copy(spark: SparkSession, plain: Path, target: str) -> None:
    assert find_canaries(plain, ["name-", "ssn-"])
    pme.encrypt(spark, str(plain), target, ENC)
    assert find_canaries(target, ["name-", "ssn-", "street-"]) == []


def test_the_plaintext_table_is_left_as_it_is(spark: SparkSession, plain: Path, target: str) -> None:
    before = snapshot(plain)
    pme.encrypt(spark, str(plain), target, ENC)
    assert snapshot(plain) == before


@pytest.mark.parametrize("log", ["_delta_log/0.json", ".hoodie/hoodie.properties", "metadata/v1.metadata.json"])
def test_a_table_that_another_tool_manages_is_not_copied(
    spark: SparkSession, plain: Path, target: str, log: str
) -> None:
    (plain / log).parent.mkdir()
    (plain / log).touch()
    for source in (plain, data_files(plain)[0].parent, data_files(plain)[0]):
        with refused("PME_UNSUPPORTED", log.partition("/")[0], "the tools of its table format"):
            pme.encrypt(spark, str(source), target, ENC)
    assert not Path(target).exists()


@pytest.mark.parametrize("partitions", [[], ["country"]])
def test_the_copy_of_a_streaming_sink_has_the_files_that_its_log_lists(
    spark: SparkSession, plain: Path, tmp_path: Path, target: str, partitions: list[str]
) -> None:
    sink = tmp_path / "sink"
    stream = spark.readStream.schema(spark.read.parquet(str(plain)).schema).parquet(str(plain)).writeStream
    writer = stream.format("parquet").partitionBy(*partitions).option("checkpointLocation", str(tmp_path / "log"))
    assert writer.trigger(availableNow=True).start(str(sink)).awaitTermination(MINUTE)
    expected = rows(spark.read.parquet(str(sink)))
    # The rest of a failed batch is not part of the table.
    listed = data_files(sink)
    shutil.copy(listed[0], listed[0].with_name("orphan.parquet"))
    done = pme.encrypt(spark, str(sink), target, ENC)
    assert (done.files, done.rows) == (len(listed), len(expected))
    assert rows(read(spark, target)) == expected
    assert "orphan.parquet" not in {file.name for file in data_files(Path(target))}


def test_files_that_are_already_encrypted_are_encrypted_again(
    spark: SparkSession, plain: Path, tmp_path: Path, target: str
) -> None:
    old = pme.Encryption(kms=TEST_KMS, uniform_key="other")
    people(spark, 20).write.format("pme-parquet").options(**old.options()).mode("append").partitionBy("country").save(
        str(plain)
    )
    expected = rows(spark.read.format("pme-parquet").options(kms=TEST_KMS, plaintextFiles="allow").load(str(plain)))
    # Whatever the options say about plaintext: plaintext is what this copies.
    pme.encrypt(spark, str(plain), target, ENC, options={"plaintextfiles": "error"})
    assert rows(read(spark, target)) == expected
    used = pme.key_usage(spark, target, options={"kms": TEST_KMS}).collect()
    assert {row.master_key for row in used} == {"footer", "pii"}


def test_nothing_is_decrypted_by_accident(spark: SparkSession, plain: Path, tmp_path: Path) -> None:
    encrypted, target = tmp_path / "encrypted", tmp_path / "target"
    pme.encrypt(spark, str(plain), str(encrypted), ENC)
    with refused("PME_BAD_OPTION", "write_plaintext=True"):
        pme.decrypt(spark, str(encrypted), str(target), TEST_KMS)
    assert left(tmp_path) == ["encrypted", "plain"]


def test_a_table_is_not_decrypted_without_its_keys(
    spark: SparkSession, plain: Path, tmp_path: Path, keys: pme.Keystore
) -> None:
    encrypted, target = tmp_path / "encrypted", tmp_path / "target"
    pme.encrypt(spark, str(plain), str(encrypted), pme.Encryption(kms=TEST_KMS, uniform_key="of-another-kms"))
    with refused("PME_KEY_NOT_FOUND", "'of-another-kms'"):
        pme.decrypt(spark, str(encrypted), str(target), keys, write_plaintext=True)
    assert left(tmp_path) == ["encrypted", "plain"]


@pytest.mark.rows(1)
@pytest.mark.parametrize("what", ["encrypt", "decrypt"])
def test_over_spark_connect_copies_say_why_they_cannot_run(what: str) -> None:
    arguments = (ENC,) if what == "encrypt" else (TEST_KMS,)
    with refused("PME_UNSUPPORTED", f"pme.{what}", "Spark Connect", "classic session"):
        getattr(pme, what)(object(), "source", "target", *arguments)
