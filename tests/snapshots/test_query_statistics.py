"""What ``EXPLAIN`` and the statistics of a query say of the files that its scans read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.snapshots.sealed import KMS, explained, ids, load, save, seal, statistics
from tests.support.session import SPARK_VERSION
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

BOTH = pytest.mark.parametrize("how", [{}, {"scan": "v2"}], ids=["v1", "v2"])
FILES = 4


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a sealed table of four files of ten ids."""
    path = str(tmp_path_factory.mktemp("statistics") / "table")
    save(spark.range(0, 40, 1, FILES).selectExpr("id", "id % 10 AS n", "concat('w', id) AS `a.b`"), path)
    seal(spark, path, "id", "n", "`a.b`")
    return path


@pytest.fixture(scope="module")
def parts(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a sealed table of four partitions with two files each."""
    path = str(tmp_path_factory.mktemp("statistics") / "parts")
    for part in range(4):
        save(spark.range(0, 20, 1, 2).selectExpr("id", f"{part} AS part"), path, "part", mode="append")
    seal(spark, path, "id")
    return path


def counted(frame: DataFrame) -> list[tuple[int, int, list[tuple[str, str, int]]]]:
    """Return, for each scan of the query: files read, files, and the indexes that spared files."""
    return [
        (
            scan["filesRead"],
            scan["files"],
            [(by["kind"], ".".join(by["column"]), by["files"]) for by in scan["skippedBy"]],
        )
        for scan in statistics(frame)["scans"]
    ]


@BOTH
def test_a_scan_says_how_many_files_it_reads_and_by_which_index(
    spark: SparkSession, table: str, how: dict[str, str]
) -> None:
    for condition, text, by in (
        ("true", "4 of 4 files", []),
        ("id < 12", "2 of 4 files, by minMax(id)", [("minMax", "id", 2)]),
        ("n = 77", "0 of 4 files, by minMax(n)", [("minMax", "n", 4)]),
        ("`a.b` = 'w15'", "2 of 4 files, by minMax(`a.b`)", [("minMax", "a.b", 2)]),
        ("hash(id) = 1", "4 of 4 files", []),
        ("_metadata.file_size > 0 AND id = 5", "1 of 4 files, by minMax(id)", [("minMax", "id", 3)]),
    ):
        if "scan" in how and "_metadata" in condition:
            continue
        frame = load(spark, table, **how).where(condition)
        assert explained(frame) == [text], condition
        read = int(text.split()[0])
        assert counted(frame) == [(read, FILES, by)], condition
        frame.collect()
        assert explained(frame) == [text], condition
        [scan] = statistics(frame)["scans"]
        assert (scan["version"], scan["path"]) == (1, f"file:{table}")
        assert scan["bytes"] >= scan["bytesRead"] > 0 or read == 0


@BOTH
def test_partitions_of_a_table_are_read_as_one_table(spark: SparkSession, parts: str, how: dict[str, str]) -> None:
    paths = [f"{parts}/part={part}" for part in range(3)]
    frame = spark.read.format(FORMAT).options(**KMS | how).load(paths).where("id < 5")
    assert counted(frame) == [(3, 6, [("minMax", "id", 3)])]
    assert len(ids(frame)) == 15


@BOTH
def test_what_is_not_sealed_is_counted_without_a_version(
    spark: SparkSession, table: str, how: dict[str, str], tmp_path: Path
) -> None:
    frame = load(spark, table, snapshot="off", **how).where("id = 5")
    assert explained(frame) == []
    assert counted(frame) == [(FILES, FILES, [])]
    assert statistics(frame)["scans"][0]["version"] is None
    other = str(tmp_path / "theirs")
    spark.range(3).write.parquet(other)
    assert statistics(spark.read.parquet(other)) == {"scans": [], "notes": []}


@BOTH
def test_the_files_are_listed_and_evaluated_once(spark: SparkSession, table: str, how: dict[str, str]) -> None:
    frame = load(spark, table, **how).where("id = 5")
    leaf: Any = frame._jdf.queryExecution().executedPlan().collectLeaves().apply(0)

    def chosen() -> Any:
        if "scan" in how:
            scan = leaf.scan().spark()
            return scan.fileIndex().chosen(scan.partitionFilters(), scan.dataFilters())
        return leaf.relation().location().chosen(leaf.partitionFilters(), leaf.dataFilters())

    first = chosen()
    explained(frame)
    frame.collect()
    statistics(frame)
    # It compares objects.
    assert chosen().equals(first)


def test_partitions_that_the_query_prunes_when_it_runs_are_not_counted_after(
    spark: SparkSession, parts: str, conf: Conf, tmp_path: Path
) -> None:
    codes = str(tmp_path / "codes")
    spark.range(4).selectExpr("id AS part", "id + 10 AS code").write.parquet(codes)
    spark.read.parquet(codes).createOrReplaceTempView("codes")
    load(spark, parts).createOrReplaceTempView("parts")
    for adaptive in ("true", "false"):
        with conf({"spark.sql.adaptive.enabled": adaptive}):
            frame = spark.sql(
                "SELECT /*+ BROADCAST(codes) */ parts.id FROM parts JOIN codes USING (part) WHERE code = 12 AND id < 5"
            )
            assert explained(frame) == ["at most 4 of 8 files, by minMax(id)"]
            assert ids(frame) == list(range(5))
            frame.collect()
            assert explained(frame)[-1] == "at most 4 of 8 files, by minMax(id)"
            assert counted(frame) == [(1, 2, [("minMax", "id", 1)])]
    static = load(spark, parts).where("part = 2 AND id < 5")
    assert explained(static) == ["1 of 2 files, by minMax(id)"]
    assert counted(static) == [(1, 2, [("minMax", "id", 1)])]


def test_a_scan_of_buckets_reads_at_most_the_files_it_says(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "buckets")
    spark.sql("DROP TABLE IF EXISTS bucketed_and_sealed")
    frame = spark.range(0, 40, 1, 1).selectExpr("id", "id AS n")
    options = KMS | {"footerKey": "footer", "path": path}
    frame.write.format(FORMAT).options(**options).bucketBy(4, "n").saveAsTable("bucketed_and_sealed")
    try:
        seal(spark, path, "id")
        with_keys = {"spark.datasource.pme-parquet.kms": KMS["kms"]}
        before = {name: spark.conf.get(name, None) for name in with_keys}
        for name, value in with_keys.items():
            spark.conf.set(name, value)
        try:
            found = spark.table("bucketed_and_sealed").where("n = 5")
            assert explained(found) == ["at most 4 of 4 files"]
            assert ids(found) == [5]
        finally:
            for name, old in before.items():
                spark.conf.unset(name) if old is None else spark.conf.set(name, old)
    finally:
        spark.sql("DROP TABLE bucketed_and_sealed")


@BOTH
def test_each_scan_of_a_query_is_counted_once(spark: SparkSession, table: str, how: dict[str, str], conf: Conf) -> None:
    load(spark, table, **how).createOrReplaceTempView("numbers")
    joined = (
        "SELECT /*+ MERGE(b) */ a.id FROM (SELECT id FROM numbers WHERE id < 5) a"
        " JOIN (SELECT id FROM numbers WHERE id < 5) b ON a.id = b.id"
    )
    by = [("minMax", "id", 3)]
    for adaptive in ("true", "false"):
        with conf({"spark.sql.adaptive.enabled": adaptive, "spark.sql.autoBroadcastJoinThreshold": "-1"}):
            frame = spark.sql(joined)
            assert ids(frame) == list(range(5))
            frame.collect()
            # Both sides are the same: in V1, whose scans are then equal, one exchange serves both.
            is_reused = "ReusedExchange" in frame._jdf.queryExecution().executedPlan().toString()
            assert is_reused or "scan" in how
            assert counted(frame) == [(1, FILES, by)] * (1 if is_reused else 2)
            other = spark.sql(joined.replace("id < 5) b", "n < 3) b"))
            assert ids(other) == [0, 1, 2]
            other.collect()
            assert "ReusedExchange" not in other._jdf.queryExecution().executedPlan().toString()
            assert counted(other) == [(1, FILES, by), (1, FILES, by)]
            nested = spark.sql("SELECT id FROM numbers WHERE n > (SELECT max(id) FROM numbers WHERE id < 5)")
            nested.collect()
            assert min(counted(nested)) == (1, FILES, by)
            assert len(counted(nested)) == 2


def test_the_result_of_a_subquery_skips_files(spark: SparkSession, table: str, conf: Conf) -> None:
    spark.createDataFrame([(15,), (3,)], "x long").createOrReplaceTempView("wanted")
    for how in ({}, {"scan": "v2"}):
        load(spark, table, **how).createOrReplaceTempView("numbers")
        for adaptive in ("true", "false"):
            with conf({"spark.sql.adaptive.enabled": adaptive}):
                frame = spark.sql("SELECT id FROM numbers WHERE id = (SELECT max(x) FROM wanted)")
                assert [row.id for row in frame.collect()] == [15]
                # Only V1 scans have such filters, since Spark 4.
                knows = not how and SPARK_VERSION >= (4, 0)
                assert counted(frame) == ([(1, FILES, [("minMax", "id", 3)])] if knows else [(FILES, FILES, [])])
                assert explained(frame)[-1].startswith("at most ") == knows


def test_cached_data_is_not_counted(spark: SparkSession, table: str) -> None:
    cached = load(spark, table).where("id < 12").cache()
    try:
        cached.count()
        found = cached.where("id = 5").join(load(spark, table).where("id = 25").select("n"), "n")
        found.collect()
        assert counted(found) == [(1, FILES, [("minMax", "id", 3)])]
        assert "cached data" in " ".join(statistics(found)["notes"])
    finally:
        cached.unpersist()


def test_the_scan_of_a_stream_says_nothing_of_its_files(spark: SparkSession, table: str, tmp_path: Path) -> None:
    stream = spark.readStream.format(FORMAT).options(**KMS).schema("id long, n long").load(table)
    query = (
        stream.where("id = 5")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    query.awaitTermination()
    text = query._jsq.explainInternal(True)  # noqa: FBT003 as py4j calls it
    assert "PmeParquet" in text
    assert not re.search(r"of [\d,]+ files?", text)
    assert spark.read.parquet(str(tmp_path / "out")).count() == 1
