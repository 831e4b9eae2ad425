"""What Spark allows and what loses or hides rows: each is refused before a file changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.expect import refused
from tests.support.session import TEST_KMS
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from tests.support.source import Conf

pytestmark = pytest.mark.rows(2)

ENC = pme.Encryption(kms=TEST_KMS, uniform_key="footer")
FORMATS = {FORMAT: {"uniformKey": "footer"}, "pme-orc": {"columnKeys": "pii: id"}}


def save(frame: DataFrame, path: Path, *columns: str, mode: str = "error", name: str = FORMAT) -> None:
    writer = frame.write.format(name).options(kms=TEST_KMS, **FORMATS[name]).mode(mode)
    (writer.partitionBy(*columns) if columns else writer).save(str(path))


def load(spark: SparkSession, *paths: Path, name: str = FORMAT, **options: str) -> DataFrame:
    return spark.read.format(name).options(kms=TEST_KMS, **options).load([str(path) for path in paths])


def numbers(spark: SparkSession, count: int = 6) -> DataFrame:
    return spark.range(count).selectExpr("id", "id % 2 AS day", "id % 3 AS hour")


def files(path: Path) -> set[Path]:
    return {file.relative_to(path) for file in path.rglob("*") if file.is_file()}


def from_subquery(spark: SparkSession, table: Path) -> DataFrame:
    load(spark, table).createOrReplaceTempView("at_risk")
    return spark.sql(
        "SELECT id FROM range(9) WHERE id IN (SELECT id FROM at_risk) OR id = (SELECT max(id) FROM at_risk)"
    )


# What reads the table that it overwrites, or a part of it.
READS: dict[str, Callable[[SparkSession, Path], DataFrame]] = {
    "the table": load,
    "one partition": lambda spark, table: load(spark, table / "day=1"),
    "a pattern of files": lambda spark, table: load(spark, table / "day=*/*"),
    "the directory above": lambda spark, table: load(spark, table.parent, recursiveFileLookup="true"),
    "the other scan": lambda spark, table: load(spark, table, scan="v2").where("id > 1"),
    "an RDD": lambda spark, table: load(spark, table).rdd.map(lambda row: (row.id,)).toDF(["id"]),
    "cached rows": lambda spark, table: load(spark, table).cache(),
    "a subquery": from_subquery,
}


@pytest.mark.parametrize("read", READS)
def test_an_overwrite_of_what_it_reads_is_refused(spark: SparkSession, tmp_path: Path, read: str) -> None:
    table = tmp_path / "t"
    save(numbers(spark), table, "day")
    before = files(tmp_path)
    try:
        with refused("PME_UNSUPPORTED", "overwrite", "would be lost", "another directory"):
            pme.write(READS[read](spark, table), table, ENC, mode="overwrite")
    finally:
        spark.catalog.clearCache()
    assert files(tmp_path) == before
    assert load(spark, table).count() == 6


def test_an_overwrite_from_elsewhere_and_of_single_partitions_is_allowed(spark: SparkSession, tmp_path: Path) -> None:
    table, other = tmp_path / "t", tmp_path / "t2"
    save(numbers(spark), table, "day")
    save(load(spark, table), other, "day", mode="overwrite")
    save(load(spark, table).limit(3), other, mode="overwrite")
    single = load(spark, table).where("day = 1").selectExpr("id + 10 AS id", "hour", "day")
    writer = single.write.format(FORMAT).options(**ENC.options(), partitionOverwriteMode="dynamic")
    writer.mode("overwrite").partitionBy("day").save(str(table))
    assert sorted(row.id for row in load(spark, table).collect()) == [0, 2, 4, 11, 13, 15]


def test_an_overwrite_of_encrypted_orc_that_it_reads_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    save(numbers(spark), tmp_path / "t", name="pme-orc")
    with refused("PME_UNSUPPORTED", "would be lost"):
        save(load(spark, tmp_path / "t", name="pme-orc"), tmp_path / "t", mode="overwrite", name="pme-orc")
    assert load(spark, tmp_path / "t", name="pme-orc").count() == 6


@pytest.mark.parametrize(
    ("there", "given", "advice"),
    [
        (["day"], [], "partitionBy('day')"),
        (["day", "hour"], [], "partitionBy('day', 'hour')"),
        (["day", "hour"], ["hour", "day"], "partitionBy('day', 'hour')"),
        (["day"], ["day", "hour"], "partitionBy('day')"),
        ([], ["day"], "without partitionBy"),
    ],
)
def test_an_append_in_another_partition_layout_is_refused(
    spark: SparkSession, tmp_path: Path, there: list[str], given: list[str], advice: str
) -> None:
    table = tmp_path / "t"
    save(numbers(spark), table, *there)
    before = files(table)
    with refused("PME_UNSUPPORTED", "partition", advice):
        pme.write(numbers(spark), table, ENC, mode="append", partition_by=given)
    assert files(table) == before
    pme.write(numbers(spark), table, ENC, mode="append", partition_by=there)
    assert load(spark, table).count() == 12


def streaming(
    spark: SparkSession, source: Path, checkpoint: Path, name: str = FORMAT, **options: str
) -> DataStreamWriter:
    rows = spark.readStream.format(name).schema("id long, day long, hour long").options(kms=TEST_KMS, **options)
    writer = rows.load(str(source)).writeStream.format(name).options(kms=TEST_KMS, **FORMATS[name])
    return writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)


@pytest.mark.parametrize("name", [FORMAT, "pme-orc"])
def test_a_stream_into_a_directory_with_other_files_is_refused(spark: SparkSession, tmp_path: Path, name: str) -> None:
    source, table = tmp_path / "in", tmp_path / "t"
    save(numbers(spark), source, name=name)
    save(numbers(spark), table, name=name)
    with refused("PME_UNSUPPORTED", "_spark_metadata", "empty directory"):
        streaming(spark, source, tmp_path / "c", name).start(str(table))
    # An empty list would hide the rows.
    assert load(spark, table, name=name).count() == 6

    # Into a directory of its own, and started again, it runs.
    for _ in range(2):
        streaming(spark, source, tmp_path / "c2", name).start(str(tmp_path / "new")).awaitTermination()
        save(numbers(spark), source, mode="append", name=name)
    assert load(spark, tmp_path / "new", name=name).count() == 12


def test_a_stream_goes_on_after_a_first_batch_that_did_not_end(spark: SparkSession, tmp_path: Path) -> None:
    source, table, checkpoint = tmp_path / "in", tmp_path / "t", tmp_path / "c"
    save(numbers(spark), source)
    streaming(spark, source, checkpoint).start(str(table)).awaitTermination()
    for entry in (table / "_spark_metadata" / "0", checkpoint / "commits" / "0"):
        entry.unlink()
        entry.with_name(f".{entry.name}.crc").unlink()
    streaming(spark, source, checkpoint).start(str(table)).awaitTermination()
    assert load(spark, table).count() == 6


@pytest.mark.parametrize("option", ["cleanSource", "CLEANSOURCE"])
def test_a_stream_archives_no_file_without_its_keys(
    spark: SparkSession, tmp_path: Path, conf: Conf, option: str
) -> None:
    source, archive = tmp_path / "in", tmp_path / "archive"
    pme.write(numbers(spark), source, ENC, options={"keyMaterial": "external"})
    before = files(source)
    query = streaming(spark, source, tmp_path / "c", **{option: "ARCHIVE", "sourceArchiveDir": str(archive)})
    with refused("PME_UNSUPPORTED", "keyMaterial=external", "cleanSource=off"):
        query.start(str(tmp_path / "t")).awaitTermination()
    assert files(source) == before
    assert not archive.exists()
