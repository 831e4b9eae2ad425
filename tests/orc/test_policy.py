"""What reads and writes of ORC refuse, and that what they refuse stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import encrypted_orc as orc
from tests.support.encrypted_orc import PAY, PII, read, rows, save, save_by_spark
from tests.support.expect import refused, untouched

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

COLUMNS = f"{PII}: ssn, address.lines; {PAY}: salary"

WRITES = {
    "no key": ({}, "PME_NO_KEY", "columnKeys"),
    "footer key": ({"columnKeys": COLUMNS, "footerKey": PII}, "PME_BAD_OPTION", "footerKey"),
    "uniform key": ({"uniformKey": PII}, "PME_BAD_OPTION", "uniformKey"),
    "no such column": ({"columnKeys": f"{PII}: nope"}, "PME_UNKNOWN_COLUMN", "'nope'"),
    "two keys": ({"columnKeys": f"{PII}: ssn; {PAY}: ssn"}, "PME_BAD_OPTION", "ssn"),
    "no such key": ({"columnKeys": "none: ssn"}, "PME_KEY_NOT_FOUND", "'none'"),
    "unlisted": ({"columnKeys": COLUMNS, "unlistedColumns": "error"}, "PME_UNKNOWN_COLUMN", "id"),
    "under a footer key": ({"columnKeys": COLUMNS, "unlistedColumns": "footerKey"}, "PME_BAD_OPTION", "footer"),
    "192 bits": ({"columnKeys": COLUMNS, "dataKeyBits": "192"}, "PME_BAD_OPTION", "128 and 256"),
    "longer than its key": ({"columnKeys": COLUMNS, "dataKeyBits": "256"}, "PME_BAD_OPTION", PII),
    "typo": ({"columnKeys": COLUMNS, "columKeys": "x"}, "PME_UNKNOWN_OPTION", "columnKeys"),
    # ORC's writer stores these filters without encryption.
    "Bloom filter": ({"columnKeys": COLUMNS, "orc.bloom.filter.columns": "id,ssn"}, "PME_BAD_OPTION", "ssn"),
    "ORC's own option": ({"columnKeys": COLUMNS, "orc.encrypt": f"{PAY}:ssn"}, "PME_BAD_OPTION", "columnKeys"),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_would_not_protect_as_asked_writes_nothing(
    owner: dict[str, str], people: DataFrame, target: str, tmp_path: Path, name: str
) -> None:
    options, condition, words = WRITES[name]
    with untouched(target), refused(condition, words):
        save(people, target, owner, **options)
    # An overwrite that cannot work must not have deleted what it was to replace.
    save(people, target, owner, columnKeys=COLUMNS)
    with untouched(target), refused(condition, words):
        people.write.format("pme-orc").options(**{**owner, **options}).mode("overwrite").save(target)


def test_spark_s_own_format_with_our_provider_refuses_keys_without_columns(
    conf: Conf, owner: dict[str, str], people: DataFrame, target: str
) -> None:
    provider = {"orc.key.provider": "pme"}
    session = {f"spark.datasource.pme-parquet.{name}": value for name, value in owner.items()}
    for encrypt, condition in (
        (f"{PII}:", "PME_BAD_OPTION"),
        (f"{PII}:nope", "PME_BAD_OPTION"),
        ("x:ssn", "PME_KEY_NOT_FOUND"),
    ):
        with conf(session), untouched(target), refused(condition):
            people.write.format("orc").options(**provider, **{"orc.encrypt": encrypt}).save(target)


def test_protected_bytes_are_in_no_file_and_the_rest_is(owner: dict[str, str], people: DataFrame, target: str) -> None:
    save(people, target, owner, columnKeys=f"{PII}: ssn, address", compression="none")
    orc.assert_no_canaries(target, ["ssn-7", "l77"])
    content = b"".join(file.read_bytes() for file in orc.files(target))
    assert b"salary" in content


def test_column_keys_of_a_read_bind_columns(
    spark: SparkSession, owner: dict[str, str], people: DataFrame, target: str
) -> None:
    save_by_spark(people, target, f"{PII}:ssn,address.lines;{PAY}:salary")
    assert rows(read(spark, target, owner, columnKeys=COLUMNS)) == rows(people)
    others = {
        f"{PAY}: ssn, salary; {PII}: address.lines": ("PME_KEY_METADATA", "ssn"),
        f"{PII}@1: ssn, address.lines; {PAY}: salary": ("PME_KEY_METADATA", f"'{PII}@0'"),
        f"{COLUMNS}, id": ("PME_PLAINTEXT_FILE", "id"),
        f"{PII}: ssn; {PAY}: salary": ("PME_KEY_METADATA", "lines"),
    }
    for keys, (condition, words) in others.items():
        # Of every column, and not of those that are selected.
        with refused(condition, words):
            read(spark, target, owner, columnKeys=keys).select("id").collect()
    with refused("PME_PLAINTEXT_FILE", "id"):
        read(spark, target, owner, columnKeys=COLUMNS, unlistedColumns="error").select("ssn").collect()


def test_plaintext_files_are_refused_unless_a_read_allows_them(
    spark: SparkSession, owner: dict[str, str], people: DataFrame, target: str
) -> None:
    save(people, target, owner, columnKeys=COLUMNS)
    people.write.format("orc").mode("append").save(target)
    with refused("PME_PLAINTEXT_FILE", "plaintextFiles=allow"):
        read(spark, target, owner).collect()
    assert rows(read(spark, target, owner, plaintextFiles="allow")) == sorted(rows(people) * 2)
    # They are no files in which some columns lack their encryption.
    both = read(spark, target, owner, plaintextFiles="allow", columnKeys=COLUMNS)
    assert both.count() == 2 * people.count()


READS = {
    "typo": ({"deniedColumn": "null"}, "PME_UNKNOWN_OPTION", "deniedColumns"),
    "unknown of kms": ({"kms.vault.adress": "x"}, "PME_UNKNOWN_OPTION", "kms.vault"),
    "footer key": ({"footerKey": PII}, "PME_BAD_OPTION", "footerKey"),
    "aad": ({"aadPrefix": "x"}, "PME_BAD_OPTION", "aadPrefix"),
    "masks and null": ({"orcMasks": "allow", "deniedColumns": "null"}, "PME_BAD_OPTION", "orcMasks"),
    "no such choice": ({"orcMasks": "yes"}, "PME_BAD_OPTION", "orcMasks"),
    "master keys": ({"orcMasterKeys": "{}"}, "PME_BAD_OPTION", "orcMasterKeys"),
    "snapshot": ({"snapshot": "require"}, "PME_SNAPSHOT_MISMATCH", "snapshot"),
}


@pytest.mark.parametrize("name", READS)
def test_a_read_with_options_that_it_cannot_keep_is_refused(
    spark: SparkSession, owner: dict[str, str], people: DataFrame, target: str, name: str
) -> None:
    options, condition, words = READS[name]
    save(people, target, owner, columnKeys=COLUMNS)
    with refused(condition, words):
        read(spark, target, owner, **options).collect()
