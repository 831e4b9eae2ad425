"""Tests of each operation on a storage: the rows are right, and what belongs there is there, and nothing else.

The folder of a storage imports them, and has the fixture ``place``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.storage.place import ENC, EXTERNAL, FORMAT, MATERIAL, READING
from tests.support.frames import people, people_rows
from tests.support.session import TEST_KMS
from tests.support.source import rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.storage.place import Place

PART = re.compile(r"(country=(de|fr|it)/)?part-[^/]+\.snappy\.parquet")
NEW = {"footer": "footer-2", "pii": "pii-2", "pay": "pay-2"}
MINUTE = 60


def assert_only(place: Place, *others: str) -> None:
    """Fail unless a place has data files and these."""
    left = {name for name in place.names() if not PART.fullmatch(name)}
    assert left == set(others)
    assert place.data()


def test_writes_and_reads(spark: SparkSession, place: Place) -> None:
    first, second = people(spark).coalesce(1), people(spark, 20).coalesce(1)
    place.write(first, ENC, "error", "country")
    place.write(second, ENC, "append", "country")
    assert_only(place, "_SUCCESS")
    expected = rows(first.union(second))
    for way in ({}, {"scan": "v2"}, {"reader": "spark"}):
        assert place.rows(**way) == expected, way
    assert place.frame().where("country = 'de' AND id > 20").count() == 7
    assert pme.verify(spark, place.path, options=READING).collect() == []
    usage = pme.key_usage(spark, place.path, options=READING)
    assert {row.master_key for row in usage.collect()} == {"footer", "pii", "pay"}
    assert pme.plan(place.frame(), ENC, partition_by="country").refusals == ()
    old = place.data()
    place.write(second, ENC, "overwrite", "country")
    assert_only(place, "_SUCCESS")
    assert not place.data() & old
    assert place.rows() == rows(second)


@pytest.mark.nightly
def test_streams(spark: SparkSession, place: Place) -> None:
    place.write(people(spark))
    target = place.beside("out")
    stream = spark.readStream.format(FORMAT).schema(people(spark).schema).options(**READING).load(place.path)
    sink = stream.writeStream.format(FORMAT).options(**ENC.options(), checkpointLocation=f"{place.path}-checkpoint")
    assert sink.trigger(availableNow=True).start(target.path).awaitTermination(MINUTE)
    assert_only(target, "_spark_metadata/0")
    assert target.rows() == people_rows(spark)


@pytest.mark.parametrize("way", ["internal", "external", "to external"])
def test_rotations(spark: SparkSession, place: Place, way: str) -> None:
    enc = EXTERNAL if way == "external" else ENC
    place.write(people(spark), enc)
    before = place.names()
    done = pme.rotate(
        spark,
        place.path,
        options=READING,
        master_keys=NEW if enc is ENC else {"footer": "footer-2"},
        key_material="external" if way == "to external" else None,
    )
    assert {file.status for file in done.files} == {"rotated"}
    files = {name for name in before if PART.fullmatch(name)}
    beside = {f"{MATERIAL}{name}.json" for name in files} if way != "internal" else set()
    assert place.names() == files | beside | {"_SUCCESS"}
    assert place.rows() == people_rows(spark)
    keys = {row.master_key for row in pme.key_usage(spark, place.path, options=READING).collect()}
    assert keys <= {"footer-2", "pii-2", "pay-2"}
    assert pme.verify(spark, place.path, options=READING).collect() == []


@pytest.mark.nightly
def test_copies(spark: SparkSession, place: Place) -> None:
    expected = people_rows(spark)
    people(spark).coalesce(1).write.partitionBy("country").parquet(place.path)
    before = place.content()
    encrypted, rekeyed, plain = (place.beside(what) for what in ("encrypted", "rekeyed", "plain"))
    pme.encrypt(spark, place.path, encrypted.path, ENC)
    pme.rekey(spark, encrypted.path, rekeyed.path, EXTERNAL)
    pme.decrypt(spark, rekeyed.path, plain.path, TEST_KMS, write_plaintext=True)
    assert place.content() == before
    files = {name for name in before if PART.fullmatch(name)}
    assert (encrypted.names() - {"_SUCCESS"}, encrypted.rows()) == (files, expected)
    of = {name: "/".join([*name.split("/")[:-1], f"{MATERIAL}{name.split('/')[-1]}.json"]) for name in files}
    assert rekeyed.names() - {"_SUCCESS"} == files | set(of.values())
    assert rekeyed.rows() == expected
    assert plain.names() - {"_SUCCESS"} == files
    assert rows(spark.read.parquet(plain.path)) == expected
    assert not [name for name in place.around() if "pme" in name]


def test_in_place(spark: SparkSession, place: Place) -> None:
    people(spark).coalesce(1).write.partitionBy("country").parquet(place.path)
    before = place.names()
    done = pme.encrypt(spark, place.path, enc=ENC, in_place=True)
    assert (done.files, done.already, done.failed) == (len(place.data()), 0, ())
    assert place.names() == before
    assert place.rows() == people_rows(spark)
    assert pme.encrypt(spark, place.path, enc=ENC, in_place=True).already == done.files
    with pytest.raises(Exception, match=r"(?i)encrypt"):
        spark.read.parquet(place.path).collect()


def test_a_migration_of_orc(spark: SparkSession, place: Place) -> None:
    people(spark).coalesce(1).write.partitionBy("country").orc(place.path)
    before, target = place.content(), place.beside("parquet")
    done = pme.migrate_orc(spark, place.path, target.path, ENC, seal=True, options={"plaintextFiles": "allow"})
    assert place.content() == before
    assert done.rows == 20
    assert target.rows(snapshot="require") == people_rows(spark)
    others = {name for name in target.names() if not name.endswith(".parquet") or name.startswith("_")}
    assert {name.split("/")[0] for name in others} <= {"_SUCCESS", "_pme_snapshots"}
