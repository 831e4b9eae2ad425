"""Compaction from end to end; `CompactionSuite` has the rest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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
