"""Readers with one KMS class that differ only in the configuration that the class reads do not share keys."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from tests.support import java
from tests.support.expect import refused
from tests.support.stored import PREFIX, stored_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from tests.support.source import Conf

    Place = Callable[[SparkSession, str], AbstractContextManager[DataFrameReader]]

KMS = "isolation.RealmKms"
REALM = "realm.name"
KEYS = {"kms": KMS, "footerKey": "footer", "columnKeys": "pii: ssn"}
ROWS = [(number, f"ssn-{number}") for number in range(20)]


@pytest.fixture(scope="module", autouse=True)
def _kms_class(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compile the KMS class and put it where driver and executors look for classes."""
    java.load(spark, tmp_path_factory, Path(__file__).with_name("RealmKms.java"))


@contextmanager
def by_option(spark: SparkSession, realm: str) -> Iterator[DataFrameReader]:
    yield bare(spark).option(REALM, realm)


@contextmanager
def by_session(spark: SparkSession, realm: str) -> Iterator[DataFrameReader]:
    spark.conf.set(REALM, realm)
    try:
        yield bare(spark)
    finally:
        spark.conf.unset(REALM)


@contextmanager
def by_hadoop_configuration(spark: SparkSession, realm: str) -> Iterator[DataFrameReader]:
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set(REALM, realm)
    try:
        yield bare(spark)
    finally:
        hadoop.unset(REALM)


def bare(spark: SparkSession) -> DataFrameReader:
    """Return a reader whose KMS class gets no realm."""
    return spark.read.format("pme-parquet").option("kms", KMS)


every_place = pytest.mark.parametrize("place", [by_option, by_session, by_hadoop_configuration])
every_scan = pytest.mark.parametrize("scan", ["v1", "v2"])


@pytest.fixture
def north(spark: SparkSession, target: str) -> str:
    """Return a table under the keys of the realm ``north``, whose key caches no reader has filled yet."""
    frame = spark.createDataFrame(ROWS, "id bigint, ssn string")
    frame.write.format("pme-parquet").options(**KEYS, **{REALM: "north"}).save(target)
    return target


def rows(frame: DataFrame) -> list[tuple[int, str]]:
    return sorted((row["id"], row["ssn"]) for row in frame.collect())


@every_place
@every_scan
def test_a_reader_of_another_realm_is_refused_after_the_right_one_read(
    spark: SparkSession, north: str, place: Place, scan: str
) -> None:
    with place(spark, "north") as reader:
        assert rows(reader.option("scan", scan).load(north)) == ROWS
    with place(spark, "south") as reader, refused("PME_NOT_AUTHENTIC", "'footer'"):
        reader.option("scan", scan).load(north).collect()


@every_place
@every_scan
def test_a_reader_of_no_realm_is_refused_after_the_right_one_read(
    spark: SparkSession, north: str, place: Place, scan: str
) -> None:
    with place(spark, "north") as reader:
        assert rows(reader.option("scan", scan).load(north)) == ROWS
    with refused("PME_KEY_NOT_FOUND", "'footer'", KMS):
        bare(spark).option("scan", scan).load(north).collect()


@every_place
def test_executors_refuse_a_reader_of_another_realm_after_the_right_one_read(
    spark: SparkSession, north: str, place: Place
) -> None:
    with place(spark, "north") as reader:
        right = reader.load(north)
        assert rows(right) == ROWS
    with place(spark, "south") as reader, refused("PME_NOT_AUTHENTIC", "'footer'"):
        reader.schema(right.schema).load(north).collect()


@every_place
def test_the_right_realm_still_reads_after_another_was_refused(spark: SparkSession, north: str, place: Place) -> None:
    with place(spark, "south") as reader, refused("PME_NOT_AUTHENTIC", "'footer'"):
        reader.load(north).collect()
    with place(spark, "north") as reader:
        assert rows(reader.load(north)) == ROWS


def test_a_table_written_under_another_realm_has_other_keys(spark: SparkSession, north: str, tmp_path: Path) -> None:
    south = str(tmp_path / "south")
    by_north = bare(spark).option(REALM, "north")
    by_north.load(north).write.format("pme-parquet").options(**KEYS, **{REALM: "south"}).save(south)
    assert rows(bare(spark).option(REALM, "south").load(south)) == ROWS
    with refused("PME_NOT_AUTHENTIC", "'footer'"):
        by_north.load(south).collect()


@pytest.mark.parametrize("caller", ["driver", "executor"])
def test_a_class_does_not_see_the_options_of_a_table_definition(
    spark: SparkSession, north: str, conf: Conf, caller: str
) -> None:
    of_session = {f"{PREFIX}kms": KMS, f"{PREFIX}kms.callFrom": caller, REALM: "north"}
    with stored_table(spark, north, {REALM: "south"}, "id BIGINT, ssn STRING") as table, conf(of_session):
        assert rows(spark.table(table)) == ROWS


def test_spark_parquet_shares_keys_between_such_readers(spark: SparkSession, north: str) -> None:
    # This shows that the danger is real: parquet-java's key tools cache keys by access token alone, here a new one.
    settings = {
        "parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
        "parquet.encryption.kms.client.class": KMS,
        "parquet.encryption.key.access.token": uuid4().hex,
    }
    for realm in ("north", "south"):
        reader = spark.read.format("parquet").options(**settings, **{REALM: realm})
        assert rows(reader.load(north)) == ROWS
