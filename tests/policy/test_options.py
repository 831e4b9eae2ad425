"""Impossible options are refused before anything is written or read, and the message names the probable intention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.expect import refused, save, untouched
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, SparkSession

    import pme_parquet as pme
    from tests.policy.conftest import Table

PREFIX = "spark.datasource.pme-parquet."


def test_a_write_without_any_key_is_refused(frame: DataFrame, keys: pme.Keystore, target: str) -> None:
    with untouched(target), refused("PME_NO_KEY", "footerKey", "uniformKey"):
        save(frame, target, keys.options())


def test_a_write_without_any_option_is_refused(frame: DataFrame, target: str) -> None:
    with untouched(target), refused("PME_NO_KEY", "footerKey"):
        save(frame, target, {})


def test_column_keys_without_a_footer_key_are_refused(frame: DataFrame, keys: pme.Keystore, target: str) -> None:
    with untouched(target), refused("PME_NO_KEY", "footerKey"):
        save(frame, target, keys.options() | {"columnKeys": "pii: ssn"})


MISSPELT = [
    ("footerKy", "footerKey"),
    ("columKeys", "columnKeys"),
    ("unlistedColumn", "unlistedColumns"),
    ("kms.keystore.pth", "kms.keystore.path"),
    ("kms.unheard.of", "kms."),
    ("aadPrefx", "aadPrefix"),
    ("parquet.encryption.colum.keys", "parquet.encryption.column.keys"),
]


@pytest.mark.parametrize(("name", "meant"), MISSPELT)
def test_a_misspelt_option_of_a_write_names_the_nearest_one(
    frame: DataFrame, enc: pme.Encryption, target: str, name: str, meant: str
) -> None:
    with untouched(target), refused("PME_UNKNOWN_OPTION", name, meant):
        save(frame, target, enc.options() | {name: "footer"})


@pytest.mark.parametrize(("name", "meant"), MISSPELT)
def test_a_misspelt_option_of_a_read_names_the_nearest_one(
    spark: SparkSession, table: Table, name: str, meant: str
) -> None:
    with refused("PME_UNKNOWN_OPTION", name, meant):
        table.read(spark, **{name: "footer"}).collect()


@pytest.mark.parametrize(("name", "meant"), [("footerKy", "footerKey"), ("kms.keystore.pth", "kms.keystore.path")])
def test_a_misspelt_session_setting_names_the_nearest_one(
    frame: DataFrame,
    enc: pme.Encryption,
    target: str,
    conf: Callable[..., AbstractContextManager[None]],
    name: str,
    meant: str,
) -> None:
    with conf({PREFIX + name: "footer"}), untouched(target), refused("PME_UNKNOWN_OPTION", name, meant):
        save(frame, target, enc.options())


def test_options_of_sparks_own_source_are_left_alone(
    spark: SparkSession, frame: DataFrame, enc: pme.Encryption, target: str
) -> None:
    save(frame, target, enc.options() | {"compression": "zstd", "parquet.block.size": "1048576"})
    reader = spark.read.format("pme-parquet").options(**enc.options(), mergeSchema="true")
    assert reader.load(target).count() == frame.count()


BAD_VALUES = [
    ("dataKeyBits", "123"),
    ("dataKeyBits", "many"),
    ("kekBits", "64"),
    ("algorithm", "AES_CBC"),
    ("plaintextFooter", "maybe"),
    ("doubleWrapping", "2"),
    ("keyMaterial", "somewhere"),
    ("keyManagement", "indirect"),
    ("unlistedColumns", "plain"),
    ("storeAadPrefix", "no"),
    ("columnKeys", "pii ssn"),
    ("columnKeys", "pii:"),
    ("columnKeys", '{"pii": "ssn"'),
    ("kms", "java.lang.String"),
]


@pytest.mark.parametrize(("name", "value"), BAD_VALUES)
def test_a_bad_value_of_a_write_is_refused(
    frame: DataFrame, enc: pme.Encryption, target: str, name: str, value: str
) -> None:
    with untouched(target), refused("PME_BAD_OPTION", name):
        save(frame, target, enc.options() | {name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("algorithm", "GCM"),
        ("plaintextFiles", "warn"),
        ("clearLevels", "yes"),
        ("deniedColumns", "hide"),
        ("deniedPredicates", "true"),
        ("reader", "fast"),
        ("scan", "v3"),
        ("kms.callFrom", "anywhere"),
    ],
)
def test_a_bad_value_of_a_read_is_refused(spark: SparkSession, table: Table, name: str, value: str) -> None:
    with refused("PME_BAD_OPTION", name, value):
        table.read(spark, **{name: value}).collect()


@pytest.mark.parametrize("other", [{"footerKey": "footer"}, {"footerKey": "footer", "columnKeys": "pii: ssn"}])
def test_a_uniform_key_excludes_other_keys(
    frame: DataFrame, keys: pme.Keystore, target: str, other: dict[str, str]
) -> None:
    with untouched(target), refused("PME_BAD_OPTION", "uniformKey", "footerKey"):
        save(frame, target, keys.options() | {"uniformKey": "pii"} | other)


def test_a_missing_provider_is_refused_on_read(spark: SparkSession, table: Table) -> None:
    with refused("PME_UNSUPPORTED", "cryptoProvider", "NoSuchProvider"):
        table.read(spark, cryptoProvider="NoSuchProvider").collect()


def test_a_missing_provider_is_refused_on_write(frame: DataFrame, enc: pme.Encryption, target: str) -> None:
    with untouched(target), refused("PME_UNSUPPORTED", "cryptoProvider", "NoSuchProvider"):
        save(frame, target, enc.options() | {"cryptoProvider": "NoSuchProvider"})


@pytest.mark.parametrize(
    ("name", "value", "mention"),
    [
        ("parquet.writer.version", "v2", "parquet.writer.version"),
        ("parquet.writer.version", "PARQUET_2_0", "parquet.writer.version"),
        ("parquet.summary.metadata.level", "ALL", "parquet.summary.metadata.level"),
        ("parquet.summary.metadata.level", "COMMON_ONLY", "parquet.summary.metadata.level"),
        ("parquet.enable.summary-metadata", "true", "summary"),
    ],
)
def test_settings_that_would_leave_bytes_in_the_clear_are_refused(
    frame: DataFrame, enc: pme.Encryption, target: str, name: str, value: str, mention: str
) -> None:
    with untouched(target), refused("PME_UNSUPPORTED", mention):
        save(frame, target, enc.options() | {name: value})


def test_direct_key_management_needs_a_kms_that_exports_keys(frame: DataFrame, target: str) -> None:
    options = {"kms": TEST_KMS, "uniformKey": "footer", "keyManagement": "direct"}
    with untouched(target), refused("PME_BAD_OPTION", "keyManagement"):
        save(frame, target, options)


@pytest.mark.parametrize(
    "contradiction",
    [
        {"storeAadPrefix": "false"},
        {"keyManagement": "direct", "keyMaterial": "external"},
        {"unlistedColumns": "plaintext"},
    ],
)
def test_options_that_contradict_each_other_are_refused(
    frame: DataFrame, enc: pme.Encryption, target: str, contradiction: dict[str, str]
) -> None:
    with untouched(target), refused("PME_BAD_OPTION", next(iter(contradiction))):
        save(frame, target, enc.options() | contradiction)


def test_an_unknown_keystore_type_is_refused(frame: DataFrame, enc: pme.Encryption, target: str) -> None:
    with untouched(target), refused("PME_UNSUPPORTED", "kms.keystore.type", "PKCS99"):
        save(frame, target, enc.options() | {"kms.keystore.type": "PKCS99"})


def test_a_kms_class_that_is_not_on_the_class_path_is_refused(
    frame: DataFrame, enc: pme.Encryption, target: str
) -> None:
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "no.such.KmsClient"):
        save(frame, target, enc.options() | {"kms": "no.such.KmsClient"})
