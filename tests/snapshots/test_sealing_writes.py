"""What a write may add to a sealed table: its own files, to exactly those that the last version lists."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.functions import udf

import pme_parquet as pme
from tests.snapshots.tables import KEYS, KMS, MISMATCH, NOT_AUTHENTIC, ids, seal, write
from tests.support.canary import data_files
from tests.support.expect import refused, untouched
from tests.support.frames import people

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

UNSEALED = "unsealed"


def append(frame: DataFrame, path: str, *partitions: str, mode: str = "append", **options: str) -> None:
    """Write one file, or one for each partition, with the usual keys."""
    writer = frame.coalesce(1).write.format("pme-parquet").options(**KEYS, **options)
    writer.mode(mode).partitionBy(*partitions).save(path)


def versions(path: str) -> list[int]:
    """Return the versions that have a manifest."""
    return sorted(int(file.stem[-10:]) for file in Path(path, "_pme_snapshots").glob("snapshot-*.json"))


@pytest.fixture
def table(spark: SparkSession, target: str) -> str:
    """Return a sealed table with the ids 0 to 19 in one file."""
    append(people(spark), target, snapshot="update")
    return target


@pytest.fixture
def other_file(spark: SparkSession, tmp_path: Path) -> Path:
    """Return a file with other ids under the same keys, which lies elsewhere."""
    elsewhere = str(tmp_path / "elsewhere")
    append(people(spark, 500), elsewhere)
    return Path(data_files(elsewhere)[0])


# What begins a history.


def test_an_update_begins_no_history_over_files_that_no_version_lists(
    spark: SparkSession, table: str, other_file: Path
) -> None:
    shutil.rmtree(Path(table, "_pme_snapshots"))
    shutil.copy(other_file, table)
    for session in (spark, spark.newSession()):
        with untouched(table), refused(MISMATCH, "2 files and no snapshot", 'expect="unsealed"'):
            append(people(session, 20), table, snapshot="update")


def test_a_seal_of_files_that_no_version_lists_names_them_and_needs_a_yes(spark: SparkSession, target: str) -> None:
    append(people(spark), target)
    name = Path(data_files(target)[0]).name
    for wrong in (None, 2, "0000000000001"):
        with untouched(target), refused(MISMATCH, f"added {name}", 'expect="unsealed"'):
            pme.seal(spark, target, options=KMS, expect=wrong)
    assert pme.seal(spark, target, options=KMS, expect=UNSEALED).version == 1
    with refused(MISMATCH, "0 files changed since version 1"):
        pme.seal(spark, target, options=KMS, expect=UNSEALED)


@pytest.mark.parametrize("wrong", ["yes", "1 file", "-1", "changes:1", ""])
def test_an_expectation_that_means_nothing_is_refused(spark: SparkSession, table: str, wrong: str) -> None:
    with refused("PME_BAD_OPTION", "expect"):
        pme.seal(spark, table, options=KMS, expect=wrong)


def test_a_session_does_not_seal_again_a_table_whose_snapshots_it_knew(spark: SparkSession, table: str) -> None:
    shutil.rmtree(Path(table, "_pme_snapshots"))
    with refused(NOT_AUTHENTIC, "has read version 1"):
        pme.seal(spark, table, options=KMS, expect=UNSEALED)
    assert pme.seal(spark.newSession(), table, options=KMS, expect=UNSEALED).version == 1


def test_a_full_overwrite_begins_a_history_over_anything(spark: SparkSession, target: str) -> None:
    append(people(spark), target)
    append(people(spark, 100), target, mode="overwrite", snapshot="update")
    assert (versions(target), ids(spark, target, snapshot="require")) == ([1], list(range(100, 120)))


# What a version adds.


def test_a_seal_shows_a_replaced_file_of_the_same_length(spark: SparkSession, table: str) -> None:
    file = Path(data_files(table)[0])
    old = file.read_bytes()
    append(people(spark), table, mode="overwrite")
    newer = Path(data_files(table)[0])
    assert newer.stat().st_size == len(old), "the test needs two files of one length"
    newer.write_bytes(old)
    newer.with_name(f".{newer.name}.crc").unlink(missing_ok=True)
    with untouched(table), refused(MISMATCH, "the file was replaced"):
        append(people(spark, 20), table)
    with untouched(table), refused(MISMATCH, f"replaced {newer.name}", "expect=1"):
        pme.seal(spark, table, options=KMS)
    assert pme.seal(spark, table, options=KMS, expect=1).replaced == 1


def test_a_file_that_was_only_touched_is_the_same(spark: SparkSession, table: str) -> None:
    os.utime(data_files(table)[0], (1, 1))
    append(people(spark, 20), table)
    assert pme.seal(spark, table, options=KMS).added == 0
    assert ids(spark, table) == list(range(40))


def test_a_file_planted_while_a_write_runs_is_not_sealed(spark: SparkSession, table: str, other_file: Path) -> None:
    source, planted = str(other_file), str(Path(table, other_file.name))

    @udf("long", useArrow=False)
    def plant(number: int) -> int:
        shutil.copy(source, planted)
        return number

    frame = people(spark, 20)
    append(frame.withColumn("id", plant("id")).select(*frame.columns), table)
    assert versions(table) == [1, 2]
    with refused(MISMATCH, other_file.name, "not in the list"):
        ids(spark, table)
    Path(planted).unlink()
    assert ids(spark, table, snapshot="require") == list(range(40))


def test_a_file_removed_while_a_write_runs_ends_in_no_version(spark: SparkSession, table: str) -> None:
    removed = str(data_files(table)[0])

    @udf("long", useArrow=False)
    def remove(number: int) -> int:
        Path(removed).unlink(missing_ok=True)
        return number

    frame = people(spark, 20)
    with refused(MISMATCH, "the data is written, but the table is not sealed", "the file is missing"):
        append(frame.withColumn("id", remove("id")).select(*frame.columns), table)
    assert versions(table) == [1]


def test_appends_at_the_same_time_are_all_sealed(spark: SparkSession, table: str) -> None:
    # Otherwise the committer of one write removes the temporary files of the other.
    apart = {
        "mapreduce.fileoutputcommitter.algorithm.version": "2",
        "mapreduce.fileoutputcommitter.cleanup.skipped": "true",
    }

    def appended(start: int) -> bool:
        try:
            append(people(spark, start), table, **apart)
        except pme.SnapshotMismatchError as error:
            # The other's files were committed and not sealed yet: this one has written nothing.
            if "the data is written" in str(error):
                raise
            return False
        return True

    def one(start: int) -> None:
        assert any(appended(start) for _ in range(50))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(one, (20, 40, 60)))
    assert versions(table) == [1, 2, 3, 4]
    assert ids(spark, table, snapshot="require") == list(range(80))


def test_a_dropped_index_adds_no_file(spark: SparkSession, table: str, other_file: Path) -> None:
    pme.seal(spark, table, options=KMS, index=[pme.MinMax("id")])
    shutil.copy(other_file, table)
    with untouched(table), refused(MISMATCH, "the file was added"):
        pme.drop_index(spark, table, "id", options=KMS)


# Every write of ours to a sealed table.


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_write_that_does_not_ask_seals_a_sealed_table_as_well(spark: SparkSession, table: str, mode: str) -> None:
    append(people(spark, 20), table, mode=mode)
    expected = list(range(40)) if mode == "append" else list(range(20, 40))
    assert (versions(table), ids(spark, table, snapshot="require")) == ([1, 2], expected)


def test_a_session_that_knew_an_older_version_follows_an_overwrite(spark: SparkSession, table: str) -> None:
    reader = spark.newSession()
    assert ids(reader, table) == list(range(20))
    for start in (20, 40):
        append(people(spark, start), table, mode="overwrite")
    assert ids(reader, table, minSnapshot="3") == list(range(40, 60))


@pytest.mark.parametrize("kind", ["dynamic", "static"])
def test_an_overwrite_of_a_partition_keeps_the_seal(spark: SparkSession, target: str, conf: Conf, kind: str) -> None:
    append(people(spark), target, "country", snapshot="update")
    fresh = people(spark, 100).where("country = 'fr'")
    expected = {row.id for row in people(spark).where("country != 'fr'").collect()} | {r.id for r in fresh.collect()}
    if kind == "static":
        columns = ", ".join(fresh.columns[:-1])
        options = ", ".join(f"'{name}' '{value}'" for name, value in KEYS.items() if name != "kms")
        with conf({"spark.datasource.pme-parquet.kms": KEYS["kms"]}):
            spark.sql(
                f"CREATE TABLE sealed_parts ({fresh.drop('country')._jdf.schema().toDDL()}, country STRING) "
                f"USING `pme-parquet` OPTIONS ({options}) PARTITIONED BY (country) LOCATION '{target}'"
            )
            try:
                spark.sql("MSCK REPAIR TABLE sealed_parts")
                fresh.createOrReplaceTempView("fresh_people")
                spark.sql(
                    f"INSERT OVERWRITE sealed_parts PARTITION (country = 'fr') SELECT {columns} FROM fresh_people"
                )
            finally:
                spark.sql("DROP TABLE sealed_parts")
    else:
        append(fresh, target, "country", mode="overwrite", partitionOverwriteMode="dynamic")
    assert versions(target) == [1, 2]
    assert set(ids(spark, target, snapshot="require")) == expected


def test_a_write_that_would_leave_a_sealed_table_unsealed_is_refused(spark: SparkSession, target: str) -> None:
    append(people(spark), target, "country", snapshot="update")
    with untouched(target), refused("PME_UNSUPPORTED", "the table is sealed", "snapshot=off"):
        append(people(spark, 20), target, "country", snapshot="off")
    with untouched(target), refused("PME_UNSUPPORTED", "one partition", "the table's directory"):
        append(people(spark, 20).drop("country"), f"{target}/country=de")


def test_a_stream_into_a_sealed_table_is_refused(spark: SparkSession, table: str, tmp_path: Path) -> None:
    source = str(tmp_path / "source")
    people(spark).coalesce(1).write.parquet(source)
    stream = spark.readStream.schema(people(spark).schema).parquet(source).writeStream.format("pme-parquet")
    query = stream.options(**KEYS, checkpointLocation=str(tmp_path / "checkpoint"))
    with pytest.raises(Exception, match=r"PME_UNSUPPORTED.*foreachBatch"):
        query.trigger(availableNow=True).start(table).awaitTermination()
    assert len(data_files(table)) == 1


def test_requirements_of_readers_hold_for_writers(spark: SparkSession, table: str) -> None:
    with untouched(table), refused(NOT_AUTHENTIC, "version 1", "minSnapshot=2"):
        append(people(spark, 20), table, minSnapshot="2")
    shutil.rmtree(Path(table, "_pme_snapshots"))
    for options in ({"snapshot": "require"}, {"minSnapshot": "1"}):
        with untouched(table), refused(MISMATCH):
            append(people(spark.newSession(), 20), table, **options)


# Rotation.


def test_a_rotation_keeps_a_table_sealed(spark: SparkSession, target: str) -> None:
    write(people(spark).repartition(2), target)
    seal(spark, target)
    reader = spark.newSession()
    assert ids(reader, target) == list(range(20))
    done = pme.rotate(spark, target, kms=pme.KmsClass(KMS["kms"]), master_keys={"footer": "footer-2", "pii": "pii-2"})
    assert done.counts == {"rotated": 2}
    assert [(one.version, one.key) for one in pme.snapshots(target)] == [(1, "footer"), (2, "footer-2")]
    for session in (reader, spark.newSession()):
        assert ids(session, target, snapshot="require") == list(range(20))
    assert ids(spark.newSession(), target, footerKey="footer-2") == list(range(20))
    append_keys = {"footerKey": "footer-2", "columnKeys": "pii-2: name, ssn; pay: salary"}
    more = people(spark, 20).coalesce(1).write.format("pme-parquet").options(**KMS, **append_keys)
    more.mode("append").save(target)
    assert ids(reader, target, snapshot="require") == list(range(40))


def test_a_rotation_vouches_for_no_other_file(spark: SparkSession, target: str, other_file: Path) -> None:
    write(people(spark).repartition(2), target)
    seal(spark, target)
    kms: Any = pme.KmsClass(KMS["kms"])
    first = Path(data_files(target)[0])
    original = first.read_bytes()
    first.write_bytes(other_file.read_bytes())
    first.with_name(f".{first.name}.crc").unlink(missing_ok=True)
    with untouched(target), refused(MISMATCH, "the file was replaced by another one"):
        pme.rotate(spark, target, kms=kms, master_keys={"pii": "pii-2"})
    first.write_bytes(original)
    shutil.copy(other_file, target)
    with untouched(target), refused(MISMATCH, "the file was added"):
        pme.rotate(spark, target, kms=kms, master_keys={"pii": "pii-2"})


# Encryption in place.

PLAIN = KMS | {"plaintextFiles": "allow", "footerKey": "footer"}


def in_place(spark: SparkSession, path: str) -> None:
    """Encrypt the table in place."""
    pme.encrypt(spark, path, None, pme.Encryption(kms=pme.KmsClass(KMS["kms"]), footer_key="footer"), in_place=True)


def test_encryption_in_place_keeps_a_table_sealed(spark: SparkSession, target: str) -> None:
    people(spark).repartition(2).write.parquet(target)
    pme.seal(spark, target, options=PLAIN, expect=UNSEALED)
    in_place(spark, target)
    assert versions(target) == [1, 2]
    assert ids(spark, target, snapshot="require") == list(range(20))
    Path(data_files(target)[0]).unlink()
    with refused(MISMATCH, "is missing"):
        ids(spark, target)


def test_encryption_in_place_vouches_for_no_other_bytes(spark: SparkSession, target: str) -> None:
    people(spark).repartition(2).write.parquet(target)
    pme.seal(spark, target, options=PLAIN, expect=UNSEALED)
    file = Path(data_files(target)[0])
    times = file.stat()
    content = bytearray(file.read_bytes())
    content[20] ^= 1
    file.write_bytes(bytes(content))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    with untouched(target), refused(MISMATCH, "its bytes are not those that were sealed"):
        in_place(spark, target)
