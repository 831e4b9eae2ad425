"""Keys that are missing, forbidden, unreachable or wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.expect import refused, untouched
from tests.support.session import ALIASES, PASSWORD_VARIABLE, TEST_KMS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.policy.conftest import Table

PASSWORD = pme.env(PASSWORD_VARIABLE)


def save(frame: DataFrame, target: str, encryption: pme.Encryption) -> None:
    frame.write.format("pme-parquet").options(**encryption.options()).save(target)


@pytest.mark.parametrize(
    "lost", [{"footer_key": "fooder"}, {"column_keys": {"pi": ["ssn"]}}, {"footer_key": None, "uniform_key": "uni"}]
)
def test_a_write_with_a_key_the_keystore_lacks_is_refused(
    frame: DataFrame, enc: pme.Encryption, target: str, lost: dict[str, object]
) -> None:
    encryption = replace(enc, **lost)  # type: ignore[arg-type] # one of three ways to name a key
    with untouched(target), refused("PME_KEY_NOT_FOUND", "key '"):
        save(frame, target, encryption)


def test_a_read_with_a_keystore_that_lacks_a_column_key_names_file_and_key(
    spark: SparkSession, frame: DataFrame, table: Table, tmp_path: Path
) -> None:
    store = pme.Keystore(str(tmp_path / "few.p12"), password=PASSWORD)
    store.create(["other"])
    with refused("PME_KEY_NOT_FOUND", table.file.name, "'footer'"):
        table.read(spark, **store.options()).collect()


def test_another_keystore_with_the_same_names_does_not_open_the_table(
    spark: SparkSession, frame: DataFrame, table: Table, tmp_path: Path
) -> None:
    store = pme.Keystore(str(tmp_path / "wrong.p12"), password=PASSWORD)
    store.create(ALIASES)
    with refused("PME_NOT_AUTHENTIC", table.file.name, "'footer'"):
        table.read(spark, **store.options()).collect()
    assert sorted(table.read(spark).collect()) == sorted(frame.collect())


def test_a_missing_keystore_is_unavailable(
    spark: SparkSession, frame: DataFrame, table: Table, target: str, tmp_path: Path
) -> None:
    store = pme.Keystore(str(tmp_path / "none.p12"), password=PASSWORD)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "none.p12"):
        save(frame, target, pme.Encryption(kms=store, footer_key="footer"))
    with refused("PME_KMS_UNAVAILABLE", "none.p12"):
        table.read(spark, **store.options()).collect()


def test_a_wrong_password_is_reported_and_not_repeated(
    frame: DataFrame, keys: pme.Keystore, target: str, tmp_path: Path
) -> None:
    listed = tmp_path / "password"
    listed.write_text("wrong-horse-77b2")
    store = pme.Keystore(keys.path, password=pme.file(str(listed)))
    refusal = refused("PME_KMS_UNAVAILABLE", "password", never=("wrong-horse",))
    with untouched(target), refusal:
        save(frame, target, pme.Encryption(kms=store, footer_key="footer"))


@pytest.mark.parametrize(
    ("lines", "condition"),
    [
        ("footer=c2hvcnQ=", "PME_BAD_OPTION"),
        ("footer=###", "PME_BAD_OPTION"),
        ("footer", "PME_BAD_OPTION"),
        ("", "PME_KMS_UNAVAILABLE"),
        ("# none", "PME_BAD_OPTION"),
        ("other=MDEyMzQ1Njc4OWFiY2RlZg==", "PME_KEY_NOT_FOUND"),
    ],
)
def test_invalid_static_keys_are_refused_and_not_repeated(
    frame: DataFrame, target: str, tmp_path: Path, lines: str, condition: str
) -> None:
    listed = tmp_path / "keys"
    listed.write_text(lines)
    encryption = pme.Encryption(kms=pme.Static(pme.file(str(listed))), footer_key="footer")
    with untouched(target), refused(condition, never=("c2hvcnQ", "###", "MDEyMzQ1")):
        save(frame, target, encryption)


def test_a_reader_that_names_its_keys_uses_no_other(spark: SparkSession, frame: DataFrame, table: Table) -> None:
    named = table.read(spark, footerKey="footer", columnKeys="pii: ssn; pay: salary")
    assert sorted(named.collect()) == sorted(frame.collect())
    with refused("PME_KEY_METADATA", table.file.name, "salary", "'pay'"):
        table.read(spark, footerKey="footer", columnKeys="pii: ssn")


# If the KMS is down, no key is at fault, and the message names none.
KMS_FAILURES = [
    ("denied", "PME_KEY_DENIED", "'denied-"),
    ("missing", "PME_KEY_NOT_FOUND", "'missing-"),
    ("down", "PME_KMS_UNAVAILABLE", "could not be reached"),
]


@pytest.mark.parametrize(("key", "condition", "mention"), KMS_FAILURES)
@pytest.mark.parametrize("part", ["footer", "column"])
def test_a_key_that_the_kms_refuses_cannot_be_used_for_a_write(
    frame: DataFrame, target: str, key: str, condition: str, mention: str, part: str
) -> None:
    encryption = pme.Encryption(
        kms=pme.KmsClass(TEST_KMS),
        footer_key=f"{key}-1" if part == "footer" else "footer",
        column_keys={f"{key}-2" if part == "column" else "pii": ["ssn"]},
    )
    with untouched(target), refused(condition, mention, TEST_KMS):
        save(frame, target, encryption)


@pytest.mark.parametrize(("key", "condition", "mention"), KMS_FAILURES)
def test_a_key_that_the_kms_refuses_cannot_be_used_for_a_read(
    spark: SparkSession, frame: DataFrame, target: str, tmp_path: Path, key: str, condition: str, mention: str
) -> None:
    listed = tmp_path / "keys"
    listed.write_text(f"footer=MDEyMzQ1Njc4OWFiY2RlZg==\n{key}-1=MDEyMzQ1Njc4OWFiY2RlZg==\n")
    store = pme.Static(pme.file(str(listed)))
    save(frame, target, pme.Encryption(kms=store, footer_key=f"{key}-1"))
    with refused(condition, ".parquet", mention, TEST_KMS):
        spark.read.format("pme-parquet").option("kms", TEST_KMS).load(target).collect()
