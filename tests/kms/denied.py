"""Readers to whom the KMS denies some keys, a table for them, and what they should see of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.support.kms.clients import Client, Guarded
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# `pii` protects a column of each shape; the footer's key protects the rest of the struct.
ENCRYPTION = {
    "footerKey": "footer",
    "columnKeys": "pii: ssn, address.street, phones.element.number, tags; pay: salary",
}
REFUSED = "pii"


def content(spark: SparkSession) -> DataFrame:
    """Return a frame with a column of each shape, which is written as two files."""
    return spark.range(0, 40, 1, 2).selectExpr(
        "id",
        "concat('ssn-', id) AS ssn",
        "CASE WHEN id % 4 > 0 THEN id * 2 END AS salary",
        "IF(id % 5 = 0, NULL, struct(concat('street-', id) AS street, concat('city-', id % 3) AS city)) AS address",
        "array(struct('home' AS kind, concat('+', id) AS number)) AS phones",
        "map('key', concat('tag-', id)) AS tags",
    )


def masked(frame: DataFrame) -> DataFrame:
    """Return what a reader sees who is denied `pii`."""
    return frame.selectExpr(
        "id",
        "CAST(NULL AS string) AS ssn",
        "salary",
        "IF(address IS NULL, NULL, struct(CAST(NULL AS string) AS street, address.city AS city)) AS address",
        "CAST(NULL AS array<struct<kind: string, number: string>>) AS phones",
        "CAST(NULL AS map<string, string>) AS tags",
    )


def write(frame: DataFrame, path: str, **options: str) -> None:
    frame.write.format(FORMAT).options(**pme.PythonKms(Client()).options(), **ENCRYPTION | options).save(path)


def options(client: Client, **more: str) -> dict[str, str]:
    """Return the options of a reader with the page pipeline, even if the suite runs with another reader."""
    return pme.PythonKms(client).options() | {"reader": "pages", "deniedColumns": "null"} | more


def read(spark: SparkSession, path: str, *denied: str, **more: str) -> DataFrame:
    """Return the table as a reader sees it who is denied these keys."""
    return spark.read.format(FORMAT).options(**options(Guarded(*denied), **more)).load(path)


def rows(frame: DataFrame) -> list[str]:
    """Return the rows in an order that does not depend on NULLs."""
    return sorted(str(row.asDict(recursive=True)) for row in frame.collect())
