"""A plan compared with what `inspect` and `key_usage` find. ``jvm/spark`` has the rest, in WritePlanSuite."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.expect import save
from tests.support.frames import people

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.newest
def test_inspect_and_key_usage_find_what_was_planned(
    spark: SparkSession, keys: pme.Keystore, enc: pme.Encryption, target: str
) -> None:
    tried = replace(
        enc,
        column_keys={"pii": ["name", "address"], "pay": "s*"},
        unlisted_columns="plaintext",
        plaintext_footer=True,
    )
    plan = pme.plan(people(spark), tried)
    assert plan == tried.explain(people(spark))
    save(people(spark), target, tried.options())
    found = pme.inspect(target).files[0].columns
    assert found is not None
    assert [(column.path, column.key) for column in plan.columns] == [
        (column.path, column.key.master_key if column.key else None) for column in found
    ]
    assert {column.by for column in plan.columns} == {"column key", "plaintext"}
    used = {row.master_key: set(row.columns) for row in pme.key_usage(spark, target, kms=keys).collect()}
    for key in ("pii", "pay"):
        assert {column.name for column in plan.columns if column.key == key} == used[key]
    assert [column.path for column in plan.plaintext] == ["id", "tags.list.element", "country"]
    once = replace(enc, double_wrapping=False, key_material="external")
    divided = pme.plan(people(spark), once, partition_by=["id", "COUNTRY"])
    assert (divided.files.kek_bits, divided.files.key_material) == (None, "external")
    assert [column.path for column in divided.columns if column.by == "partition column"] == ["id", "COUNTRY"]
