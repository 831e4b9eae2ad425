"""Key material beside the file and AAD prefixes made from its path move with the file, however it is written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.canary import data_files, files_under
from tests.support.frames import people
from tests.support.source import rows
from tests.support.ways import WAYS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Source

pytestmark = [pytest.mark.usefixtures("session_kms"), pytest.mark.rows(2)]

COUNT = 20


def frame(spark: SparkSession) -> DataFrame:
    return people(spark).selectExpr("*", "CAST(id % 2 AS INT) AS part")


def with_options(source: Source, *, read: dict[str, str], write: dict[str, str]) -> Source:
    return replace(
        source,
        write_options={**source.write_options, **read, **write},
        read_options={**source.read_options, **read},
    )


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_write_keeps_material_and_file_name(spark: SparkSession, ours: Source, way: str) -> None:
    source = with_options(ours, read={"aadPrefix": "{file}"}, write={"keyMaterial": "external"})
    WAYS[way](source, frame(spark))
    assert source.read().count() >= COUNT
    assert source.read().where("name IS NOT NULL").count() > 0
    files = {str(path.parent / f"_KEY_MATERIAL_FOR_{path.name}.json") for path in data_files(source.path)}
    assert files <= {str(path) for path in files_under(source.path)}


@pytest.mark.parametrize("template", ["{table}", "{path}/{file}", "site:{table}:{file}"])
@pytest.mark.parametrize("way", ["overwrite", "dynamic_overwrite", "partition_and_bucket_by", "insert_into"])
def test_prefixes_with_the_table_name_work_in_partitions(
    spark: SparkSession, ours: Source, way: str, template: str
) -> None:
    source = with_options(ours, read={"aadPrefix": template}, write={"storeAadPrefix": "false"})
    WAYS[way](source, frame(spark))
    assert source.read().count() >= COUNT


@pytest.mark.parametrize(
    "options", [{"keyMaterial": "external"}, {"aadPrefix": "{file}"}, {"aadPrefix": "{table}"}], ids=str
)
def test_a_partition_at_another_location_reads_back_or_is_refused_on_write(
    spark: SparkSession, ours: Source, options: dict[str, str]
) -> None:
    """Spark writes such a partition's files under another name and place, and then renames them."""
    source = with_options(ours, read={}, write=options)
    table = source.table
    spark.sql(f"CREATE TABLE {table} (id BIGINT, p INT) {source.clause()} PARTITIONED BY (p) LOCATION '{source.path}'")
    spark.sql(f"ALTER TABLE {table} ADD PARTITION (p = 1) LOCATION '{source.path}-elsewhere'")
    refused = None
    try:
        spark.sql(f"INSERT INTO {table} PARTITION (p = 1) VALUES (11), (12)")
    except pme.PmeError as error:
        refused = error.condition
    if refused:
        assert refused == "PME_UNSUPPORTED"
    else:
        assert rows(spark.table(table)) == ["Row(id=11, p=1)", "Row(id=12, p=1)"]


def test_a_partition_at_another_location_reads_back(spark: SparkSession, ours: Source) -> None:
    table = ours.table
    spark.sql(f"CREATE TABLE {table} (id BIGINT, p INT) {ours.clause()} PARTITIONED BY (p) LOCATION '{ours.path}'")
    spark.sql(f"ALTER TABLE {table} ADD PARTITION (p = 1) LOCATION '{ours.path}-elsewhere'")
    spark.sql(f"INSERT INTO {table} PARTITION (p = 1) VALUES (11), (12)")
    assert rows(spark.table(table)) == ["Row(id=11, p=1)", "Row(id=12, p=1)"]
    assert data_files(f"{ours.path}-elsewhere")
