"""A wildcard in ``columnKeys`` that also covers a partition column is refused: its values would be directory names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.canary import assert_no_canaries, find_canaries
from tests.support.expect import refused, untouched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    import pme_parquet as pme
    from tests.support.source import Conf

NAME = "wildcards"
PATTERN = "*_pii"
MINUTE = 60
SCHEMA = "id bigint, ssn_pii string, city_pii string, country string"
ROWS = [(number, f"canary-ssn-{number}", f"canary-city-{number % 2}", f"country-{number % 3}") for number in range(12)]


@pytest.fixture(scope="module")
def residents(spark: SparkSession) -> DataFrame:
    """Return a frame whose column ``city_pii`` would be encrypted like ``ssn_pii`` if it were not a partition."""
    return spark.createDataFrame(ROWS, SCHEMA).coalesce(1)


@pytest.fixture
def options(enc: pme.Encryption) -> dict[str, str]:
    return enc.options() | {"columnKeys": f"pii: {PATTERN}"}


@pytest.fixture
def warehouse(spark: SparkSession) -> Iterator[Path]:
    """Return the directory of managed tables; the table of a test is dropped afterwards."""
    yield Path(str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))
    spark.sql(f"DROP TABLE IF EXISTS {NAME}")


every_mode = pytest.mark.parametrize("mode", ["errorifexists", "append", "overwrite", "ignore"])


def save(frame: DataFrame, options: dict[str, str], target: str, mode: str, *partitions: str) -> None:
    frame.write.format("pme-parquet").options(**options).mode(mode).partitionBy(*partitions).save(target)


@every_mode
def test_a_new_directory_is_not_made(residents: DataFrame, options: dict[str, str], target: str, mode: str) -> None:
    with untouched(target), refused("PME_UNSUPPORTED", "columnKeys", PATTERN, "city_pii"):
        save(residents, options, target, mode, "city_pii")


@every_mode
def test_the_second_of_two_partition_columns_counts_as_well(
    residents: DataFrame, options: dict[str, str], target: str, mode: str
) -> None:
    with untouched(target), refused("PME_UNSUPPORTED", "columnKeys", PATTERN, "city_pii"):
        save(residents, options, target, mode, "country", "city_pii")


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_existing_data_stays(
    spark: SparkSession, residents: DataFrame, options: dict[str, str], enc: pme.Encryption, target: str, mode: str
) -> None:
    save(residents, enc.options(), target, "errorifexists", "city_pii")
    with untouched(target), refused("PME_UNSUPPORTED", "columnKeys", PATTERN, "city_pii"):
        save(residents.limit(1), options, target, mode, "city_pii")
    assert spark.read.format("pme-parquet").options(**enc.options()).load(target).count() == len(ROWS)


def test_dynamic_overwrite_keeps_the_existing_partitions(
    spark: SparkSession, residents: DataFrame, options: dict[str, str], enc: pme.Encryption, target: str
) -> None:
    save(residents, enc.options(), target, "errorifexists", "city_pii")
    dynamic = options | {"partitionOverwriteMode": "dynamic"}
    with untouched(target), refused("PME_UNSUPPORTED", "columnKeys", PATTERN, "city_pii"):
        save(residents.limit(1), dynamic, target, "overwrite", "city_pii")
    assert spark.read.format("pme-parquet").options(**enc.options()).load(target).count() == len(ROWS)


@pytest.mark.parametrize("mode", ["error", "append", "overwrite", "ignore"])
def test_a_table_is_not_created(
    spark: SparkSession, residents: DataFrame, options: dict[str, str], warehouse: Path, mode: str
) -> None:
    writer = residents.write.format("pme-parquet").options(**options).mode(mode).partitionBy("city_pii")
    with untouched(warehouse / NAME), refused("PME_UNSUPPORTED", "columnKeys", PATTERN, "city_pii"):
        writer.saveAsTable(NAME)
    assert not spark.catalog.tableExists(NAME)


def test_a_table_is_not_created_as_select(
    spark: SparkSession, residents: DataFrame, options: dict[str, str], warehouse: Path
) -> None:
    residents.createOrReplaceTempView("residents")
    listed = ", ".join(f"'{name}' '{value}'" for name, value in options.items())
    with untouched(warehouse / NAME), refused("PME_UNSUPPORTED", "columnKeys", PATTERN, "city_pii"):
        spark.sql(
            f"CREATE TABLE {NAME} USING `pme-parquet` OPTIONS ({listed}) PARTITIONED BY (city_pii) "
            "AS SELECT * FROM residents"
        )
    assert not spark.catalog.tableExists(NAME)


def streaming(frame: DataFrame, options: dict[str, str], scratch: Path) -> DataStreamWriter:
    frame.write.parquet(str(scratch / "source"))
    stream = frame.sparkSession.readStream.schema(frame.schema).parquet(str(scratch / "source"))
    writer = stream.writeStream.format("pme-parquet").options(**options)
    return writer.option("checkpointLocation", str(scratch / "checkpoint")).trigger(availableNow=True)


def test_a_stream_writes_no_file(residents: DataFrame, options: dict[str, str], tmp_path: Path) -> None:
    target = tmp_path / "sink"
    writer = streaming(residents, options, tmp_path).partitionBy("city_pii")
    with refused("PME_UNSUPPORTED", "columnKeys", PATTERN, "city_pii"):
        writer.start(str(target)).awaitTermination(MINUTE)
    # The sink's own log of batches exists before Spark calls any format; there must be nothing of a batch.
    left = [path for path in target.rglob("*") if path.is_file() and "_spark_metadata" not in path.parts]
    assert left == []
    assert find_canaries(target, ["canary-city", "canary-ssn"]) == []


def test_a_pattern_in_another_case_covers_the_partition_column(
    residents: DataFrame, options: dict[str, str], target: str
) -> None:
    with untouched(target), refused("PME_UNSUPPORTED", "columnKeys", "*_PII", "city_pii"):
        save(residents, options | {"columnKeys": "pii: *_PII"}, target, "append", "city_pii")


def test_a_pattern_in_another_case_covers_nothing_where_case_matters(
    spark: SparkSession, residents: DataFrame, options: dict[str, str], target: str, conf: Conf
) -> None:
    renamed = residents.withColumnRenamed("city_pii", "city_PII")
    with conf({"spark.sql.caseSensitive": "true"}):
        save(renamed, options, target, "append", "city_PII")
    assert spark.read.format("pme-parquet").options(**options).load(target).count() == len(ROWS)


def test_a_pattern_next_to_other_partitions_covers_what_it_names(
    spark: SparkSession, residents: DataFrame, options: dict[str, str], target: str
) -> None:
    open_rest = {"compression": "uncompressed", "unlistedColumns": "plaintext"}
    save(residents, options | open_rest, target, "append", "country")
    assert_no_canaries(target, ["canary-ssn", "canary-city"])
    assert spark.read.format("pme-parquet").options(**options, **open_rest).load(target).count() == len(ROWS)


def test_a_partition_column_may_be_left_out_by_name(
    spark: SparkSession, residents: DataFrame, options: dict[str, str], target: str
) -> None:
    save(residents, options | {"columnKeys": "pii: ssn_pii"}, target, "append", "city_pii")
    assert_no_canaries(target, ["canary-ssn"])
    assert spark.read.format("pme-parquet").options(**options).load(target).count() == len(ROWS)
