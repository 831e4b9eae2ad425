"""Sealed tables of the session catalog, and streams over sealed tables."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.snapshots.sealed import MISMATCH, NOT_AUTHENTIC, files_read, ids
from tests.support.canary import data_files
from tests.support.errors import innermost_condition, outcome
from tests.support.expect import refused
from tests.support.frames import people
from tests.support.sealing import expected, plant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.support.source import Conf, Source

pytestmark = pytest.mark.usefixtures("session_kms")

MINUTE = 60
BOTH = pytest.mark.parametrize("partitions", ["", "PARTITIONED BY (country)"], ids=["plain", "partitioned"])


@pytest.fixture(autouse=True)
def view(spark: SparkSession) -> None:
    people(spark).select("id", "name", "country").coalesce(1).createOrReplaceTempView("pme_people")


@pytest.fixture
def ours(ours: Source) -> Iterator[Source]:
    """Return our source with a table whose name looks like no key."""
    named = replace(ours, table="sealed_people")
    ours.spark.sql(f"DROP TABLE IF EXISTS {named.table}")
    yield named
    ours.spark.sql(f"DROP TABLE IF EXISTS {named.table}")


def create(source: Source, partitions: str = "", **options: str) -> Path:
    """Create a table of 20 people, and return its directory."""
    source.spark.sql(
        f"CREATE TABLE {source.table} {source.clause(**options)} {partitions} LOCATION '{source.path}'"
        " AS SELECT * FROM pme_people"
    )
    return Path(source.path)


def append(source: Source, *partitions: str) -> None:
    """Put five more people into the directory, beside the catalog."""
    frame = people(source.spark, 20, 5).select("id", "name", "country").coalesce(1)
    plant(source.writer(frame).partitionBy(*partitions), source.path)


def seal(spark: SparkSession, path: str, **given: Any) -> pme.Sealed:
    """Seal the directory as it is."""
    return pme.seal(spark, path, expect=expected(path), **given)


def read(source: Source, condition: str = "true") -> list[int]:
    """Return the ids of the table's rows, as the storage now has them."""
    source.spark.catalog.refreshTable(source.table)
    return ids(source.spark.table(source.table).where(condition))


@BOTH
def test_a_sealed_table_is_read(spark: SparkSession, ours: Source, partitions: str, conf: Conf) -> None:
    create(ours, partitions)
    sealed = seal(spark, ours.path, index=[pme.MinMax("id")])
    assert sealed.rows == 20
    with conf({"spark.datasource.pme-parquet.snapshot": "require"}):
        assert read(ours) == list(range(20))
        assert read(ours, "country = 'fr'") == list(range(1, 20, 3))
        assert files_read(spark.table(ours.table).where("id > 100")) == 0
        assert spark.sql(f"SELECT id FROM {ours.table} WHERE id < 5").count() == 5


def test_a_managed_table_is_sealed_by_its_directory(spark: SparkSession, ours: Source) -> None:
    ours.writer(spark.table("pme_people")).saveAsTable(ours.table)
    [described] = spark.sql(f"DESCRIBE EXTENDED {ours.table}").where("col_name = 'Location'").collect()
    directory = described.data_type
    assert seal(spark, directory).rows == 20
    assert read(ours) == list(range(20))
    data_files(directory.removeprefix("file:"))[0].unlink()
    with refused(MISMATCH, "it is missing"):
        read(ours)


@BOTH
def test_what_is_inserted_is_sealed_along(spark: SparkSession, ours: Source, partitions: str) -> None:
    create(ours, partitions)
    seal(spark, ours.path)
    spark.sql(f"INSERT INTO {ours.table} SELECT id + 100, name, country FROM pme_people WHERE id < 2")
    assert [version.rows for version in pme.snapshots(ours.path)] == [20, 22]
    assert read(ours) == [*range(20), 100, 101]


def test_an_added_file_is_refused(spark: SparkSession, ours: Source) -> None:
    create(ours)
    seal(spark, ours.path)
    append(ours)
    with refused(MISMATCH, "is not in the list"):
        read(ours)


