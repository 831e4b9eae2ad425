"""Encrypted ORC under each KMS that only wraps: read, written, counted and refused, and master keys that it wraps.

Keystores, lists, Hadoop KMS, Vault, AWS and classes are in `test_orc.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms.access import COLUMNS, KEYS, PAY, PII
from tests.support import encrypted_orc as orc
from tests.support import needs
from tests.support.encrypted_orc import read, rows, save
from tests.support.expect import refused, untouched
from tests.support.kms.clients import Client
from tests.support.kms.counting import log

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.cloud_server import CloudServer

pytestmark = pytest.mark.nightly

COLUMN_KEYS = orc.text(COLUMNS)
FILES = 3


def write(frame: DataFrame, path: str, options: Mapping[str, str]) -> None:
    """Write some files, which have local keys of their own under one key of the KMS each."""
    save(frame.repartition(FILES), path, options, columnKeys=COLUMN_KEYS)
    assert len(orc.files(path)) == FILES
    orc.assert_no_canaries(path, ["ssn-7"])


def assert_read(spark: SparkSession, frame: DataFrame, path: str, options: Mapping[str, str]) -> None:
    found = read(spark, path, options)
    assert rows(found) == rows(frame)
    assert rows(found.where("ssn = 'ssn-7'")) == rows(frame.where("ssn = 'ssn-7'"))


def assert_refused(spark: SparkSession, frame: DataFrame, path: str, few: Mapping[str, str]) -> None:
    """Fail unless a reader without ``PII`` sees everything else, and no mask. It may require the keys of columns."""
    limited = read(spark, path, few)
    assert rows(limited.select("id", "salary")) == rows(frame.select("id", "salary"))
    with refused("PME_KEY_DENIED", f"'{PII}'", "ssn"):
        limited.collect()
    bound = read(spark, path, few, deniedColumns="null", columnKeys=COLUMN_KEYS)
    assert {row.ssn for row in bound.collect()} == {None}


def assert_wraps_master_keys(
    spark: SparkSession,
    frame: DataFrame,
    path: str,
    options: Mapping[str, str],
    few: Mapping[str, str] | None = None,
) -> None:
    """Fail unless a file of ORC's memory provider opens with the master key that the KMS has wrapped."""
    orc.know_keys(spark)
    orc.save_by_spark(frame, path, f"{orc.PII}:ssn,salary")
    wrapped = pme.wrap_orc_key(spark, options, master_key=orc.MASTERS[orc.PII, 0], key=orc.PII, kms_key=PII)
    masters = {"orcMasterKeys": wrapped}
    assert rows(read(spark, path, {**options, **masters})) == rows(frame)
    with refused("PME_KEY_DENIED", f"'{orc.PII}@0'"):
        read(spark, path, options).select("ssn").collect()
    if few is not None:
        with refused("PME_KEY_DENIED", f"'{PII}'"):
            read(spark, path, {**few, **masters}).select("ssn").collect()


def test_a_cloud_protects_local_keys_and_wraps_master_keys(
    spark: SparkSession, cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys, few = cloud.access(tmp_path, KEYS), cloud.access(tmp_path, (PAY,)).options()
    write(frame, target, keys.options())
    assert cloud.count(cloud.wrap) == len(COLUMNS)
    assert_read(spark, frame, target, keys.options())
    assert cloud.count(cloud.unwrap) == len(COLUMNS)
    assert_refused(spark, frame, target, few)
    other = str(tmp_path / "other")
    with untouched(other), refused("PME_KEY_DENIED", f"'{PII}'", never=cloud.secrets):
        save(frame, other, few, columnKeys=COLUMN_KEYS)
    assert_wraps_master_keys(spark, frame, str(tmp_path / "theirs"), keys.options(), few)


@needs.softhsm
def test_a_token_protects_local_keys_and_wraps_master_keys(
    spark: SparkSession, token: pme.Keystore, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    write(frame, target, token.options())
    assert_read(spark, frame, target, token.options())
    other = str(tmp_path / "other")
    with untouched(other), refused("PME_KEY_NOT_FOUND", "'absent'"):
        save(frame, other, token.options(), columnKeys="absent: ssn")
    assert_wraps_master_keys(spark, frame, str(tmp_path / "theirs"), token.options())


class Without(Client):
    """A client whose user may not use a key."""

    def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
        if master_key_id == PII:
            raise PermissionError(master_key_id)
        return super().unwrap_key(wrapped, master_key_id)


def test_a_client_in_python_protects_local_keys_and_wraps_master_keys(
    spark: SparkSession, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    writer, reader = Client(), Client()
    write(frame, target, pme.PythonKms(writer).options())
    assert (writer.count("wrap"), writer.count("unwrap")) == (dict.fromkeys(COLUMNS, 1), {})
    assert_read(spark, frame, target, pme.PythonKms(reader).options())
    assert reader.count("unwrap") == dict.fromkeys(COLUMNS, 1)
    few = pme.PythonKms(Without()).options()
    assert_refused(spark, frame, target, few)
    assert_wraps_master_keys(spark, frame, str(tmp_path / "theirs"), pme.PythonKms(Client()).options(), few)


@pytest.mark.usefixtures("counting_kms")
def test_a_class_wraps_master_keys(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    assert_wraps_master_keys(
        spark, frame, str(tmp_path / "theirs"), log(tmp_path).options(), log(tmp_path).options(deny=PII)
    )
