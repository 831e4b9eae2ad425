"""Secrets are given by reference; written out, they are refused and never repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.expect import refused, save, untouched

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    import pme_parquet as pme
    from tests.policy.conftest import Table

PREFIX = "spark.datasource.pme-parquet."


@pytest.mark.parametrize("literal", ["hunter2-of-mine", "0123456789abcdef"])
def test_a_password_written_out_is_refused_and_not_repeated(
    frame: DataFrame, keys: pme.Keystore, target: str, literal: str
) -> None:
    options = keys.options() | {"footerKey": "footer", "kms.keystore.password": literal}
    refusal = refused("PME_SECRET_IN_OPTION", "kms.keystore.password", "env:NAME", never=(literal,))
    with untouched(target), refusal:
        save(frame, target, options)


def test_static_keys_written_out_are_refused_and_not_repeated(
    spark: SparkSession, frame: DataFrame, table: Table, target: str
) -> None:
    literal = "footer=MDEyMzQ1Njc4OWFiY2RlZg=="
    options = {"kms": "static", "kms.static.keys": literal, "footerKey": "footer"}
    refusal = refused("PME_SECRET_IN_OPTION", "kms.static.keys", "file:PATH", never=(literal, literal[-12:]))
    with untouched(target), refusal:
        save(frame, target, options)
    with refused("PME_SECRET_IN_OPTION", "kms.static.keys", never=(literal, literal[-12:])):
        spark.read.format("pme-parquet").options(**options).load(str(table.path)).collect()


def test_a_password_written_out_in_the_session_is_refused_and_not_repeated(
    frame: DataFrame,
    keys: pme.Keystore,
    target: str,
    conf: Callable[..., AbstractContextManager[None]],
) -> None:
    options = {name: value for name, value in keys.options().items() if not name.endswith("password")}
    setting = conf({PREFIX + "kms.keystore.password": "hunter2-of-mine"})
    refusal = refused("PME_SECRET_IN_OPTION", "kms.keystore.password", never=("hunter2",))
    with setting, untouched(target), refusal:
        save(frame, target, options | {"footerKey": "footer"})


@pytest.mark.parametrize("reference", ["env:PME_NO_SUCH_VARIABLE", "conf:spark.no.such.key", "hadoop-credential:none"])
def test_a_reference_to_nothing_is_refused(frame: DataFrame, keys: pme.Keystore, target: str, reference: str) -> None:
    options = keys.options() | {"footerKey": "footer", "kms.keystore.password": reference}
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "kms.keystore.password", reference):
        save(frame, target, options)


def test_a_reference_to_a_file_that_is_not_there_is_refused(frame: DataFrame, target: str, tmp_path: Path) -> None:
    options = {"kms": "static", "kms.static.keys": f"file:{tmp_path / 'none'}", "footerKey": "footer"}
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "kms.static.keys", "none"):
        save(frame, target, options)


def test_a_secret_of_another_kms_than_the_chosen_one_is_refused_too(
    frame: DataFrame, keys: pme.Keystore, target: str
) -> None:
    literal = "footer=MDEyMzQ1Njc4OWFiY2RlZg=="
    options = keys.options() | {"footerKey": "footer", "kms.static.keys": literal}
    with untouched(target), refused("PME_SECRET_IN_OPTION", "kms.static.keys", never=(literal,)):
        save(frame, target, options)


def test_a_table_with_a_secret_in_its_options_is_not_created(spark: SparkSession) -> None:
    literal = "footer=MDEyMzQ1Njc4OWFiY2RlZg=="
    with refused("PME_SECRET_IN_OPTION", "kms.static.keys", never=(literal,)):
        spark.sql(
            "CREATE TABLE keeps_no_secret (id BIGINT) USING `pme-parquet` "
            f"OPTIONS ('kms' = 'static', 'kms.static.keys' = '{literal}', 'footerKey' = 'footer')"
        )
    assert not spark.catalog.tableExists("keeps_no_secret")
