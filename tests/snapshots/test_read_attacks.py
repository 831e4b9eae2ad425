"""Attacks on reads of sealed tables: a read gets each row of the list once, or is refused.

Most attackers here have the storage and no key. They change what Spark takes for a listing: directories, logs, times
and partitions of a catalog.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.snapshots.tables import DAMAGED, KMS, MISMATCH, NOT_AUTHENTIC, ids, load, seal, write
from tests.support.canary import data_files
from tests.support.errors import innermost_condition, outcome
from tests.support.expect import refused
from tests.support.files.bend import replace
from tests.support.frames import people
from tests.support.interop.arrow_kms import LocalKms

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

MINUTE = 60
EVERYONE = list(range(20))
SCANS = pytest.mark.parametrize("scan", ["v1", "v2"])
LONG_AGO = (1000, 1000)


@pytest.fixture
def table(spark: SparkSession, target: str) -> str:
    """Return a sealed table of three files."""
    write(people(spark).repartition(3), target)
    seal(spark.newSession(), target)
    return target


@pytest.fixture
def partitioned(spark: SparkSession, target: str) -> str:
    """Return a sealed table with a partition for each of three countries."""
    write(people(spark).coalesce(1), target, "country")
    seal(spark.newSession(), target)
    return target


def plant_log(table: str, *uris: str) -> None:
    """Make the table look as if a stream had written these files."""
    entry = {"isDir": False, "modificationTime": 0, "blockReplication": 1, "blockSize": 1, "action": "add"}
    sizes = {file.as_uri(): file.stat().st_size for file in data_files(table)}
    entries = [entry | {"path": uri, "size": sizes[uri.split("#")[0].split("?")[0]]} for uri in uris]
    log = Path(table, "_spark_metadata")
    log.mkdir()
    (log / "0").write_text("\n".join(["v1", *map(json.dumps, entries)]))


def uris(table: str) -> list[str]:
    return [file.as_uri() for file in data_files(table)]


@SCANS
def test_a_directory_that_looks_like_a_partition_hides_no_file(spark: SparkSession, table: str, scan: str) -> None:
    planted = Path(table, "x=1", "old.txt")
    planted.parent.mkdir()
    planted.write_text("not a data file")
    os.utime(planted, LONG_AGO)
    for options in ({}, {"pathGlobFilter": "*.parquet"}, {"modifiedAfter": "2020-01-01T00:00:00"}):
        with refused(MISMATCH, "x=1" if not options else table):
            ids(spark.newSession(), table, scan=scan, **options)


@SCANS
def test_a_planted_directory_changes_no_partition_column(spark: SparkSession, target: str, scan: str) -> None:
    write(people(spark).selectExpr("id", "name", "ssn", "salary", "id % 2 AS p").coalesce(1), target, "p")
    seal(spark.newSession(), target)
    options = {"scan": scan, "pathGlobFilter": "*.parquet"}
    assert ids(spark.newSession(), target, **options) == EVERYONE
    Path(target, "p=text").mkdir()
    Path(target, "p=text", "planted.txt").write_text("")
    with refused(MISMATCH, "p=text"):
        ids(spark.newSession(), target, **options)


@SCANS
@pytest.mark.parametrize("options", [{"pathGlobFilter": "*"}, {"modifiedBefore": "2099-01-01T00:00:00"}], ids=str)
def test_a_log_of_a_stream_hides_no_file_from_a_read_that_filters(
    spark: SparkSession, table: str, options: dict[str, str], scan: str
) -> None:
    plant_log(table, *uris(table)[1:])
    with refused(MISMATCH, "_spark_metadata"):
        ids(spark.newSession(), table, scan=scan, **options)


@SCANS
@pytest.mark.parametrize("suffix", ["#1", "?1"])
def test_a_log_of_a_stream_lists_no_file_again_under_another_name(
    spark: SparkSession, table: str, suffix: str, scan: str
) -> None:
    plant_log(table, *uris(table), uris(table)[0] + suffix)
    with refused(MISMATCH, "another name"):
        ids(spark.newSession(), table, scan=scan)


@SCANS
def test_a_modification_time_neither_hides_nor_shows_a_file(spark: SparkSession, table: str, scan: str) -> None:
    options = {"scan": scan, "modifiedAfter": "2020-01-01T00:00:00"}
    assert ids(spark.newSession(), table, **options) == EVERYONE
    os.utime(data_files(table)[0], LONG_AGO)
    with refused(MISMATCH, "modification time"):
        ids(spark.newSession(), table, **options)
    with refused(MISMATCH, "modification time"):
        ids(spark.newSession(), table, scan=scan, modifiedBefore="2020-01-01T00:00:00")
    assert ids(spark.newSession(), table, scan=scan) == EVERYONE


def test_a_query_is_not_answered_from_the_names_of_directories(
    spark: SparkSession, partitioned: str, conf: Conf
) -> None:
    shutil.copytree(Path(partitioned, "country=de"), Path(partitioned, "country=zz"))
    with conf({"spark.sql.optimizer.metadataOnly": "true"}):
        for query in ("DISTINCT country", "max(country)"):
            load(spark, partitioned).createOrReplaceTempView("attacked")
            with refused(MISMATCH, "country=zz"):
                spark.sql(f"SELECT {query} FROM attacked").collect()


@pytest.mark.parametrize(
    "changes",
    [
        ["ADD PARTITION (country = 'zz') LOCATION '{}/country=de'"],
        [
            "PARTITION (country = 'de') SET LOCATION '{}/country=fr'",
            "PARTITION (country = 'fr') SET LOCATION '{}/country=de'",
        ],
    ],
    ids=["twice", "exchanged"],
)
def test_a_catalog_gives_no_partition_the_values_of_another(
    spark: SparkSession, partitioned: str, conf: Conf, changes: list[str]
) -> None:
    with conf({"spark.datasource.pme-parquet.kms": KMS["kms"]}):
        spark.sql("DROP TABLE IF EXISTS attacked")
        spark.sql(
            "CREATE TABLE attacked (id BIGINT, country STRING) USING `pme-parquet` PARTITIONED BY (country) "
            f"LOCATION '{partitioned}'"
        )
        try:
            spark.sql("MSCK REPAIR TABLE attacked")
            assert spark.table("attacked").count() == 20
            for change in changes:
                spark.sql(f"ALTER TABLE attacked {change.format(partitioned)}")
            spark.catalog.refreshTable("attacked")
            for where in ("true", "country IN ('fr', 'zz')"):
                with refused(MISMATCH):
                    spark.table("attacked").where(where).collect()
        finally:
            spark.sql("DROP TABLE attacked")


def test_a_recursive_read_from_above_finds_the_sealed_table(spark: SparkSession, table: str) -> None:
    above, options = str(Path(table).parent), {"recursiveFileLookup": "true", "pathGlobFilter": "*.parquet"}
    # The parts of the snapshot are there, too, and Spark does not look into directories that begin with an underscore.
    assert ids(spark.newSession(), above, **options) == EVERYONE
    shutil.copy(data_files(table)[0], Path(table, "planted.parquet"))
    with refused(MISMATCH, "planted.parquet"):
        ids(spark.newSession(), above, **options)


# Files that are replaced, and put back.


@pytest.fixture
def pair(spark: SparkSession, target: str) -> tuple[str, Path, bytes]:
    """Return a sealed table of one file, and the bytes of another one of the same length and keys."""
    for path, start in ((target, 0), (f"{target}-other", 500)):
        frame = spark.range(start, start + 20, 1, 1)
        frame.write.format("pme-parquet").options(**KMS, footerKey="footer", compression="none").save(path)
    seal(spark.newSession(), target)
    [file], [other] = data_files(target), data_files(f"{target}-other")
    assert file.stat().st_size == other.stat().st_size
    return target, file, other.read_bytes()


def put(file: Path, content: bytes, times: os.stat_result) -> None:
    replace(file, content)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


@SCANS
def test_a_file_that_is_put_back_is_read_again(spark: SparkSession, pair: tuple[str, Path, bytes], scan: str) -> None:
    path, file, other = pair
    session, own, times = spark.newSession(), file.read_bytes(), file.stat()
    put(file, other, times)
    # An unsealed read opens the other file, and remembers it by its length and time.
    assert ids(session, path, scan=scan, snapshot="off") == list(range(500, 520))
    with refused(MISMATCH, "another footer"):
        ids(session, path, scan=scan)
    put(file, own, times)
    assert ids(session, path, scan=scan) == EVERYONE


CHANGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "emptied": (lambda own: own[:0], "0 bytes long"),
    "cut": (lambda own: own[:-20], "bytes long"),
    "longer": (lambda own: own + b"PAR1", "bytes long"),
    "filled": (lambda own: b"x" * len(own), "another footer"),
    "plaintext": (lambda own: own[:-4] + b"PAR1", "another footer"),
}


@SCANS
@pytest.mark.parametrize("change", CHANGES)
def test_a_replaced_file_is_a_mismatch_whatever_it_is(
    spark: SparkSession, pair: tuple[str, Path, bytes], change: str, scan: str
) -> None:
    path, file, _ = pair
    changed, mention = CHANGES[change]
    replace(file, changed(file.read_bytes()))
    for read in (path, f"{path}/*.parquet"):
        with refused(MISMATCH, mention):
            ids(spark.newSession(), read, scan=scan)


def test_after_an_interrupted_overwrite_a_read_says_to_overwrite_again(spark: SparkSession, table: str) -> None:
    def overwrite(start: int) -> list[int]:
        write(people(spark.newSession(), start), table, mode="overwrite")
        return ids(spark.newSession(), table)

    data_files(table)[0].unlink()
    with refused(MISMATCH, "overwrite it again"):
        ids(spark.newSession(), table)
    assert overwrite(100) == list(range(100, 120))
    for part in Path(table, "_pme_snapshots").glob("part-*"):
        part.unlink()
    with refused(DAMAGED, "overwrite it again"):
        ids(spark.newSession(), table)
    assert overwrite(200) == list(range(200, 220))


# Streams.


def drained(spark: SparkSession, path: str, checkpoint: str | Path, **options: str) -> list[int]:
    """Return the ids that a stream over the path reads beyond its checkpoint."""
    found: list[int] = []
    stream = spark.readStream.format("pme-parquet").options(**KMS | options).schema("id long").load(path)
    writer = stream.writeStream.foreachBatch(lambda batch, _: found.extend(row.id for row in batch.collect()))
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    writer.start().awaitTermination(MINUTE)
    return sorted(found)


def test_a_stream_lets_no_log_of_another_stream_say_what_it_reads(
    spark: SparkSession, table: str, tmp_path: Path
) -> None:
    plant_log(table, *uris(table)[1:])
    assert outcome(lambda: drained(spark, table, tmp_path / "c"), innermost_condition) == MISMATCH


def test_a_stream_leaves_out_no_file_that_looks_old(spark: SparkSession, table: str, tmp_path: Path) -> None:
    checkpoint = tmp_path / "c"
    assert drained(spark, table, checkpoint) == EVERYONE
    known = set(data_files(table))
    more = people(spark, 20).coalesce(1).write.format("pme-parquet").options(**KMS, footerKey="footer")
    more.option("columnKeys", "pii: name, ssn; pay: salary").mode("append").save(table)
    [new] = set(data_files(table)) - known
    times = new.stat()
    os.utime(new, LONG_AGO)
    assert outcome(lambda: drained(spark, table, checkpoint), innermost_condition) == MISMATCH
    os.utime(new, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert drained(spark, table, checkpoint) == list(range(20, 40))


@pytest.mark.parametrize("everything", [False, True], ids=["files", "directory"])
def test_a_stream_of_a_pattern_notices_that_all_files_are_gone(
    spark: SparkSession, table: str, tmp_path: Path, *, everything: bool
) -> None:
    def gone(session: SparkSession) -> str:
        read = drained(session, f"{table}/*.parquet", tmp_path / "c", snapshot="require")
        return f"read {len(read)} rows"

    assert gone(spark.newSession()) == "read 20 rows"
    for file in data_files(table):
        file.unlink()
    if everything:
        shutil.rmtree(table)
    assert outcome(lambda: gone(spark.newSession()), innermost_condition) == MISMATCH


# The holder of a column's key and of the storage.


def forge(table: str, key: str, version: int, **content: Any) -> None:
    """Write a version whose HMAC is under this key; it continues the newest one."""
    directory = Path(table, "_pme_snapshots")
    newest = max(directory.glob("snapshot-*.json"))
    before = json.loads(newest.read_text().splitlines()[0])
    digest = hashlib.sha256(newest.read_bytes()).hexdigest()
    line = json.dumps(before | content | {"version": version, "previous": digest}).encode()
    secret = b"pme snapshot key" + os.urandom(16)
    message = b"pme-parquet snapshot 1\n" + hashlib.sha256(line).hexdigest().encode()
    value = base64.b64encode(hmac.new(secret, message, "sha256").digest()).decode()
    wrapped = LocalKms().wrap_key(secret, key)
    by = json.dumps({"algorithm": "HMAC-SHA256", "key": key, "wrappedKey": wrapped, "value": value})
    made = directory / f"snapshot-{version:010d}.json"
    made.write_bytes(line + b"\n" + by.encode() + b"\n")


def take_over(spark: SparkSession, table: str) -> None:
    """Replace all rows by some under a column's key, and write the next version under this key."""
    kept = f"{table}-kept"
    shutil.move(table, kept)
    other = people(spark, 500).coalesce(1).write.format("pme-parquet").options(**KMS, footerKey="pii")
    other.save(table)
    seal(spark.newSession(), table)
    [own] = Path(table, "_pme_snapshots").glob("snapshot-*.json")
    content = json.loads(own.read_text().splitlines()[0])
    own.unlink()
    own.with_name(f".{own.name}.crc").unlink(missing_ok=True)
    history = sorted(Path(kept, "_pme_snapshots").glob("snapshot-*.json"))
    for manifest in history:
        shutil.copy(manifest, own.parent)
    own_facts = ("policy", "files", "rows", "bytes", "parts", "indexes", "partitionColumns")
    forge(table, "pii", len(history) + 1, **{name: content[name] for name in own_facts})