def test_a_file_added_to_a_partition_is_refused(spark: SparkSession, ours: Source) -> None:
    create(ours, "PARTITIONED BY (country)")
    seal(spark, ours.path)
    append(ours, "country")
    for condition in ("true", "country = 'fr'"):
        with refused(MISMATCH, "is not in the list"):
            read(ours, condition)


def test_a_partition_that_the_catalog_gets_is_refused(spark: SparkSession, ours: Source, tmp_path: Path) -> None:
    directory = create(ours, "PARTITIONED BY (country)")
    seal(spark, ours.path)
    shutil.copytree(directory / "country=fr", directory / "country=xx")
    assert read(ours) == list(range(20)), "the catalog does not list it"
    spark.sql(f"ALTER TABLE {ours.table} ADD PARTITION (country = 'xx')")
    with refused(MISMATCH, "country=xx", "is not in the list"):
        read(ours)


@pytest.mark.parametrize("settings", [{}, {"snapshot": "require"}, {"minSnapshot": "1"}], ids=str)
def test_a_partition_at_another_place_is_refused(
    spark: SparkSession, ours: Source, tmp_path: Path, conf: Conf, settings: dict[str, str]
) -> None:
    directory = create(ours, "PARTITIONED BY (country)")
    seal(spark, ours.path)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(directory / "country=fr", elsewhere)
    spark.sql(f"ALTER TABLE {ours.table} PARTITION (country = 'fr') SET LOCATION '{elsewhere}'")
    with conf({f"spark.datasource.pme-parquet.{name}": value for name, value in settings.items()}), refused(MISMATCH):
        read(ours)


def test_a_partition_that_the_catalog_dropped_is_not_missed(spark: SparkSession, ours: Source) -> None:
    create(ours, "PARTITIONED BY (country)")
    seal(spark, ours.path)
    spark.sql(f"ALTER TABLE {ours.table} DROP PARTITION (country = 'fr')")
    assert len(read(ours)) == 13


def test_files_of_a_listed_partition_are_missed(spark: SparkSession, ours: Source) -> None:
    directory = create(ours, "PARTITIONED BY (country)")
    seal(spark, ours.path)
    for file in data_files(directory / "country=fr"):
        file.unlink()
    with refused(MISMATCH, "country=fr", "it is missing"):
        read(ours)
    shutil.rmtree(directory / "country=fr")
    with refused(MISMATCH, "country=fr", "it is missing"):
        read(ours)


REFUSED = {
    "snapshot": "off",
    "verifyKey": "file:/keys/signer.pem",
    "signingKey": "signer",
}


@pytest.mark.parametrize(("option", "value"), REFUSED.items())
def test_a_table_does_not_say_how_it_is_sealed(spark: SparkSession, ours: Source, option: str, value: str) -> None:
    create(ours)
    seal(spark, ours.path)
    other = f"{ours.table}_other"
    try:
        spark.sql(f"CREATE TABLE {other} (id BIGINT) {ours.clause(**{option: value})} LOCATION '{ours.path}'")
        spark.catalog.refreshTable(other)
        with refused("PME_BAD_OPTION", option):
            spark.table(other).collect()
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {other}")


def test_a_table_states_the_least_version_of_its_snapshot(spark: SparkSession, ours: Source, conf: Conf) -> None:
    with refused(MISMATCH, "the table has no snapshot", "minSnapshot"):
        create(ours, minSnapshot="2")
    ours.write(spark.table("pme_people"))
    columns = "(id BIGINT, name STRING, country STRING)"
    spark.sql(f"CREATE TABLE {ours.table} {columns} {ours.clause(minSnapshot='2')} LOCATION '{ours.path}'")
    with refused(MISMATCH, "the table has no snapshot", "minSnapshot"):
        read(ours)
    seal(spark, ours.path)
    with refused(NOT_AUTHENTIC, "it is version 1", "minSnapshot=2"):
        read(ours)
    seal(spark, ours.path)
    assert len(read(ours)) == 20
    # The session's own value counts, and the table must not state another.
    with conf({"spark.datasource.pme-parquet.minSnapshot": "3"}), refused("PME_BAD_OPTION", "minSnapshot"):
        read(ours)
    with conf({"spark.datasource.pme-parquet.minSnapshot": "2"}):
        assert len(read(ours)) == 20


