"""A table with a snapshot is read as the snapshot lists it, or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.snapshots.tables import DAMAGED, KMS, MISMATCH, NOT_AUTHENTIC, ids, load, plant, seal, write
from tests.support.canary import data_files
from tests.support.expect import refused
from tests.support.frames import people
from tests.support.session import TEST_KMS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.source import Conf


@pytest.fixture
def table(spark: SparkSession, target: str) -> str:
    """Return a sealed table of 20 people in two files."""
    write(people(spark).repartition(2), target)
    seal(spark, target)
    return target


@pytest.fixture
def partitioned(spark: SparkSession, target: str) -> str:
    """Return a sealed table that is partitioned by country."""
    write(people(spark).coalesce(1), target, "country")
    seal(spark, target)
    return target


READERS = [{"reader": "pages"}, {"reader": "spark"}, {"scan": "v2"}, {"scan": "v2", "reader": "spark"}]


@pytest.mark.parametrize("how", READERS, ids=str)
def test_a_sealed_table_has_the_rows_that_it_had(spark: SparkSession, table: str, how: dict[str, str]) -> None:
    assert ids(spark, table, snapshot="require", **how) == list(range(20))


@pytest.mark.parametrize("how", READERS, ids=str)
def test_an_added_file_is_refused_until_the_table_is_sealed_again(
    spark: SparkSession, table: str, how: dict[str, str]
) -> None:
    plant(people(spark, 20, 5).coalesce(1), table)
    with refused(MISMATCH, "is not in the list", "pme.seal"):
        ids(spark, table, **how)
    assert len(ids(spark, table, snapshot="off", **how)) == 25
    assert seal(spark, table).opened == 1
    assert len(ids(spark, table, **how)) == 25


@pytest.mark.parametrize("how", READERS, ids=str)
def test_a_removed_file_is_refused(spark: SparkSession, table: str, how: dict[str, str]) -> None:
    data_files(table)[0].unlink()
    with refused(MISMATCH, "it is missing"):
        ids(spark, table, **how)


@pytest.mark.parametrize("how", READERS, ids=str)
def test_a_file_that_another_one_of_the_same_keys_replaces_is_refused(
    spark: SparkSession, table: str, target: str, how: dict[str, str]
) -> None:
    # The footer is altered, and the length stays: only the digest shows it.
    [first, _] = data_files(table)
    other = f"{target}-other"
    write(people(spark, 100).repartition(2), other)
    donor = next(file for file in data_files(other))
    content = donor.read_bytes()
    length = first.stat().st_size
    first.write_bytes(content[:4] + b"\0" * max(0, length - len(content)) + content[4:])
    (first.parent / f".{first.name}.crc").unlink()
    with refused(MISMATCH):
        ids(spark, table, **how)


@pytest.mark.parametrize("how", READERS, ids=str)
def test_a_file_with_another_footer_of_the_same_length_is_refused(
    spark: SparkSession, table: str, how: dict[str, str]
) -> None:
    original = data_files(table)[0].read_bytes()
    # A rewritten table has files of the same length, and random keys.
    for _ in range(50):
        write(people(spark).repartition(2), table + "-again", mode="overwrite")
        twin = data_files(table + "-again")[0].read_bytes()
        if len(twin) == len(original):
            break
    else:
        pytest.fail("no twin of the same length")
    data_files(table)[0].write_bytes(twin)
    (data_files(table)[0].parent / f".{data_files(table)[0].name}.crc").unlink()
    with refused(MISMATCH, "another footer"):
        ids(spark, table, **how)


def test_a_removed_partition_is_refused(spark: SparkSession, partitioned: str) -> None:
    shutil.rmtree(Path(partitioned) / "country=fr")
    with refused(MISMATCH, "country=fr", "it is missing"):
        ids(spark, partitioned)


def test_a_pattern_of_paths_does_not_hide_a_removed_partition(spark: SparkSession, partitioned: str) -> None:
    assert len(ids(spark, f"{partitioned}/country=*")) == 20
    shutil.rmtree(Path(partitioned) / "country=fr")
    with refused(MISMATCH, "country=fr", "it is missing"):
        ids(spark, f"{partitioned}/country=*")


def test_a_partition_and_a_file_are_read_by_the_snapshot_of_their_table(spark: SparkSession, partitioned: str) -> None:
    french = load(spark, f"{partitioned}/country=fr").select("id").collect()
    assert len(french) == 7
    file = data_files(Path(partitioned) / "country=fr")[0]
    assert len(ids(spark, str(file))) == 7
    plant(people(spark, 20, 9).coalesce(1), partitioned, "country")
    with refused(MISMATCH, "is not in the list"):
        ids(spark, f"{partitioned}/country=fr")


def test_a_table_that_is_moved_is_refused(spark: SparkSession, table: str) -> None:
    shutil.copytree(table, table + "-copy")
    with refused(NOT_AUTHENTIC, "it was made for the table at"):
        ids(spark, table + "-copy")


def test_a_table_without_a_snapshot_is_read_unless_one_is_required(spark: SparkSession, target: str) -> None:
    write(people(spark), target)
    assert len(ids(spark, target)) == 20
    for options in ({"snapshot": "require"}, {"minSnapshot": "1"}):
        with refused(MISMATCH, "the table has no snapshot", next(iter(options))):
            ids(spark, target, **options)


def test_a_session_refuses_a_version_older_than_one_it_has_read(spark: SparkSession, table: str) -> None:
    first = {file: file.read_bytes() for file in Path(table).rglob("*") if file.is_file()}
    plant(people(spark, 20, 5).coalesce(1), table)
    seal(spark, table)
    assert len(ids(spark, table)) == 25
    shutil.rmtree(table)
    for file, content in first.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    with refused(NOT_AUTHENTIC, "it is version 1, and this session has read version 2"):
        ids(spark, table)
    fresh = spark.newSession()
    assert len(ids(fresh, table)) == 20
    with refused(NOT_AUTHENTIC, "minSnapshot=2"):
        ids(spark.newSession(), table, minSnapshot="2")


def test_a_session_notices_that_snapshots_are_gone(spark: SparkSession, table: str) -> None:
    assert len(ids(spark, table)) == 20
    shutil.rmtree(Path(table) / "_pme_snapshots")
    with refused(NOT_AUTHENTIC, "this session has read version 1"):
        ids(spark, table)
    assert len(ids(spark, table, snapshot="off")) == 20
    with refused(NOT_AUTHENTIC, "this session has read version 1"):
        seal(spark, table)
    other = spark.newSession()
    assert seal(other, table).version == 1
    assert len(ids(other, table)) == 20


def test_a_version_can_be_pinned_by_number_and_by_digest(spark: SparkSession, table: str) -> None:
    made = seal(spark, table)
    assert made.version == 2
    for choice in ("1", "2", made.digest, made.digest[:12]):
        assert len(ids(spark, table, snapshot=choice)) == 20
    with refused(MISMATCH, "version 3 is not there"):
        ids(spark, table, snapshot="3")
    with refused("PME_BAD_OPTION", "snapshot"):
        ids(spark, table, snapshot="newest")


def test_snapshots_can_lie_elsewhere(spark: SparkSession, target: str) -> None:
    write(people(spark), target)
    location = f"{target}-lists"
    seal(spark, target, location=location)
    assert not (Path(target) / "_pme_snapshots").exists()
    assert len(ids(spark, target, snapshotLocation=location, snapshot="require")) == 20
    data_files(target)[0].unlink()
    with refused(MISMATCH, "it is missing"):
        ids(spark, target, snapshotLocation=location)


def manifest(table: str) -> Path:
    """Return the manifest of the first version."""
    return Path(table) / "_pme_snapshots" / "snapshot-0000000001.json"


def test_an_altered_manifest_is_refused(spark: SparkSession, table: str) -> None:
    file = manifest(table)
    content = file.read_bytes()
    file.write_bytes(content.replace(b'"rows":20', b'"rows":21'))
    with refused(NOT_AUTHENTIC, "its HMAC does not match"):
        ids(spark, table)


def test_a_cut_manifest_is_refused(spark: SparkSession, table: str) -> None:
    file = manifest(table)
    content = file.read_bytes()
    for length in (0, 10, content.index(b"\n"), content.index(b"\n") + 1, len(content) - 1):
        file.write_bytes(content[:length])
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
        with refused(DAMAGED):
            ids(spark, table)


def test_an_altered_part_is_refused(spark: SparkSession, table: str) -> None:
    [part] = (Path(table) / "_pme_snapshots").glob("part-*.parquet")
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    with refused(NOT_AUTHENTIC, "another digest"):
        ids(spark.newSession(), table)


def test_a_seal_under_another_master_key_than_the_named_footer_key_is_refused(spark: SparkSession, table: str) -> None:
    assert len(ids(spark, table, footerKey="footer")) == 20
    with refused(NOT_AUTHENTIC, "its HMAC is under master key 'footer'", "'pii'"):
        load(spark, table, footerKey="pii").count()


def test_a_streaming_source_and_sql_read_by_the_snapshot(spark: SparkSession, table: str) -> None:
    spark.sql(f"CREATE OR REPLACE TEMP VIEW sealed USING `pme-parquet` OPTIONS (path '{table}', kms '{TEST_KMS}')")
    assert spark.sql("SELECT * FROM sealed").count() == 20
    plant(people(spark, 20, 5).coalesce(1), table)
    spark.catalog.refreshTable("sealed")
    with refused(MISMATCH, "is not in the list"):
        spark.sql("SELECT count(*) AS n FROM sealed").first()


def test_an_existing_frame_sees_that_the_table_was_sealed_again(spark: SparkSession, table: str) -> None:
    frame = load(spark, table)
    assert frame.count() == 20
    plant(people(spark, 20, 5).coalesce(1), table)
    seal(spark, table)
    with refused(MISMATCH, "was added after this table was loaded"):
        frame.count()


def test_an_aggregate_that_footers_answer_is_compared_too(spark: SparkSession, table: str, conf: Conf) -> None:
    with conf({"spark.sql.parquet.aggregatePushdown": "true"}):
        assert load(spark, table).agg({"id": "max"}).collect()[0][0] == 19
        data_files(table)[0].unlink()
        with refused(MISMATCH):
            load(spark, table).agg({"id": "max"}).first()


def test_a_file_with_other_keys_than_the_rest_is_not_sealed(spark: SparkSession, target: str) -> None:
    write(people(spark).coalesce(1), target)
    save_more = people(spark, 20, 5).coalesce(1).write.format("pme-parquet").mode("append")
    save_more.options(**KMS, footerKey="footer", columnKeys="pii: name, ssn, salary").save(target)
    with refused("PME_UNSUPPORTED", "column 'salary'", "'pay'", "'pii'"):
        seal(spark, target)
    assert not (Path(target) / "_pme_snapshots").exists()


def test_only_the_directory_of_a_table_is_sealed(spark: SparkSession, partitioned: str) -> None:
    with refused("PME_BAD_OPTION", "it is a part of the table"):
        seal(spark, f"{partitioned}/country=fr")


def test_a_table_in_plaintext_is_sealed_with_the_footer_key_of_the_options(spark: SparkSession, target: str) -> None:
    people(spark).write.parquet(target)
    options = KMS | {"plaintextFiles": "allow"}
    with refused("PME_BAD_OPTION", "signingKey"):
        pme.seal(spark, target, options=options, expect="unsealed")
    pme.seal(spark, target, options=options | {"footerKey": "footer"}, expect="unsealed")
    assert len(ids(spark, target, plaintextFiles="allow")) == 20
    data_files(target)[0].unlink()
    with refused(MISMATCH):
        ids(spark, target, plaintextFiles="allow")


def test_saving_and_sealing_leave_nothing_else(spark: SparkSession, table: str) -> None:
    names = {file.name.split("-")[0] for file in (Path(table) / "_pme_snapshots").iterdir() if file.suffix != ".crc"}
    assert names == {"snapshot", "part"}


def test_a_planted_directory_of_snapshots_does_not_hide_those_of_the_table(
    spark: SparkSession, partitioned: str
) -> None:
    (Path(partitioned) / "country=fr" / "_pme_snapshots").mkdir()
    plant(people(spark, 20, 9).coalesce(1), partitioned, "country")
    with refused(MISMATCH, "is not in the list"):
        ids(spark, f"{partitioned}/country=fr")


def test_a_version_that_does_not_continue_the_one_that_was_read_is_refused(
    spark: SparkSession, table: str, tmp_path: Path
) -> None:
    snapshots = Path(table) / "_pme_snapshots"
    shutil.copytree(table, tmp_path / "first")
    plant(people(spark, 20, 5).coalesce(1), table)
    seal(spark, table)
    assert len(ids(spark, table)) == 25
    # The table goes back to its first version, and somebody who does not know that seals it twice.
    shutil.rmtree(table)
    shutil.copytree(tmp_path / "first", table)
    other = spark.newSession()
    for version in (2, 3):
        assert seal(other, table).version == version
    assert len(list(snapshots.glob("snapshot-*.json"))) == 3
    with refused(NOT_AUTHENTIC, "it does not continue version 2"):
        ids(spark, table)


def test_a_version_that_continues_later_is_read(spark: SparkSession, table: str) -> None:
    assert len(ids(spark, table)) == 20
    other = spark.newSession()
    for _ in range(3):
        seal(other, table)
    assert len(ids(spark, table)) == 20


def test_sealing_respects_min_snapshot(spark: SparkSession, table: str) -> None:
    with refused(NOT_AUTHENTIC, "minSnapshot=2"):
        pme.seal(spark, table, options=KMS | {"minSnapshot": "2"})


def test_a_file_that_disappears_after_loading_is_not_skipped(spark: SparkSession, table: str, conf: Conf) -> None:
    with conf({"spark.sql.files.ignoreMissingFiles": "true"}):
        frame = load(spark, table, ignoreMissingFiles="true")
        assert frame.count() == 20
        data_files(table)[0].unlink()
        with pytest.raises(Exception, match=r"FileNotFound|FILE_NOT_EXIST|FILE_NOT_FOUND|does not exist"):
            frame.collect()
