"""Compaction from end to end; `CompactionSuite` has the rest."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.frames import call, people

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_small_files_become_one_and_a_sealed_table_stays_sealed(
    spark: SparkSession, keys: pme.Keystore, enc: pme.Encryption, target: str
) -> None:
    for _ in range(3):
        pme.write(people(spark).coalesce(1), target, enc, mode="append")
    rows = sorted(pme.read(spark, target, kms=keys).collect())
    pme.seal(spark, target, kms=keys, expect="unsealed")
    planned = pme.compact(spark, target, keys, dry_run=True)
    assert [(one.file, len(one.replaced)) for one in planned.merged] == [(None, 3)]
    done = pme.compact(spark, target, keys)
    assert [Path(path).name for path in data_files(target)] == [one.file for one in done.merged]
    assert (len(done.merged), done.merged[0].rows, done.left, done.put_right) == (1, len(rows), (), False)
    assert done.sealed is not None
    assert (done.sealed.version, done.sealed.removed) == (2, 3)
    assert sorted(pme.read(spark, target, kms=keys).collect()) == rows
    assert spark.sql(f"SELECT * FROM {call('pme_compact', target, options=keys.options())}").collect() == []


@pytest.mark.parametrize("version", ["1.0", "2.6"])
def test_files_of_pyarrow_become_one_with_all_their_types_or_stay(
    spark: SparkSession, keys: pme.Keystore, target: str, version: str
) -> None:
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.uint16()),
            "at": pa.array([1_000_005] * 2, pa.timestamp("us")),
            "in_utc": pa.array([1_005] * 2, pa.timestamp("ms", "UTC")),
            "time": pa.array([dt.time(1, 2, 3)] * 2, pa.time64("us")),
            "amount": pa.array([Decimal("1.25")] * 2, pa.decimal128(20, 2)),
            "fixed": pa.array([b"abcd"] * 2, pa.binary(4)),
            "deep": [[{"a": [1, None], "b": "x"}], None],
            "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int8())),
            "word": pa.array(["w", "w"]).dictionary_encode(),
        }
    )
    # Not every parquet-java writes the type of a column without values again.
    tables = {"part=usual": table, "part=null": table.append_column("nothing", pa.nulls(2))}
    for name, rows in tables.items():
        (Path(target) / name).mkdir(parents=True)
        for number in range(2):
            pq.write_table(rows, Path(target) / name / f"{number}.parquet", version=version)
    done = pme.compact(spark, target, keys, options={"plaintextFiles": "allow"})
    merged = {Path(one.directory).name for one in done.merged}
    left = {Path(one.file).parent.name for one in done.left if "would not write again" in one.reason}
    assert "part=usual" in merged
    assert merged | left == set(tables)
    assert not merged & left
    for name in merged:
        [file] = (Path(target) / name).glob("*.parquet")
        assert pq.ParquetFile(file).read() == pa.concat_tables([tables[name]] * 2)
