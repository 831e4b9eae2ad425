"""Option of this read or write > session conf > Hadoop conf; no setting replaces our crypto factory."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.support.canary import assert_encrypted_footers, assert_no_canaries, data_files
from tests.support.expect import save
from tests.support.files import bend, thrift

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    import pme_parquet as pme

PREFIX = "spark.datasource.pme-parquet."
FACTORY = "parquet.crypto.factory.class"


@contextmanager
def hadoop(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """Set the Hadoop configuration of the Spark context, and restore it."""
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in settings.items():
        conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            conf.unset(name)


def footer_master_key(target: str) -> str:
    """Return the id of the table's footer key."""
    ids = set()
    for file in data_files(target):
        content = file.read_bytes()
        metadata = thrift.Reader(content[bend.footer_start(content) :]).struct()
        ids.add(json.loads(thrift.get(metadata, bend.KEY_METADATA))["masterKeyID"])
    [master_key] = ids
    return str(master_key)


def test_an_option_wins_over_the_session_and_that_over_hadoop(
    spark: SparkSession,
    frame: DataFrame,
    keys: pme.Keystore,
    tmp_path: Path,
    conf: Callable[..., AbstractContextManager[None]],
) -> None:
    with hadoop(spark, {"parquet.encryption.uniform.key": "other"}):
        save(frame, str(tmp_path / "hadoop"), keys.options())
        with conf({f"{PREFIX}footerKey": "pii"}):
            save(frame, str(tmp_path / "session"), keys.options())
            save(frame, str(tmp_path / "option"), keys.options() | {"footerKey": "pay"})
            save(frame, str(tmp_path / "parquet"), keys.options() | {"parquet.encryption.uniform.key": "footer"})
    found = {name: footer_master_key(str(tmp_path / name)) for name in ("hadoop", "session", "option", "parquet")}
    assert found == {"hadoop": "other", "session": "pii", "option": "pay", "parquet": "footer"}


@pytest.mark.parametrize("where", ["option", "session", "hadoop"])
def test_another_crypto_factory_changes_nothing(
    spark: SparkSession,
    frame: DataFrame,
    enc: pme.Encryption,
    target: str,
    conf: Callable[..., AbstractContextManager[None]],
    where: str,
) -> None:
    # parquet-java's factory, without keys of its own, would leave the files in plaintext.
    other = {FACTORY: "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"}
    options = enc.options() | (other if where == "option" else {})
    with conf(other if where == "session" else {}), hadoop(spark, other if where == "hadoop" else {}):
        save(frame, target, options)
        back = spark.read.format("pme-parquet").options(**options).load(target).collect()
    assert_encrypted_footers(target)
    assert_no_canaries(target, [row["ssn"] for row in frame.collect()])
    assert sorted(back) == sorted(frame.collect())
