"""Spark's V2 scan of encrypted ORC: what the V1 scan returns or refuses, and aggregates from statistics."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import encrypted_orc as orc
from tests.support.encrypted_orc import PAY, PII, VECTORIZED, every_decoder, read, rows, save
from tests.support.expect import DONE, outcome, refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

V2 = {"scan": "v2"}
PUSHED = {"spark.sql.orc.aggregatePushdown": "true"}
COLUMNS = "id BIGINT, ssn STRING, salary DOUBLE, age INT, address STRUCT<city: STRING, lines: ARRAY<STRING>>, day INT"


@pytest.fixture(scope="module")
def frame(people: DataFrame) -> DataFrame:
    day = "CAST(id % 3 AS INT) AS day"
    return people.selectExpr("id", "ssn", "salary", "CAST(id % 90 AS INT) AS age", "address", day)


@pytest.fixture(scope="module")
def table(frame: DataFrame, owner: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a table in three partitions, whose files of one partition lack two columns."""
    path = str(tmp_path_factory.mktemp("v2") / "table")
    keys = f"{PII}: ssn, age, address.lines; {PAY}: salary"
    masks = {"orc.mask": "sha256:ssn;redact:age"}
    writer = frame.where("day < 2").write.format("pme-orc").options(**owner, columnKeys=keys, **masks)
    writer.partitionBy("day").save(path)
    save(
        frame.where("day = 2").select("id", "ssn", "salary"),
        f"{path}/day=2",
        owner,
        columnKeys=f"{PII}: ssn; {PAY}: salary",
    )
    return path


def scan_of(frame: DataFrame) -> str:
    """Return the name of the class of the only scan in a frame's plan."""
    plan: Any = frame._jdf.queryExecution().sparkPlan()
    leaf = plan.collectLeaves().head()
    return str(
        leaf.scan().getClass().getSimpleName() if "BatchScan" in leaf.nodeName() else leaf.getClass().getSimpleName()
    )


def metadata(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().sparkPlan().toString())


def both(spark: SparkSession, path: str, options: dict[str, str]) -> Callable[[Callable[[DataFrame], Any]], Any]:
    """Return a function that runs a query with both scans, compares what comes out, and returns it."""
    frames = [spark.read.format("pme-orc").schema(COLUMNS).options(**options, **scan).load(path) for scan in ({}, V2)]
    assert [scan_of(frame) for frame in frames] == ["FileSourceScanExec", "EncryptedOrcScan"]

    def run(query: Callable[[DataFrame], DataFrame]) -> Any:
        def result(frame: DataFrame) -> Any:
            found: list[str] = []
            failed = outcome(lambda: found.extend(rows(query(frame))))
            return found if failed == DONE else failed

        v1, v2 = (result(frame) for frame in frames)
        assert v1 == v2
        return v2

    return run


QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "all": lambda some: some,
    "free": lambda some: some.select("id", "salary", "day"),
    "nested": lambda some: some.select("address.city", "id").where("id > 900"),
    "condition": lambda some: some.where("ssn = 'ssn-7'").select("id"),
    "partition": lambda some: some.where("day = 2 AND salary > 1000").select("id", "age"),
    "count": lambda some: some.where("age IS NULL OR age > 85").selectExpr("count(*)"),
}


@every_decoder
def test_both_scans_return_the_same_to_everyone(
    spark: SparkSession,
    conf: Conf,
    owner: dict[str, str],
    analyst: dict[str, str],
    stranger: dict[str, str],
    frame: DataFrame,
    table: str,
    vectorized: str,
) -> None:
    with conf({VECTORIZED: vectorized}):
        run = both(spark, table, owner)
        results = {name: run(query) for name, query in QUERIES.items()}
        assert results["free"] == rows(frame.select("id", "salary", "day"))
        assert all(isinstance(result, list) for result in results.values())
        for more in ({}, {"deniedColumns": "null"}, {"deniedColumns": "null", "deniedPredicates": "null"}):
            run = both(spark, table, analyst | more)
            results = {name: run(QUERIES[name]) for name in ("all", "free", "condition")}
            assert isinstance(results["free"], list)
            assert isinstance(results["all"], list) if more else results["all"] == "PME_KEY_DENIED"
            assert "ssn-" not in repr(results)
            assert results["condition"] == ([] if "deniedPredicates" in more else "PME_KEY_DENIED")
        assert both(spark, table, stranger)(QUERIES["condition"]) == "PME_NOT_AUTHENTIC"


