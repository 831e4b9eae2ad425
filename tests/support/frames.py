"""Small frames with the usual difficulties: nulls, nesting, repeated values, several partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def people(spark: SparkSession, start: int = 0, count: int = 20) -> DataFrame:
    """Return people with an address, tags, scores and a few nulls; ``country`` serves for partitions."""
    return spark.range(start, start + count, 1, 2).selectExpr(
        "id",
        "IF(id % 7 = 3, NULL, concat('name-', id)) AS name",
        "concat('ssn-', id % 5) AS ssn",
        "CAST(id * 1.5 AS DECIMAL(10, 2)) AS salary",
        "named_struct('street', concat('street-', id), 'zip', CAST(id AS INT)) AS address",
        "IF(id % 4 = 0, array(), array(concat('tag-', id), NULL)) AS tags",
        "map(concat('k', id), named_struct('score', id / 2)) AS scores",
        "element_at(array('de', 'fr', 'it'), CAST(id % 3 AS INT) + 1) AS country",
    )
