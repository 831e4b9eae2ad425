"""Readers whom the KMS refuses some keys, a table to read, and what they should see of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.support.kms.counting_client import Client
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

# `pii` protects a column of each shape; what it leaves of the struct is under the footer's key.
ENCRYPTION = {
    "footerKey": "footer",
    "columnKeys": "pii: ssn, address.street, phones.element.number, tags; pay: salary",
}
REFUSED = "pii"


class Guarded(Client):
    """Refuses some keys; raises what it is told to for others."""

    def __init__(self, *denied: str, failing: dict[str, Exception] | None = None) -> None:
        super().__init__()
        self._failing: dict[str, Exception] = dict.fromkeys(denied, PermissionError()) | (failing or {})

    def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
        if master_key_id in self._failing:
            self._called("unwrap", master_key_id)
            raise self._failing[master_key_id]
        return super().unwrap_key(wrapped, master_key_id)


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
    """Return what a reader sees to whom `pii` is refused."""
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
    """Return the options of a reader: of the page pipeline, also where the suite runs with another one."""
    return pme.PythonKms(client).options() | {"reader": "pages", "deniedColumns": "null"} | more


def read(spark: SparkSession, path: str, *denied: str, **more: str) -> DataFrame:
    """Return the table as somebody reads it to whom these keys are refused."""
    return spark.read.format(FORMAT).options(**options(Guarded(*denied), **more)).load(path)


def rows(frame: DataFrame) -> list[str]:
    """Return the rows in an order that does not depend on NULLs."""
    return sorted(str(row.asDict(recursive=True)) for row in frame.collect())


@contextmanager
def caching(frame: DataFrame) -> Iterator[DataFrame]:
    """Have Spark cache a frame while the block runs."""
    try:
        yield frame.cache()
    finally:
        frame.unpersist()
