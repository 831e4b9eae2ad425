"""`deniedColumns`: a condition on a column whose key the KMS refuses is refused, unless `deniedPredicates=null`.

That holds anywhere in a query, and for cached data and streams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as f

from tests.support.expect import refused
from tests.support.kms.denied import REFUSED, Guarded, caching, content, masked, options, read, rows
from tests.support.source import FORMAT
from tests.support.warnings import warnings

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

pytestmark = pytest.mark.rows(2)

VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
FILTER_FIRST = "io.pmeparquet.test.filterFirst"
CACHE_LIFETIME = "parquet.encryption.cache.lifetime.seconds"

every_scan = pytest.mark.parametrize("scan", ["v1", "v2"])


CONDITIONS = [
    "ssn = 'ssn-7'",
    "ssn IS NULL",
    "ssn IS NOT NULL",
    "NOT (ssn = 'ssn-7')",
    "ssn <=> NULL",
    "ssn <=> 'ssn-7'",
    "ssn IN ('ssn-7', 'ssn-8')",
    "ssn NOT IN ('ssn-7')",
    "coalesce(ssn, 'none') = 'none'",
    "ssn LIKE '%7' OR id = 3",
    "ssn IS NULL AND id > 30",
    "length(ssn) + id > 5",
    "address.street = 'street-7'",
    "address.street IS NULL",
    "address IS NULL",
    "size(phones) = 1",
    "tags['key'] = 'tag-7' OR salary > 40",
]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return content(spark)


@every_scan
@pytest.mark.parametrize("condition", ["ssn = 'ssn-7'", "ssn IS NULL OR id = 3", "address.street IS NULL"])
def test_a_condition_on_a_refused_column_is_refused(
    spark: SparkSession, guarded_table: str, scan: str, condition: str
) -> None:
    with refused("PME_KEY_DENIED", REFUSED, "condition", "deniedPredicates=null"):
        read(spark, guarded_table, REFUSED, scan=scan).where(condition).collect()


@every_scan
def test_conditions_on_other_columns_are_as_ever(
    spark: SparkSession, guarded_table: str, frame: DataFrame, scan: str
) -> None:
    for condition in ("id = 7", "salary IS NULL", "salary > 20 OR id < 4"):
        seen = read(spark, guarded_table, REFUSED, scan=scan).where(condition)
        assert rows(seen) == rows(masked(frame).where(condition))


@pytest.fixture(scope="module")
def over_nulls(frame: DataFrame) -> dict[str, list[str]]:
    """Return the rows that meet each condition where NULLs stand."""
    local = masked(frame).localCheckpoint()
    return {condition: rows(local.where(condition)) for condition in CONDITIONS}


@pytest.mark.parametrize(("scan", "vectorized"), [("v1", "true"), ("v1", "false"), ("v2", "true")])
def test_with_denied_predicates_conditions_see_nulls(
    spark: SparkSession, guarded_table: str, over_nulls: dict[str, list[str]], conf: Conf, scan: str, vectorized: str
) -> None:
    jvm: Any = spark._jvm
    seen = read(spark, guarded_table, REFUSED, scan=scan, deniedPredicates="null")
    jvm.System.setProperty(FILTER_FIRST, "true")
    try:
        with conf({VECTORIZED: vectorized}):
            for condition, expected in over_nulls.items():
                assert rows(seen.where(condition)) == expected, condition
            assert seen.where("ssn IS NULL").count() == 40
    finally:
        jvm.System.clearProperty(FILTER_FIRST)


ABOVE: dict[str, Callable[[DataFrame], DataFrame]] = {
    "above a limit": lambda t: t.limit(5).where("ssn = 'x'"),
    "of a computed column above a limit": lambda t: t.selectExpr("id", "upper(ssn) u").limit(5).where("u = 'X'"),
    "above an aggregate": lambda t: t.groupBy("id").agg(f.max("ssn").alias("m")).where("m = 'x'"),
    "of an aggregate": lambda t: t.selectExpr("count(*) FILTER (WHERE ssn = 'x')"),
    "of a window": lambda t: t.selectExpr("id", "rank() OVER (ORDER BY ssn) r").where("r < 3"),
    "of an exploded list": lambda t: t.selectExpr("explode(phones) p").where("p.number = '+7'"),
    "above a union": lambda t: (
        t.select("id", "ssn").limit(3).union(t.select("id", "tags.key").limit(3)).where("ssn = 'x'")
    ),
    "inner join": lambda t: t.join(t.select("ssn", "salary").limit(3), "ssn"),
    "left join": lambda t: t.join(t.select("ssn", "salary"), "ssn", "left"),
    "full join": lambda t: t.join(t.select("ssn", "salary"), "ssn", "full"),
    "anti join": lambda t: t.join(t.select("ssn"), "ssn", "anti"),
    "without nulls": lambda t: t.dropna(subset=["ssn"]),
    "intersection": lambda t: t.select("ssn").intersect(t.select("ssn")),
}


@pytest.mark.parametrize("query", ABOVE.values(), ids=ABOVE)
def test_a_condition_anywhere_in_the_query_is_refused(
    spark: SparkSession, guarded_table: str, query: Callable[[DataFrame], DataFrame]
) -> None:
    with refused("PME_KEY_DENIED", REFUSED):
        query(read(spark, guarded_table, REFUSED)).collect()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM {t} WHERE id IN (SELECT id FROM {t} WHERE ssn = 'x')",
        "SELECT id FROM {t} WHERE 'x' = (SELECT max(ssn) FROM {t})",
        "WITH c AS (SELECT id, ssn, rand() r FROM {t}) SELECT a.id FROM c a JOIN c b ON a.ssn = b.ssn",
    ],
)
def test_a_condition_in_a_subquery_is_refused(spark: SparkSession, guarded_table: str, sql: str) -> None:
    with refused("PME_KEY_DENIED", REFUSED):
        spark.sql(sql, t=read(spark, guarded_table, REFUSED)).collect()


def test_a_join_on_another_column_carries_the_nulls(spark: SparkSession, guarded_table: str, frame: DataFrame) -> None:
    seen = read(spark, guarded_table, REFUSED)
    joined = seen.join(seen.selectExpr("id", "ssn AS again"), "id").select("id", "ssn", "again")
    assert rows(joined) == rows(masked(frame).selectExpr("id", "ssn", "ssn AS again"))


def test_another_session_s_view_is_checked_from_its_first_statement_on(spark: SparkSession, guarded_table: str) -> None:
    read(spark, guarded_table, REFUSED).createOrReplaceGlobalTempView("denied_view")
    seen = spark.newSession().table("global_temp.denied_view")
    with refused("PME_KEY_DENIED", REFUSED):
        seen.limit(5).where("ssn = 'x'").collect()
    assert seen.where("id = 3").select("ssn").collect() == [(None,)]


# ---- cached data and streams


@every_scan
def test_cached_data_is_checked_like_any_other(
    spark: SparkSession, guarded_table: str, frame: DataFrame, scan: str
) -> None:
    seen = read(spark, guarded_table, REFUSED, scan=scan).select("id", "ssn", f.upper("ssn").alias("upper"))
    with caching(seen) as cached:
        with refused("PME_UNSUPPORTED", "'id'", "count()"):
            cached.where("id = 3").collect()
        assert cached.count() == 40
        assert rows(cached.where("id = 3")) == rows(frame.where("id = 3").selectExpr("id", "NULL ssn", "NULL upper"))
        for condition in ("ssn IS NULL", "upper = 'X'"):
            with refused("PME_KEY_DENIED", "'ssn'", REFUSED):
                cached.where(condition).collect()
    with caching(read(spark, guarded_table, REFUSED, scan=scan, deniedPredicates="null")) as lenient:
        assert lenient.where("ssn IS NULL").count() == 40


def stream(spark: SparkSession, table: str, condition: str) -> list[int]:
    """Return how many rows of each batch meet the condition; each file of the table is a batch."""
    counts: list[int] = []
    source = spark.readStream.format(FORMAT).options(**options(Guarded(REFUSED), maxFilesPerTrigger="1"))
    source.schema("id bigint, ssn string")
    query = (
        source.load(table)
        .where(condition)
        .writeStream.foreachBatch(
            lambda batch, _: counts.append([row.ssn for row in batch.select("ssn").collect()].count(None))
        )
    )
    running = query.trigger(availableNow=True).start()
    assert running.awaitTermination(60)
    return counts


def test_a_stream_reads_nulls_and_logs_once(spark: SparkSession, guarded_table: str) -> None:
    with warnings(spark) as told:
        assert stream(spark, guarded_table, "id >= 0") == [20, 20]
    assert len(told) == 1, told
    with pytest.raises(Exception, match="PME_KEY_DENIED"):
        stream(spark, guarded_table, "ssn IS NULL")


@every_scan
def test_lost_blocks_of_cached_data_are_not_masked_below_a_condition(
    spark: SparkSession, guarded_table: str, scan: str
) -> None:
    kms = Guarded()
    reader = spark.read.format(FORMAT).options(**options(kms, scan=scan, **{CACHE_LIFETIME: "0"}))
    with caching(reader.load(guarded_table).select("id", "ssn")) as cached:
        assert cached.count() == 40
        kms._failing = {REFUSED: PermissionError()}
        context: Any = spark._jsc
        for blocks in context.getPersistentRDDs().values():
            blocks.unpersist(True)  # noqa: FBT003 - Java has no names of arguments
        with refused("PME_KEY_DENIED", "'ssn'", REFUSED):
            cached.where("ssn LIKE 'ssn-%'").collect()
