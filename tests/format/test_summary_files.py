"""Summary files (`_metadata`, `_common_metadata`), which Parquet writes in plaintext: no schema is read from them.

If a directory has no other files, Spark's own source takes the schema from them and finds no rows. Ours does so with
``plaintextFiles=allow``.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.expect import refused
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import pme_parquet as pme
    from tests.support.source import Pair

pytestmark = pytest.mark.rows(2)

SUMMARIES = ("_metadata", "_common_metadata")


@pytest.fixture(scope="module")
def alone(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a directory with only the summary files of a plaintext table."""
    table = tmp_path_factory.mktemp("summaries") / "table"
    frame = spark.range(9).selectExpr("id", "id * 2.5D AS number")
    frame.write.option("parquet.summary.metadata.level", "ALL").parquet(str(table))
    directory = table.with_name("alone")
    directory.mkdir()
    for name in SUMMARIES:
        shutil.move(table / name, directory)
    return str(directory)


@pytest.mark.parametrize("scan", ["v1", "v2"])
@pytest.mark.parametrize("merge", ["true", "false"])
def test_summary_files_alone_give_a_schema_only_where_plaintext_is_allowed(
    spark: SparkSession, keys: pme.Keystore, alone: str, scan: str, merge: str
) -> None:
    options = {"mergeSchema": merge, "spark.sql.parquet.respectSummaryFiles": "true"}
    theirs = spark.read.options(**options).parquet(alone)
    reader = spark.read.format(FORMAT).options(**keys.options(), **options, scan=scan)
    with refused("PME_PLAINTEXT_FILE", *SUMMARIES, "alone", "plaintextFiles=allow"):
        reader.load(alone)
    ours = reader.option("plaintextFiles", "allow").load(alone)
    assert ours.schema == theirs.schema
    assert ours.collect() == theirs.collect() == []
    given = spark.read.format(FORMAT).options(**keys.options(), scan=scan).schema("id bigint").load(alone)
    assert given.collect() == []


@pytest.mark.parametrize("plaintext", ["error", "allow"])
def test_a_summary_file_next_to_data_has_no_effect(spark: SparkSession, pair: Pair, alone: str, plaintext: str) -> None:
    pair.ours.write(spark.range(3).selectExpr("id AS other"))
    for name in SUMMARIES:
        shutil.copy(Path(alone) / name, pair.ours.path)
    for options in ({}, {"mergeSchema": "true"}):
        frame = pair.ours.read(plaintextFiles=plaintext, **options)
        assert frame.columns == ["other"]
        assert sorted(row.other for row in frame.collect()) == [0, 1, 2]
