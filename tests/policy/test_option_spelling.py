"""Names of options work in upper and lower case, from every source, in either scan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.policy.conftest import ROWS, SCHEMA, Table
from tests.support.expect import refused

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    import pme_parquet as pme
    from tests.support.source import Conf

PREFIX = "spark.datasource.pme-parquet."
SPELLINGS = {"upper": str.upper, "lower": str.lower, "title": str.title}
every_scan = pytest.mark.parametrize("scan", ["v1", "v2"])
every_spelling = pytest.mark.parametrize("spelling", SPELLINGS)


@pytest.fixture
def orders(frame: DataFrame, columns: pme.Encryption, keys: pme.Keystore, tmp_path: Path) -> Table:
    """Return a table whose readers must name the place of their keys and the AAD prefix."""
    encryption = replace(columns, aad_prefix="orders", store_aad_prefix=False)
    frame.write.format("pme-parquet").options(**encryption.options()).save(str(tmp_path / "orders"))
    return Table(tmp_path / "orders", keys.options() | {"aadPrefix": "orders"})


def respelt(options: dict[str, str], spelling: str) -> dict[str, str]:
    return {SPELLINGS[spelling](name): value for name, value in options.items()}


@every_spelling
@every_scan
def test_options_of_a_read_count_in_any_spelling(spark: SparkSession, orders: Table, scan: str, spelling: str) -> None:
    options = respelt(orders.options | {"scan": scan}, spelling)
    frame = spark.read.format("pme-parquet").options(**options).load(str(orders.path))
    assert sorted(map(tuple, frame.collect())) == ROWS


@every_scan
def test_options_of_a_read_with_a_schema_count_in_any_spelling(spark: SparkSession, orders: Table, scan: str) -> None:
    reader = spark.read.format("pme-parquet").options(**respelt(orders.options | {"scan": scan}, "title"))
    assert sorted(map(tuple, reader.schema(SCHEMA).load(str(orders.path)).collect())) == ROWS


@every_scan
def test_a_wrong_value_in_another_spelling_is_not_overlooked(spark: SparkSession, orders: Table, scan: str) -> None:
    options = respelt(orders.options, "lower") | {"scan": scan, "AADPREFIX": "invoices"}
    options.pop("aadprefix")
    with refused("PME_NOT_AUTHENTIC", orders.file.name, "aadPrefix"):
        spark.read.format("pme-parquet").options(**options).load(str(orders.path)).collect()


@every_scan
def test_the_last_of_two_spellings_in_one_read_counts(spark: SparkSession, orders: Table, scan: str) -> None:
    reader = spark.read.format("pme-parquet").options(**orders.options, scan=scan)
    reader = reader.option("aadPrefix", "invoices").option("AADPREFIX", "orders")
    assert reader.load(str(orders.path)).count() == len(ROWS)


@every_scan
def test_an_option_outranks_the_sessions_in_another_spelling(
    spark: SparkSession, orders: Table, conf: Conf, scan: str
) -> None:
    with conf({f"{PREFIX}AADPREFIX": "invoices", f"{PREFIX}Kms.Keystore.Path": "/nowhere.p12"}):
        assert orders.read(spark, scan=scan).count() == len(ROWS)


@every_spelling
@every_scan
def test_options_of_the_session_count_in_any_spelling(
    spark: SparkSession, orders: Table, conf: Conf, scan: str, spelling: str
) -> None:
    with conf({PREFIX + name: value for name, value in respelt(orders.options, spelling).items()}):
        frame = spark.read.format("pme-parquet").option("scan", scan).load(str(orders.path))
        assert sorted(map(tuple, frame.collect())) == ROWS


@every_spelling
def test_options_of_a_write_count_in_any_spelling(
    spark: SparkSession, frame: DataFrame, columns: pme.Encryption, table: Table, tmp_path: Path, spelling: str
) -> None:
    options = respelt(replace(columns, unlisted_columns="plaintext").options(), spelling)
    frame.write.format("pme-parquet").options(**options).save(str(tmp_path / "respelt"))
    written = Table(tmp_path / "respelt", table.options)
    assert sorted(map(tuple, written.read(spark).collect())) == ROWS
    with refused("PME_AAD_PREFIX", written.file.name):
        written.read(spark, AADPREFIX="orders").collect()


@pytest.mark.usefixtures("session_kms")
@every_spelling
def test_options_of_a_table_in_the_catalog_count_in_any_spelling(
    spark: SparkSession, orders: Table, spelling: str
) -> None:
    listed = ", ".join(f"'{name}' '{value}'" for name, value in respelt(orders.options, spelling).items())
    spark.sql(f"CREATE TABLE respelt ({SCHEMA}) USING `pme-parquet` OPTIONS ({listed}) LOCATION '{orders.path}'")
    try:
        assert sorted(map(tuple, spark.table("respelt").collect())) == ROWS
        assert spark.read.option("AadPrefix", "orders").table("respelt").count() == len(ROWS)
    finally:
        spark.sql("DROP TABLE respelt")
