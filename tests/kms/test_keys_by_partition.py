"""A key for each tenant, end to end: one KMS call for each key, a reader of some tenants, and PyArrow with one key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as f

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.expect import refused
from tests.support.interop import arrow_files
from tests.support.kms.clients import Client, Guarded
from tests.support.logs import warnings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TENANTS = ("acme", "bolt", "core")


def encryption(client: Client) -> pme.Encryption:
    return pme.Encryption(kms=pme.PythonKms(client), footer_key="t-{tenant}", column_keys={"pii-{tenant}": ["name"]})


def orders(spark: SparkSession) -> DataFrame:
    tenant = f.element_at(f.array(*map(f.lit, TENANTS)), (f.col("id") % 3 + 1).cast("int"))
    return spark.range(30).select("id", f.concat(f.lit("name-"), "id").alias("name"), tenant.alias("tenant"))


@pytest.mark.all_rows
@pytest.mark.parametrize("by", [["tenant"], []], ids=["partition", "column"])
def test_each_tenants_key_is_asked_for_once_and_opens_its_files_alone(
    spark: SparkSession, target: str, by: list[str]
) -> None:
    client = Client()
    enc = encryption(client)
    pme.write(orders(spark), target, enc, partition_by=by)
    names = [f"{kind}-{tenant}" for kind in ("t", "pii") for tenant in TENANTS]
    assert client.count("wrap") == dict.fromkeys(names, 1)
    assert client.count("unwrap") == {}
    found = spark.read.format("pme-parquet").options(**enc.options()).schema(orders(spark).schema).load(target)
    assert found.where("tenant = 'acme'").agg(f.sum("id"), f.count("name")).collect() == [(135, 10)]
    # A filter on directories leaves out files, which cost no key.
    assert client.count("unwrap") == {name: 1 for name in names if not by or name.endswith("-acme")}
    assert sorted(found.select("id", "tenant").collect()) == sorted(orders(spark).select("id", "tenant").collect())
    held = {name: arrow_files.master_key(name) for name in ("t-bolt", "pii-bolt")}
    only = [file for file in data_files(target) if b"t-bolt" in file.read_bytes()]
    assert sum(arrow_files.read(file, external=False, key=held.__getitem__).num_rows for file in only) == 10


def test_a_reader_of_two_tenants_reads_their_rows_and_hears_of_the_others(spark: SparkSession, target: str) -> None:
    pme.write(orders(spark), target, encryption(Client()), partition_by="tenant")
    mine = pme.PythonKms(Guarded("t-core"))
    with refused("PME_KEY_DENIED", "t-core"):
        pme.read(spark, target, kms=mine).collect()
    with warnings(spark) as logged:
        frame = pme.read(spark, target, kms=mine, options={"deniedFiles": "skip"})
        assert len(frame.collect()) == 20
        assert {row.tenant for row in frame.select("tenant").collect()} == {"acme", "bolt"}
    assert [line for line in logged if "left out" in line and "t-core" in line]
    assert "left out" in str(pme.query_stats(frame))