def test_a_session_that_requires_snapshots_refuses_a_table_without(
    spark: SparkSession, ours: Source, conf: Conf
) -> None:
    create(ours)
    with conf({"spark.datasource.pme-parquet.snapshot": "require"}), refused(MISMATCH, "has no snapshot", "require"):
        read(ours)


def drained(spark: SparkSession, source: Source, **options: str) -> list[int]:
    """Return the ids that a new stream over the path reads until there is nothing more."""
    name = "drained"
    schema = spark.table("pme_people").schema
    stream = spark.readStream.format(source.format).options(**{**source.read_options, **options}).schema(schema)
    query = stream.load(source.path).writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
    query.awaitTermination(MINUTE)
    return sorted(row.id for row in spark.table(name).collect())


def test_a_stream_reads_a_sealed_table(spark: SparkSession, ours: Source) -> None:
    ours.write(spark.table("pme_people"))
    seal(spark, ours.path)
    assert drained(spark, ours) == list(range(20))
    assert drained(spark, ours, snapshot="require") == list(range(20))
    append(ours)
    seal(spark, ours.path)
    assert drained(spark, ours) == list(range(25))


@pytest.mark.parametrize("options", [{}, {"maxFilesPerTrigger": "1"}], ids=["at once", "file by file"])
def test_a_stream_refuses_a_file_that_the_list_lacks(
    spark: SparkSession, ours: Source, options: dict[str, str]
) -> None:
    ours.write(spark.table("pme_people"))
    seal(spark, ours.path)
    append(ours)
    assert outcome(lambda: drained(spark, ours, **options), innermost_condition) == MISMATCH
    assert drained(spark, ours, snapshot="off", **options) == list(range(25))


def test_a_stream_that_continues_reads_what_was_sealed_meanwhile(spark: SparkSession, ours: Source) -> None:
    ours.write(spark.table("pme_people"))
    seal(spark, ours.path)
    out = f"{ours.path}-out"

    def run() -> int:
        schema = spark.table("pme_people").schema
        stream = spark.readStream.format(ours.format).options(**ours.read_options).schema(schema).load(ours.path)
        writer = stream.writeStream.format(ours.format).options(**ours.write_options)
        query = writer.option("checkpointLocation", f"{ours.path}-state").trigger(availableNow=True).start(out)
        query.awaitTermination(MINUTE)
        return spark.read.format(ours.format).options(**ours.read_options).load(out).count()

    assert run() == 20
    append(ours)
    assert outcome(run, innermost_condition) == MISMATCH
    seal(spark, ours.path)
    assert run() == 25


def test_a_stream_of_a_table_of_the_catalog_reads_by_its_snapshot(spark: SparkSession, ours: Source) -> None:
    create(ours)
    seal(spark, ours.path)

    def run() -> list[int]:
        name = "drained_table"
        writer = spark.readStream.table(ours.table).writeStream.format("memory").queryName(name)
        writer.trigger(availableNow=True).start().awaitTermination(MINUTE)
        return sorted(row.id for row in spark.table(name).collect())

    assert run() == list(range(20))
    append(ours)
    assert outcome(run, innermost_condition) == MISMATCH


def test_a_table_may_store_that_its_writes_seal_it(spark: SparkSession, ours: Source, conf: Conf) -> None:
    ours.writer(spark.table("pme_people"), snapshot="update", path=ours.path).saveAsTable(ours.table)
    spark.sql(f"INSERT INTO {ours.table} SELECT id + 100, name, country FROM pme_people")
    assert pme.snapshots(ours.path)[-1].version == 2
    for setting in ({}, {"spark.datasource.pme-parquet.snapshot": "require"}):
        with conf(setting):
            assert len(read(ours)) == 40
    shutil.rmtree(Path(ours.path) / "_pme_snapshots")
    with conf({"spark.datasource.pme-parquet.snapshot": "require"}), refused(MISMATCH):
        read(ours)