def test_schemas_are_inferred_and_merged_as_by_the_v1_scan(
    spark: SparkSession, owner: dict[str, str], analyst: dict[str, str], table: str
) -> None:
    for options in (owner, owner | {"mergeSchema": "true"}, analyst | {"mergeSchema": "true", "deniedColumns": "drop"}):
        v1, v2 = read(spark, table, options), read(spark, table, options | V2)
        assert scan_of(v2) == "EncryptedOrcScan"
        assert v1.schema == v2.schema
        assert rows(v1) == rows(v2)
    assert "PushedFilters: [IsNotNull(salary), GreaterThan(salary,3.0)]" in metadata(
        read(spark, table, owner | V2).where("salary > 3.0D")
    )


def test_aggregates_come_from_statistics_of_files_if_the_reader_has_their_keys(
    spark: SparkSession,
    conf: Conf,
    owner: dict[str, str],
    analyst: dict[str, str],
    stranger: dict[str, str],
    frame: DataFrame,
    table: str,
) -> None:
    age = {"age": "max"}
    with conf(PUSHED):
        mine = spark.read.format("pme-orc").schema(COLUMNS).options(**owner, **V2).load(f"{table}/day=0")
        true = frame.where("day = 0")
        asked = ["min(age)", "max(age)", "count(*)", "count(salary)"]
        done = mine.selectExpr(*asked)
        assert "PushedAggregation: [MIN(age), MAX(age), COUNT(*), COUNT(salary)]" in metadata(done)
        assert rows(done) == rows(true.selectExpr(*asked))
        # Statistics leave NaN out, and Spark's largest number is NaN.
        largest = mine.agg({"salary": "max"})
        assert "PushedAggregation: []" in metadata(largest)
        assert rows(largest) == rows(true.agg({"salary": "max"}))
        few = spark.read.format("pme-orc").schema(COLUMNS).options(**analyst, **V2).load(f"{table}/day=0")
        with refused("PME_KEY_DENIED", "every column at once", "scan=v1"):
            few.agg({"salary": "count"}).collect()
        with refused("PME_KEY_DENIED", PII, "age"):
            few.agg(age).collect()
        wrong = spark.read.format("pme-orc").schema(COLUMNS).options(**stranger, **V2).load(f"{table}/day=0")
        with refused("PME_NOT_AUTHENTIC", "age"):
            wrong.agg(age).collect()
        # These read data: statistics of a refused column are those of its mask.
        for more in ({"deniedColumns": "null", "deniedPredicates": "null"}, {"orcMasks": "allow"}):
            some = spark.read.format("pme-orc").schema(COLUMNS).options(**analyst, **more, **V2).load(f"{table}/day=0")
            result = some.agg(age)
            assert "PushedAggregation: []" in metadata(result)
            assert (result.collect()[0][0] is None) == ("deniedColumns" in more)


def test_no_files_are_no_rows(
    spark: SparkSession, conf: Conf, owner: dict[str, str], frame: DataFrame, target: str
) -> None:
    save(frame.select("id", "age").limit(3), target, owner, columnKeys=f"{PII}: age")
    for file in orc.files(target):
        file.unlink()
    with conf(PUSHED):
        none = spark.read.format("pme-orc").schema("id BIGINT, age INT").options(**owner, **V2).load(target)
        counts = none.selectExpr("count(*)", "count(age)", "min(age)")
        assert "PushedAggregation: [COUNT(*), COUNT(age), MIN(age)]" in metadata(counts)
        assert [tuple(row) for row in counts.collect()] == [(0, 0, None)]


def test_aggregates_of_files_that_the_read_refuses_are_refused(
    spark: SparkSession, conf: Conf, owner: dict[str, str], frame: DataFrame, target: str
) -> None:
    some = frame.select("id", "age").repartition(1)
    save(some, target, owner, columnKeys=f"{PII}: age")
    [file] = orc.files(target)
    with conf(PUSHED | {"spark.sql.files.ignoreCorruptFiles": "true"}):
        largest = read(spark, target, owner | V2).agg({"age": "max"})
        assert "PushedAggregation: [MAX(age)]" in metadata(largest)
        assert largest.collect()[0][0] == 89
        shutil.copy(file, kept := Path(target).parent / "kept.orc")
        some.write.format("orc").mode("append").save(target)
        with refused("PME_PLAINTEXT_FILE"):
            read(spark, target, owner | V2).agg({"age": "max"}).collect()
        [plain] = [one for one in orc.files(target) if one.name != file.name]
        data = bytearray(kept.read_bytes())
        # The length of the postscript, and the last bytes of the file's tail.
        data[-1] ^= 0x55
        plain.write_bytes(bytes(data))
        # Else Hadoop's file system finds the change first.
        plain.with_name(f".{plain.name}.crc").unlink()
        with pytest.raises(Exception, match="PME_"):
            read(spark, target, owner | V2).agg({"age": "max"}).collect()
