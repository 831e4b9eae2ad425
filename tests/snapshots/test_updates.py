"""A write to a sealed table, or with `snapshot=update`, seals the table after its commit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.snapshots.tables import KEYS, KMS, MISMATCH, ids, plant
from tests.support.canary import data_files
from tests.support.expect import refused
from tests.support.frames import people

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

UPDATE = KEYS | {"snapshot": "update"}


def update(frame: DataFrame, path: str, *partitions: str, mode: str = "append", **options: str) -> None:
    """Write the frame, and seal the table."""
    frame.write.format("pme-parquet").options(**UPDATE, **options).mode(mode).partitionBy(*partitions).save(path)


def versions(path: str) -> list[int]:
    """Return the versions that have a manifest."""
    return sorted(int(file.stem[-10:]) for file in (Path(path) / "_pme_snapshots").glob("snapshot-*.json"))


def test_appends_make_one_version_each(spark: SparkSession, target: str) -> None:
    for start in (0, 20):
        update(people(spark, start).coalesce(1), target)
    assert versions(target) == [1, 2]
    assert ids(spark, target, snapshot="require") == list(range(40))


def test_an_overwrite_continues_the_history(spark: SparkSession, target: str) -> None:
    update(people(spark).coalesce(1), target)
    update(people(spark, 100).coalesce(1), target, mode="overwrite")
    assert versions(target) == [1, 2]
    assert ids(spark, target, minSnapshot="2") == list(range(100, 120))
    assert pme.snapshots(target).problems == ()


def test_an_overwrite_repairs_a_table_whose_list_is_damaged(spark: SparkSession, target: str) -> None:
    update(people(spark).coalesce(1), target)
    [part] = Path(target, "_pme_snapshots").glob("part-*.parquet")
    part.unlink()
    with refused("PME_SNAPSHOT_DAMAGED"):
        update(people(spark, 20).coalesce(1), target)
    update(people(spark, 100).coalesce(1), target, mode="overwrite")
    assert versions(target) == [1, 2]
    assert ids(spark, target, minSnapshot="2") == list(range(100, 120))


def test_a_dynamic_overwrite_seals_the_partitions_that_it_left(spark: SparkSession, target: str, conf: Conf) -> None:
    update(people(spark).coalesce(1), target, "country")
    with conf({"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
        update(people(spark, 100).where("country = 'fr'").coalesce(1), target, "country", mode="overwrite")
    expected = {row.id for row in people(spark).where("country != 'fr'").collect()}
    expected |= {row.id for row in people(spark, 100).where("country = 'fr'").collect()}
    assert set(ids(spark, target, snapshot="require")) == expected
    assert versions(target) == [1, 2]


def test_a_planted_file_is_not_sealed_along(spark: SparkSession, target: str) -> None:
    update(people(spark).coalesce(1), target)
    plant(people(spark, 500).coalesce(1), target)
    with refused(MISMATCH, "the file was added"):
        update(people(spark, 20).coalesce(1), target)
    assert len(data_files(target)) == 2
    assert versions(target) == [1]


def test_a_write_that_cannot_seal_writes_nothing(spark: SparkSession, target: str) -> None:
    update(people(spark).coalesce(1), target)
    with refused("PME_UNSUPPORTED", "sign"):
        update(people(spark, 20).coalesce(1), target, signingKey="signer")
    assert len(data_files(target)) == 1


def test_a_write_that_is_not_sealed_says_that_its_data_is_there(spark: SparkSession, target: str) -> None:
    update(people(spark).coalesce(1), target)
    with refused(MISMATCH, "differ in their keys", "the data is written, but the table is not sealed", "pme.seal"):
        other = KMS | {"footerKey": "footer", "columnKeys": "pii: name, ssn, salary", "snapshot": "update"}
        people(spark, 20).coalesce(1).write.format("pme-parquet").options(**other).mode("append").save(target)
    assert versions(target) == [1]
    assert len(data_files(target)) == 2


def test_the_session_can_ask_for_it_and_sql_writes_seal(spark: SparkSession, target: str, conf: Conf) -> None:
    settings = {f"spark.datasource.pme-parquet.{name}": value for name, value in UPDATE.items() if name != "columnKeys"}
    with conf(settings):
        spark.sql(f"CREATE TABLE sealed_by_sql USING `pme-parquet` LOCATION '{target}' AS SELECT 1 AS id")
        try:
            spark.sql("INSERT INTO sealed_by_sql VALUES (2)")
            assert versions(target) == [1, 2]
            assert sorted(row.id for row in spark.table("sealed_by_sql").collect()) == [1, 2]
        finally:
            spark.sql("DROP TABLE sealed_by_sql")


def test_a_stream_that_asks_for_it_is_refused(spark: SparkSession, target: str, tmp_path: Path) -> None:
    source = str(tmp_path / "source")
    people(spark).coalesce(1).write.parquet(source)
    stream = spark.readStream.schema(people(spark).schema).parquet(source)
    query = stream.writeStream.format("pme-parquet").options(**UPDATE, checkpointLocation=str(tmp_path / "checkpoint"))
    with pytest.raises(Exception, match="PME_UNSUPPORTED"):  # Spark wraps the failure of a stream.
        query.trigger(availableNow=True).start(target).awaitTermination()


def test_pme_write_takes_it(spark: SparkSession, target: str) -> None:
    encryption = pme.Encryption(kms=pme.KmsClass(KMS["kms"]), footer_key="footer")
    pme.write(people(spark), target, encryption, options={"snapshot": "update"})
    assert versions(target) == [1]
