"""A refusal is the same, whichever way the table is read or written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.policy.conftest import SCHEMA
from tests.support.expect import refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    import pme_parquet as pme
    from tests.policy.conftest import Table


NAME = "refusals"


def sql_options(options: dict[str, str]) -> str:
    return ", ".join(f"'{name}' '{value}'" for name, value in options.items())


@pytest.fixture
def catalog(spark: SparkSession) -> Iterator[None]:
    """Drop the table that a test created."""
    spark.sql(f"drop table if exists {NAME}")
    yield
    spark.sql(f"drop table if exists {NAME}")


def by_load(spark: SparkSession, table: Table, _: Path) -> None:
    table.read(spark).collect()


def by_noop_write(spark: SparkSession, table: Table, _: Path) -> None:
    table.read(spark).write.format("noop").mode("overwrite").save()


def by_catalog(spark: SparkSession, table: Table, _: Path) -> None:
    options = sql_options(table.options)
    spark.sql(f"create table {NAME} ({SCHEMA}) using `pme-parquet` options ({options}) location '{table.path}'")
    spark.table(NAME).collect()


def by_stream(spark: SparkSession, table: Table, scratch: Path) -> None:
    stream = spark.readStream.format("pme-parquet").options(**table.options).schema(SCHEMA)
    query = (
        stream.load(str(table.path))
        .writeStream.format("noop")
        .option("checkpointLocation", str(scratch / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


@pytest.mark.usefixtures("catalog", "session_kms")
@pytest.mark.parametrize("way", [by_load, by_noop_write, by_catalog, by_stream])
def test_a_plaintext_table_is_refused_however_it_is_read(
    spark: SparkSession, plain: Table, tmp_path: Path, way: Callable[[SparkSession, Table, Path], None]
) -> None:
    with refused("PME_PLAINTEXT_FILE", plain.file.name):
        way(spark, plain, tmp_path)


def test_a_plaintext_table_is_refused_by_path_in_sql(
    spark: SparkSession, plain: Table, conf: Callable[..., AbstractContextManager[None]]
) -> None:
    settings = {f"spark.datasource.pme-parquet.{name}": value for name, value in plain.options.items()}
    with conf(settings), refused("PME_PLAINTEXT_FILE", plain.file.name):
        spark.sql(f"select * from `pme-parquet`.`{plain.path}`").collect()


def to_path(frame: DataFrame, options: dict[str, str], scratch: Path) -> None:
    frame.write.format("pme-parquet").options(**options).save(str(scratch / "t"))


def to_catalog(frame: DataFrame, options: dict[str, str], _: Path) -> None:
    frame.write.format("pme-parquet").options(**options).saveAsTable(NAME)


def to_buckets(frame: DataFrame, options: dict[str, str], _: Path) -> None:
    frame.write.format("pme-parquet").options(**options).bucketBy(2, "id").saveAsTable(NAME)


def by_ctas(frame: DataFrame, options: dict[str, str], _: Path) -> None:
    frame.createOrReplaceTempView("source")
    spark = frame.sparkSession
    spark.sql(f"create table {NAME} using `pme-parquet` options ({sql_options(options)}) as select * from source")


def by_insert(frame: DataFrame, options: dict[str, str], _: Path) -> None:
    spark = frame.sparkSession
    spark.sql(f"create table {NAME} ({SCHEMA}) using `pme-parquet` options ({sql_options(options)})")
    frame.write.insertInto(NAME)


def by_write_to(frame: DataFrame, options: dict[str, str], _: Path) -> None:
    frame.writeTo(NAME).using("pme-parquet").options(**options).create()


def to_stream(frame: DataFrame, options: dict[str, str], scratch: Path) -> None:
    frame.write.parquet(str(scratch / "source"))
    stream = frame.sparkSession.readStream.schema(frame.schema).parquet(str(scratch / "source"))
    writer = stream.writeStream.format("pme-parquet").options(**options)
    writer = writer.option("checkpointLocation", str(scratch / "checkpoint")).trigger(availableNow=True)
    writer.start(str(scratch / "t")).awaitTermination()


@pytest.mark.usefixtures("catalog", "session_kms")
@pytest.mark.parametrize("way", [to_path, to_catalog, to_buckets, by_ctas, by_insert, by_write_to, to_stream])
@pytest.mark.parametrize(
    ("settings", "condition"),
    [
        ({}, "PME_NO_KEY"),
        ({"footerKey": "fooder"}, "PME_KEY_NOT_FOUND"),
        ({"footerKey": "footer", "columnKeys": "pii: sssn"}, "PME_UNKNOWN_COLUMN"),
    ],
)
def test_a_write_without_its_keys_is_refused_however_it_is_written(
    spark: SparkSession,
    frame: DataFrame,
    keys: pme.Keystore,
    tmp_path: Path,
    way: Callable[[DataFrame, dict[str, str], Path], None],
    settings: dict[str, str],
    condition: str,
) -> None:
    with refused(condition):
        way(frame, keys.options() | settings, tmp_path)
    left = [path for path in (tmp_path / "t").rglob("*.parquet") if path.is_file()]
    assert left == []
