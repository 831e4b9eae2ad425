"""The doctor on catalogs of Iceberg: which of them ignore the key of a table. No catalog is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.judging import assert_each_says_what_to_do, named

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG = "org.apache.iceberg.spark.SparkCatalog"
CLIENT = "org.example.NoClient"


def check(spark: SparkSession, **properties: str) -> dict[str, str]:
    own = spark.newSession()
    own.conf.set("spark.sql.catalog.lake", CATALOG)
    for name, value in properties.items():
        own.conf.set(f"spark.sql.catalog.lake.{name}", value)
    checks = pme.doctor(own).to_dict()["checks"]
    assert_each_says_what_to_do(checks)
    return named(checks, "Iceberg catalog 'lake'")


@pytest.mark.parametrize(
    ("properties", "status", "words"),
    [
        ({"type": "rest"}, "warning", "rest: this catalog ignores encryption.key-id"),
        ({"type": "hadoop", "encryption.kms-impl": CLIENT}, "problem", "has no effect: tables are plaintext"),
        ({"catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog"}, "warning", "GlueCatalog: this catalog ignores"),
        ({"type": "hive"}, "warning", "without encryption.kms-impl: it encrypts no table"),
        ({}, "warning", "hive, without encryption.kms-impl"),
        ({"type": "hive", "encryption.kms-impl": CLIENT}, "problem", f"{CLIENT}, which is not on the class path"),
        (
            {"encryption.kms-impl": "io.pmeparquet.parquet.PmeCryptoFactory"},
            "ok",
            "encryption.kms-impl=io.pmeparquet.parquet.PmeCryptoFactory",
        ),
    ],
)
def test_a_catalog_says_whether_it_encrypts(
    spark: SparkSession, properties: dict[str, str], status: str, words: str
) -> None:
    found = check(spark, **properties)
    assert found["status"] == status
    assert words in found["found"]


def test_a_session_without_these_formats_has_no_line_about_them(spark: SparkSession) -> None:
    names = [one.name for one in pme.doctor(spark).checks]
    assert not [name for name in names if name.startswith(("Delta", "Iceberg")) or "factory" in name]