def test_the_holder_of_a_columns_key_makes_no_next_version(spark: SparkSession, table: str) -> None:
    pinned = seal(spark.newSession(), table)
    knowing = spark.newSession()
    assert ids(knowing, table) == EVERYONE
    take_over(spark, table)
    for options in (
        {},
        {"scan": "v2"},
        {"footerKey": "footer"},
        {"columnKeys": "pii: name"},
        {"snapshot": "require"},
        {"snapshot": "3"},
        {"minSnapshot": pinned.digest},
        {"minSnapshot": pinned.pin},
    ):
        for session in (knowing, spark.newSession()):
            with refused(NOT_AUTHENTIC, "pii", never=(pinned.digest,)):
                ids(session, table, **options)
    found = pme.verify(spark.newSession(), table, options=KMS).collect()
    assert [row.condition for row in found] == [NOT_AUTHENTIC]


def test_a_pinned_digest_pins_the_key_even_if_its_version_is_gone(spark: SparkSession, table: str) -> None:
    pinned = seal(spark.newSession(), table)
    take_over(spark, table)
    for version in (1, 2):
        Path(table, "_pme_snapshots", f"snapshot-{version:010d}.json").unlink()
    with refused(NOT_AUTHENTIC, "footerKey"):
        ids(spark.newSession(), table, minSnapshot=pinned.digest[:12])
    with refused(NOT_AUTHENTIC, "'pii'"):
        ids(spark.newSession(), table, footerKey="footer")


def test_a_version_that_a_reader_chooses_is_of_the_history_that_its_session_knows(
    spark: SparkSession, table: str
) -> None:
    knowing = spark.newSession()
    assert ids(knowing, table) == EVERYONE
    for file in data_files(table):
        file.unlink()
    shutil.rmtree(Path(table, "_pme_snapshots"))
    write(people(spark, 500).coalesce(1), table, mode="append")
    seal(spark.newSession(), table)
    with refused(NOT_AUTHENTIC, "history"):
        ids(knowing, table, snapshot="1")
