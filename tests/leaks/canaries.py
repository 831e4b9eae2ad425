"""A frame with canaries in its protected columns, and the options that put them everywhere Parquet can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.canary import assert_no_canaries, find_canaries

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

ROWS = 120
NUMBER = 0x7A6B5C4D3E2F1A0B
PROTECTED: list[str | int] = [
    "canary-secret",
    "canary-unique",
    "canary-street",
    "canary-tag",
    "canary-key",
    "canary-value",
    "canary-comment",
    "quokka_column",
    NUMBER,
]
OPEN = "canary-open"

COLUMN_KEYS = "pii: secret, unique, quokka_column, number; pay: address, tags, attributes"
EVERYWHERE = {
    "compression": "uncompressed",
    "parquet.page.row.count.limit": "20",
    # Each would have a megabyte.
    "parquet.bloom.filter.max.bytes": "4096",
    "parquet.bloom.filter.enabled#secret": "true",
    "parquet.bloom.filter.enabled#unique": "true",
    "parquet.bloom.filter.enabled#quokka_column": "true",
}
ENCODINGS = {
    "dictionary": {"parquet.enable.dictionary": "true"},
    "plain": {"parquet.enable.dictionary": "false"},
}


def canaries(spark: SparkSession, count: int = ROWS) -> DataFrame:
    """Return the frame; ``part`` serves for partitions and buckets, ``open`` is the unprotected column."""
    return (
        spark.range(0, count, 1, 2)
        .selectExpr(
            "id",
            "concat('canary-secret-', id % 3) AS secret",
            "concat('canary-unique-', sha2(CAST(id AS STRING), 256)) AS unique",
            "id % 5 AS quokka_column",
            f"{NUMBER} + id % 3 AS number",
            "named_struct('street', concat('canary-street-', id)) AS address",
            "array(concat('canary-tag-', id % 4)) AS tags",
            "map(concat('canary-key-', id), concat('canary-value-', id)) AS attributes",
            "concat('canary-open-', id) AS open",
            "CAST(id % 2 AS INT) AS part",
        )
        .withMetadata("secret", {"comment": "canary-comment"})
    )


def assert_only_the_open_column_is_readable(root: Path) -> None:
    """Fail if a protected canary is found, or if the open one is not: then the search proves nothing."""
    assert find_canaries(root, [OPEN]), f"{OPEN} is nowhere under {root}, so the search proves nothing"
    assert_no_canaries(root, PROTECTED)
