"""A condition is led back to the refused columns that it compares, also by ways that Spark's plans hide.

Those are typed Datasets, sizes of groups, recursive queries, and plans of cached data in which a part is used again or
is planned again while it runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tests.support import java
from tests.support.expect import refused
from tests.support.kms.denied import REFUSED, caching, content, read, write
from tests.support.session import SPARK_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

pytestmark = pytest.mark.rows(2)

ADAPTIVE = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
}
FIXED = {"spark.sql.adaptive.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "-1"}


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("lineage") / "table")
    write(content(spark), path)
    return path


@pytest.fixture(scope="module")
def typed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, DataFrame], DataFrame]:
    """Return what makes a typed query over a frame: ``typed("filter", frame)``."""
    java.load(spark, tmp_path_factory, Path(__file__).with_name("TypedQueries.java"))
    jvm: Any = spark._jvm

    def query(name: str, frame: DataFrame) -> DataFrame:
        return DataFrame(getattr(jvm.kms.TypedQueries, name)(frame._jdf), spark)

    return query


@pytest.mark.parametrize("name", ["filter", "filterOfRows", "conditionOnMapped", "conditionOnGrouped"])
def test_a_typed_condition_on_a_refused_column_is_refused(
    spark: SparkSession, table: str, typed: Callable[[str, DataFrame], DataFrame], name: str
) -> None:
    with refused("PME_KEY_DENIED", "'ssn'", REFUSED):
        typed(name, read(spark, table, REFUSED).select("ssn")).collect()
    typed(name, read(spark, table, REFUSED).selectExpr("address.city")).collect()


def test_a_typed_function_looks_at_all_that_it_is_given(
    spark: SparkSession, table: str, typed: Callable[[str, DataFrame], DataFrame]
) -> None:
    with refused("PME_KEY_DENIED", "'ssn'", REFUSED):
        typed("mapped", read(spark, table, REFUSED).select("ssn")).collect()
    seen = typed("mapped", read(spark, table, REFUSED, deniedPredicates="null").select("ssn"))
    assert {row.value for row in seen.collect()} == {"of null"}


def joined(seen: DataFrame) -> DataFrame:
    """Return a frame both of whose sides are computed by the same shuffle."""
    one = seen.groupBy("id").agg(f.max("ssn").alias("most"))
    other = seen.groupBy("id").agg(f.max("ssn").alias("most")).withColumnRenamed("most", "again")
    return one.join(other, "id")


def with_subquery(seen: DataFrame) -> DataFrame:
    """Return a frame of which a column is another query's only row."""
    seen.createOrReplaceTempView("lineage_seen")
    return seen.sparkSession.sql("SELECT id, (SELECT max(ssn) FROM lineage_seen) AS most FROM lineage_seen")


@pytest.mark.parametrize("settings", [ADAPTIVE, FIXED], ids=["adaptive", "fixed"])
@pytest.mark.parametrize("column", ["most", "again"])
@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_a_shuffle_that_cached_data_uses_again_hides_no_condition(
    spark: SparkSession, table: str, conf: Conf, settings: dict[str, str], column: str, scan: str
) -> None:
    with conf(settings), caching(joined(read(spark, table, REFUSED, scan=scan))) as cached:
        assert cached.count() == 40
        with refused("PME_KEY_DENIED", "'ssn'", REFUSED):
            cached.where(f"{column} IS NULL").collect()
        assert cached.where("id = 3").count() == 1


@pytest.mark.parametrize("settings", [ADAPTIVE, FIXED], ids=["adaptive", "fixed"])
def test_a_subquery_in_cached_data_hides_no_condition(
    spark: SparkSession, table: str, conf: Conf, settings: dict[str, str]
) -> None:
    with conf(settings), caching(with_subquery(read(spark, table, REFUSED))) as cached:
        assert cached.count() == 40
        with refused("PME_KEY_DENIED", "'ssn'", REFUSED):
            cached.where("most IS NULL").collect()


GROUPS = {
    "having": "SELECT ssn FROM {t} GROUP BY ssn HAVING count(*) > 1",
    "of a subquery": "SELECT * FROM (SELECT ssn, count(*) AS n FROM {t} GROUP BY ssn) WHERE n > 1",
    "except all": "SELECT id, ssn FROM {t} EXCEPT ALL SELECT id, ssn FROM {t}",
    "intersect all": "SELECT id, ssn FROM {t} INTERSECT ALL SELECT id, ssn FROM {t}",
}


@pytest.mark.parametrize("sql", GROUPS.values(), ids=GROUPS)
def test_a_condition_on_the_size_of_groups_looks_at_what_groups_them(spark: SparkSession, table: str, sql: str) -> None:
    with refused("PME_KEY_DENIED", "'ssn'", REFUSED):
        spark.sql(sql, t=read(spark, table, REFUSED)).collect()
    spark.sql(sql.replace("ssn", "salary"), t=read(spark, table, REFUSED)).collect()


RECURSIVE = {
    "of what it begins with": (
        "WITH RECURSIVE r AS (SELECT id, ssn, 1 AS step FROM {t} UNION ALL "
        "SELECT id, ssn, step + 1 FROM r WHERE step < 3) SELECT * FROM r WHERE ssn = 'x'"
    ),
    "of each step": (
        "WITH RECURSIVE r AS (SELECT id, ssn, 1 AS step FROM {t} UNION ALL "
        "SELECT id, ssn, step + 1 FROM r WHERE step < 3 AND ssn IS NULL) SELECT id FROM r"
    ),
    "of what it goes on with": (
        "WITH RECURSIVE r AS (SELECT 3L AS id, 'x' AS ssn, 1 AS step UNION ALL "
        "SELECT t.id, t.ssn, step + 1 FROM r JOIN {t} t ON t.id = r.id + 1 WHERE step < 3) "
        "SELECT * FROM r WHERE ssn = 'x'"
    ),
}


@pytest.mark.skipif(SPARK_VERSION < (4, 1), reason="Spark has no recursive queries before 4.1")
@pytest.mark.parametrize("sql", RECURSIVE.values(), ids=RECURSIVE)
def test_a_condition_in_a_recursive_query_is_refused(spark: SparkSession, table: str, sql: str) -> None:
    with refused("PME_KEY_DENIED", "'ssn'", REFUSED):
        spark.sql(sql, t=read(spark, table, REFUSED)).collect()
