"""`deniedColumns`: what makes, drops, groups or chooses by a refused column is a condition on it.

The functions that do so are taken from the function registry of the Spark that runs this: one that a newer Spark has,
and this file has no call for, fails here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

import pme_parquet as pme
from tests.support import java
from tests.support.expect import refused
from tests.support.kms.denied import REFUSED, Guarded, caching, content, options, read, write
from tests.support.session import SPARK_VERSION
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.rows(2)

VIEW = "denied_rows"

# A call of each generator over a refused column, as it is written in SELECT.
GENERATORS = {
    "explode": "explode(map_keys(tags))",
    "explode_outer": "explode_outer(sequence(1, length(ssn)))",
    "inline": "inline(filter(phones, p -> true))",
    "inline_outer": "inline_outer(phones)",
    "json_tuple": "json_tuple(ssn, 'a')",
    "posexplode": "posexplode(array_except(array(1, 2), array(length(ssn))))",
    "posexplode_outer": "posexplode_outer(tags)",
    "stack": "stack(2, ssn, 'a')",
}
# The same for those in FROM; None where a function takes no columns.
TABLE_FUNCTIONS: dict[str, str | None] = {
    **GENERATORS,
    "variant_explode": "variant_explode(parse_json(ssn))",
    "variant_explode_outer": "variant_explode_outer(parse_json(ssn))",
    "collations": None,
    "python_worker_logs": None,
    "range": None,
    "sql_keywords": None,
}
# Functions with a lambda that chooses, and others, which give an element for each that there is.
CHOOSING = {
    "aggregate": "aggregate(array(1, 2), 0, (a, x) -> a + IF(x = length(ssn), 1, 0))",
    "exists": "exists(array('a'), x -> x <=> ssn)",
    "filter": "filter(array('a', 'b'), x -> x = ssn)",
    "forall": "forall(array('a'), x -> coalesce(x = ssn, false))",
    "map_filter": "map_filter(map('a', 1), (k, v) -> k = ssn)",
    "reduce": "reduce(array(1, 2), 0, (a, x) -> a + IF(x = length(ssn), 1, 0))",
    "array_sort": "array_sort(array(ssn, 'a'))",
}
KEEPING = {
    "map_zip_with": "map_zip_with(map('a', 1), map('a', 2), (k, v, w) -> concat(k, ssn))",
    "transform": "transform(phones, p -> p.number)",
    "transform_keys": "transform_keys(map('a', 1), (k, v) -> concat(k, id))",
    "transform_values": "transform_values(tags, (k, v) -> upper(v))",
    "zip_with": "zip_with(array(1), array(ssn), (a, b) -> concat(a, b))",
}

# Queries over a view `{t}`; its `ssn`, `phones`, `tags` and `address.street` are refused.
LOOKING = {
    "LATERAL VIEW": "SELECT id, p FROM {t} LATERAL VIEW explode(filter(phones, p -> p.kind = 'home')) AS p",
    "LATERAL VIEW OUTER": "SELECT id, p FROM {t} LATERAL VIEW OUTER explode(array_compact(array(ssn))) AS p",
    "a generator of a subquery's column": "SELECT explode(k) FROM (SELECT map_keys(tags) AS k FROM {t})",
    "a generator over an aggregate": "SELECT explode(s) FROM (SELECT collect_list(ssn) AS s FROM {t})",
    "a lateral subquery": (
        "SELECT id, l.v FROM {t} t, LATERAL (SELECT v FROM VALUES ('a'), ('b') AS w(v) WHERE v = t.ssn) l"
    ),
    "a filter in a lambda": "SELECT transform(array(ssn), s -> filter(array(1, 2), x -> s IS NOT NULL)) FROM {t}",
    "a CASE in a lambda": "SELECT transform(array(ssn), s -> CASE WHEN s = 'a' THEN 1 ELSE 2 END) FROM {t}",
    "CASE": "SELECT id, CASE WHEN ssn = 'a' THEN 'yes' ELSE 'no' END FROM {t}",
    "CASE of Booleans": "SELECT id, CASE WHEN ssn = 'a' THEN true ELSE false END FROM {t}",
    "CASE of a value": "SELECT id, CASE ssn WHEN 'a' THEN 1 ELSE 2 END FROM {t}",
    "IF": "SELECT id, IF(ssn IS NULL, 'none', 'some') FROM {t}",
    "sum of a CASE": "SELECT sum(CASE WHEN ssn = 'a' THEN 1 ELSE 0 END) FROM {t}",
    "count_if": "SELECT count_if(ssn = 'a') FROM {t}",
    "GROUP BY": "SELECT ssn, count(*) FROM {t} GROUP BY ssn",
    "GROUP BY what is computed": "SELECT count(*) FROM {t} GROUP BY substr(ssn, 1, 1), id",
    "GROUP BY a part": "SELECT address.street, max(id) FROM {t} GROUP BY address.street",
    "ROLLUP": "SELECT id, ssn, count(*) FROM {t} GROUP BY ROLLUP (id, ssn)",
    "CUBE": "SELECT id, ssn, count(*) FROM {t} GROUP BY CUBE (id, ssn)",
    "DISTINCT": "SELECT DISTINCT ssn, salary FROM {t}",
    "count of DISTINCT": "SELECT count(DISTINCT ssn) FROM {t}",
    "counts of DISTINCT": "SELECT count(DISTINCT ssn), count(DISTINCT id) FROM {t}",
    "UNION DISTINCT": "SELECT ssn FROM {t} UNION SELECT 'a'",
    "EXCEPT": "SELECT id, ssn FROM {t} EXCEPT SELECT 1L, 'a'",
    "LIMIT": "SELECT id FROM {t} ORDER BY ssn LIMIT 1",
    "LIMIT of a subquery": "SELECT id FROM (SELECT id, upper(ssn) AS u FROM {t} ORDER BY u) LIMIT 1",
    "OFFSET": "SELECT id FROM {t} ORDER BY ssn OFFSET 1",
    "the first row": "SELECT first(id) FROM (SELECT id, ssn FROM {t} ORDER BY ssn)",
    "the last row of a group": "SELECT last(id) FROM (SELECT id, ssn, salary FROM {t} ORDER BY ssn) GROUP BY salary",
    "any value": "SELECT any_value(id) FROM (SELECT id, ssn FROM {t} ORDER BY ssn)",
    "a list in an order": "SELECT collect_list(id) FROM (SELECT id, ssn FROM {t} ORDER BY ssn)",
    "the first of equals": "SELECT max_by(id, 1) FROM (SELECT id, ssn FROM {t} ORDER BY ssn)",
    "a row's number by order": (
        "SELECT id FROM (SELECT id, monotonically_increasing_id() AS n FROM (SELECT id, ssn FROM {t} ORDER BY ssn)) "
        "WHERE n < 1"
    ),
    "a sample of what is sorted": "SELECT id FROM (SELECT id, ssn FROM {t} ORDER BY ssn) TABLESAMPLE (10 PERCENT)",
    "a partition's number": (
        "SELECT id FROM (SELECT /*+ REPARTITION(2, ssn) */ id, ssn FROM {t}) WHERE spark_partition_id() = 0"
    ),
    "a window's rank": "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY ssn) AS n FROM {t}) WHERE n = 1",
    "PIVOT": "SELECT * FROM (SELECT id, ssn FROM {t}) PIVOT (max(id) FOR ssn IN ('a', 'b'))",
    "UNPIVOT": "SELECT * FROM (SELECT id, ssn, 'a' AS b FROM {t}) UNPIVOT (v FOR n IN (ssn, b))",
}
if SPARK_VERSION >= (4, 0):
    LOOKING["a table function"] = "SELECT * FROM {t}, LATERAL explode(map_keys(tags))"

# Orders that decide which value is the result.
ORDERS = {
    "max_by": "SELECT max_by(id, ssn) FROM {t}",
    "min_by": "SELECT min_by(id, upper(ssn)) FROM {t} GROUP BY salary",
    "max of structs": "SELECT max(struct(ssn, id)).id FROM {t}",
    "min of structs of a subquery": "SELECT min(s) FROM (SELECT struct(ssn, id) AS s FROM {t})",
    "sorted structs": "SELECT array_sort(collect_list(struct(ssn, id))) FROM {t}",
    "sort_array": "SELECT sort_array(array_agg(struct(ssn, id)))[0].id FROM {t}",
    "sorted lists of a subquery": "SELECT sort_array(s) FROM (SELECT collect_list(struct(ssn, id)) AS s FROM {t})",
    "array_max": "SELECT array_max(array(struct(ssn, id))).id FROM {t}",
    "array_min of a struct's field": "SELECT array_min(array(struct(address.street, id))) FROM {t}",
    "a median": "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY length(ssn)) FROM {t}",
    "a window's rank that is shown": "SELECT id, rank() OVER (ORDER BY ssn) FROM {t}",
    "row_number": "SELECT id, row_number() OVER (PARTITION BY salary ORDER BY ssn) FROM {t}",
    "a window's first value": "SELECT first_value(id) OVER (ORDER BY ssn) FROM {t}",
    "a window's last value": "SELECT last_value(id) OVER (PARTITION BY salary ORDER BY upper(ssn)) FROM {t}",
    "nth_value": "SELECT nth_value(id, 1) OVER (ORDER BY ssn) FROM {t}",
    "lead": "SELECT lead(id) OVER (ORDER BY address.street) FROM {t}",
    "a running sum": "SELECT sum(id) OVER (ORDER BY ssn) FROM {t}",
    "a window's groups": "SELECT count(*) OVER (PARTITION BY ssn) FROM {t}",
    "a window over a sorted subquery": (
        "SELECT row_number() OVER (ORDER BY 1) FROM (SELECT id, ssn FROM {t} ORDER BY ssn)"
    ),
    "the best of each group": (
        "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY salary ORDER BY ssn) AS n FROM {t}) WHERE n = 1"
    ),
}
if SPARK_VERSION >= (4, 0):
    ORDERS["listagg"] = "SELECT listagg(string(id), ',') WITHIN GROUP (ORDER BY ssn) FROM {t}"
    ORDERS["mode"] = "SELECT mode() WITHIN GROUP (ORDER BY ssn) FROM {t}"

# Functions whose result is another value because a value is NULL.
REPLACING = {
    "IF NULL": "SELECT IF(ssn IS NULL, NULL, id) FROM {t}",
    "IF not NULL": "SELECT IF(ssn IS NOT NULL, id, NULL) FROM {t}",
    "IF NULL for a constant": "SELECT IF(ssn IS NULL, NULL, 'known') FROM {t}",
    "IF NULL of a part": "SELECT IF(address.street IS NULL, NULL, address.city) FROM {t}",
    "CASE NULL": "SELECT CASE WHEN ssn IS NULL THEN NULL ELSE id END FROM {t}",
    "coalesce": "SELECT coalesce(ssn, 'none') FROM {t}",
    "nvl": "SELECT nvl(upper(ssn), 'none') FROM {t}",
    "nvl2": "SELECT nvl2(ssn, id, -1) FROM {t}",
    "nullif": "SELECT nullif(ssn, 'a') FROM {t}",
    "nullif of another": "SELECT nullif(id, length(ssn)) FROM {t}",
    "decode": "SELECT decode(ssn, 'a', 1, 2) FROM {t}",
    "greatest": "SELECT greatest(ssn, 'a') FROM {t}",
    "least": "SELECT least(length(ssn), id) FROM {t}",
    "equal or both NULL": "SELECT ssn <=> 'a' FROM {t}",
    "NULL as a number": "SELECT id * int(ssn IS NULL) FROM {t}",
    "NULL as a number of a subquery": "SELECT id * n FROM (SELECT id, int(ssn IS NULL) AS n FROM {t})",
    "a mean of NULLs": "SELECT avg(int(ssn IS NOT NULL)) FROM {t}",
    "equal structs": "SELECT named_struct('n', ssn) = named_struct('n', 'a') FROM {t}",
    "a part of a list": "SELECT slice(phones, 1, 1), to_json(struct(ssn)) FROM {t}",
    "a text of a struct": "SELECT string(address) FROM {t}",
    "a size": "SELECT size(array_compact(array(ssn))) FROM {t}",
    "an element's place": "SELECT array_position(array(ssn, 'a'), 'a') FROM {t}",
    "text without NULL": "SELECT concat_ws('-', ssn, 'a') FROM {t}",
    "formatted": "SELECT format_string('%s', ssn) FROM {t}",
    "a hash": "SELECT hash(ssn), xxhash64(id, ssn) FROM {t}",
    "a set": "SELECT collect_set(ssn) FROM {t}",
    "an estimate of DISTINCT": "SELECT approx_count_distinct(ssn) FROM {t}",
    "NaN": "SELECT isnan(double(ssn)) FROM {t}",
    "a value before, without NULLs": "SELECT lag(ssn, 1, 'a') IGNORE NULLS OVER (ORDER BY id) FROM {t}",
}

VALUES = {
    "values": "SELECT id, upper(ssn), ssn = 'a', ssn IS NULL, ssn || id, length(ssn) + id, ssn IN ('a', 'b') FROM {t}",
    "functions of texts": (
        "SELECT substr(ssn, 1, 2), regexp_replace(ssn, 'a', 'b'), ssn LIKE 'a%b', lpad(ssn, 9, '-'), sha2(ssn, 256), "
        "split(ssn, '-')[0], trim(ssn), get_json_object(ssn, '$.a'), NOT ssn = 'a' OR id = 3 FROM {t}"
    ),
    "functions of numbers and times": (
        "SELECT int(ssn) / 2 - 1, round(double(ssn), 1), abs(int(ssn)), int(ssn) % 2, ssn BETWEEN 'a' AND 'b', "
        "date_format(date(ssn), 'y'), year(ssn), trunc(date(ssn), 'MM'), unix_timestamp(ssn) FROM {t}"
    ),
    "parts": (
        "SELECT address, phones, phones.number, tags['key'], map_keys(tags), struct(ssn, id).ssn, array(ssn) FROM {t}"
    ),
    "a value where others are NULL": "SELECT coalesce(string(salary), ssn), IF(id = 3, ssn, 'a') FROM {t}",
    "a maximum by another column": "SELECT max_by(ssn, id), min_by(address, id) FROM {t}",
    "the newest of each group": (
        "SELECT id, ssn FROM (SELECT id, ssn, row_number() OVER (PARTITION BY salary ORDER BY id) AS n FROM {t}) "
        "WHERE n = 1"
    ),
    "a guard against NULL": "SELECT IF(address.street IS NULL, NULL, upper(address.street)) FROM {t}",
    "aggregates": "SELECT count(ssn), max(ssn), count(*), collect_list(ssn) FROM {t}",
    "aggregates of groups": "SELECT id, max(ssn) FROM {t} GROUP BY id",
    "the first row of another order": "SELECT first(ssn) FROM (SELECT id, ssn FROM {t} ORDER BY id)",
    "aggregates of any order": "SELECT count(id), sum(id), max(id), stddev(id) FROM (SELECT id FROM {t} ORDER BY ssn)",
    "an order": "SELECT ssn FROM {t} ORDER BY ssn, id",
    "a limit": "SELECT id, ssn FROM {t} ORDER BY id LIMIT 2",
    "a window": "SELECT id, lag(ssn) OVER (PARTITION BY salary ORDER BY id) FROM {t}",
    "a union": "SELECT id, ssn FROM {t} UNION ALL SELECT 1L, 'a'",
    "a sample": "SELECT id, ssn FROM {t} TABLESAMPLE (100 PERCENT)",
    "a join on another column": "SELECT a.ssn, b.tags FROM {t} a LEFT JOIN {t} b ON a.id = b.id",
    "a generator of others": "SELECT ssn, explode(sequence(1, id)) FROM {t}",
}

FRAMES: dict[str, Callable[[DataFrame], Any]] = {
    "dropDuplicates": lambda t: t.dropDuplicates(["ssn"]).collect(),
    "dropDuplicates after an order": lambda t: t.orderBy("ssn").dropDuplicates(["salary"]).select("id").collect(),
    "distinct": lambda t: t.select("id", "ssn").distinct().count(),
    "show after an order": lambda t: t.orderBy("ssn").show(1),
    "tail after an order": lambda t: cast("Any", t.orderBy("ssn"))._jdf.tail(1),
    "pivot": lambda t: t.groupBy("salary").pivot("ssn", ["a"]).count().collect(),
    "mapInPandas": lambda t: t.select("ssn").mapInPandas(lambda frames: frames, "ssn string").collect(),
    "mapInArrow": lambda t: t.select("ssn").mapInArrow(lambda batches: batches, "ssn string").collect(),
    "applyInPandas": lambda t: (
        t.select("id", "ssn").groupBy("id").applyInPandas(lambda one: one, "id bigint, ssn string").collect()
    ),
    "cogroup": lambda t: (
        t.select("id", "ssn")
        .groupBy("id")
        .cogroup(t.groupBy("id"))
        .applyInPandas(lambda one, _: one, "id bigint, ssn string")
        .collect()
    ),
}


@pytest.fixture(scope="module")
def path(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    made = str(tmp_path_factory.mktemp("rows") / "table")
    write(content(spark).where("id = 3").coalesce(1), made)
    return made


@pytest.fixture
def seen(spark: SparkSession, path: str) -> Iterator[DataFrame]:
    """Return a table of one row, as somebody reads it to whom `pii` is refused."""
    frame = read(spark, path, REFUSED)
    frame.createOrReplaceTempView(VIEW)
    yield frame
    spark.catalog.dropTempView(VIEW)


@pytest.fixture
def _workers(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Python functions run where this runs, with PyArrow."""
    monkeypatch.setattr(spark.sparkContext, "pythonExec", sys.executable)


def registered(spark: SparkSession, registry: str, kind: str | None = None, group: str | None = None) -> set[str]:
    """Return the names of Spark's functions: of all, or of a class or of a group of its documentation."""
    jvm: Any = spark._jvm

    def named(name: str) -> Any:
        return jvm.java.lang.Class.forName(name)

    of = named(f"org.apache.spark.sql.catalyst.expressions.{kind}") if kind else None
    builtin = getattr(jvm.org.apache.spark.sql.catalyst.analysis, registry).builtin()
    names = builtin.listFunction().iterator()
    found = set()
    while names.hasNext():
        name = names.next()
        told = builtin.lookupFunction(name).get()
        # Some are registered by what builds them. Only their group shows which they are.
        if of is None or told.getGroup() == group or of.isAssignableFrom(named(told.getClassName())):
            found.add(name.funcName())
    return found


def is_refused(spark: SparkSession, sql: str) -> bool:
    try:
        spark.sql(sql.format(t=VIEW)).collect()
    except pme.KeyDeniedError as error:
        return all(words in str(error) for words in (REFUSED, "condition", "deniedPredicates=null"))
    return False


def assert_all_refused(spark: SparkSession, queries: dict[str, str]) -> None:
    """Fail unless each query is refused; tell of all that are not."""
    assert [name for name, sql in queries.items() if not is_refused(spark, sql)] == []


@pytest.mark.usefixtures("seen")
def test_every_generator_of_the_registry_looks_at_its_arguments(spark: SparkSession) -> None:
    known = registered(spark, "FunctionRegistry", "Generator", "generator_funcs")
    assert known <= set(GENERATORS), "a new generator: add a call of it"
    assert_all_refused(spark, {name: f"SELECT {GENERATORS[name]} FROM {{t}}" for name in sorted(known)})


@pytest.mark.usefixtures("seen")
def test_every_table_function_of_the_registry_looks_at_its_arguments(spark: SparkSession) -> None:
    known = registered(spark, "TableFunctionRegistry")
    assert known <= set(TABLE_FUNCTIONS), "a new table function: add a call of it"
    calls = {name: TABLE_FUNCTIONS[name] for name in sorted(known)}
    if SPARK_VERSION >= (4, 0):
        assert_all_refused(
            spark, {name: f"SELECT * FROM {{t}}, LATERAL {call}" for name, call in calls.items() if call}
        )


@pytest.mark.usefixtures("seen")
def test_every_function_with_a_lambda_that_chooses_looks_at_its_arguments(spark: SparkSession) -> None:
    known = registered(spark, "FunctionRegistry", "HigherOrderFunction", "lambda_funcs")
    assert known <= {*CHOOSING, *KEEPING}, "a new function with a lambda: add a call of it"
    assert_all_refused(spark, {name: f"SELECT {CHOOSING[name]} FROM {{t}}" for name in sorted(known & {*CHOOSING})})
    for call in KEEPING.values():
        assert spark.sql(f"SELECT {call} FROM {VIEW}").count() == len(spark.sql(f"SELECT {call} FROM {VIEW}").collect())


@pytest.mark.usefixtures("seen")
def test_what_chooses_rows_groups_or_branches_is_a_condition(spark: SparkSession) -> None:
    assert_all_refused(spark, LOOKING)


@pytest.mark.usefixtures("seen")
def test_an_order_that_chooses_a_value_is_a_condition(spark: SparkSession) -> None:
    assert_all_refused(spark, ORDERS)


@pytest.mark.usefixtures("seen")
def test_a_function_that_replaces_null_is_a_condition(spark: SparkSession) -> None:
    assert_all_refused(spark, REPLACING)


@pytest.mark.parametrize("scan", ["v2", "v1"])
def test_choices_are_conditions_for_every_scan(spark: SparkSession, path: str, scan: str) -> None:
    seen = read(spark, path, REFUSED, scan=scan)
    for chosen in ("max_by(id, ssn)", "IF(ssn IS NULL, NULL, id)", "rank() OVER (ORDER BY ssn)", "hash(ssn)"):
        with refused("PME_KEY_DENIED", REFUSED, "condition"):
            seen.selectExpr(chosen).collect()
    assert seen.selectExpr("upper(ssn)", "max_by(ssn, id) OVER (PARTITION BY id)").collect() == [(None, None)]


@pytest.mark.usefixtures("_workers")
def test_a_function_in_python_looks_at_its_arguments(seen: DataFrame) -> None:
    known = cast("Any", f.udf(lambda text: text or "none"))
    with refused("PME_KEY_DENIED", "'ssn'", REFUSED):
        seen.select(known("ssn")).collect()
    assert seen.select(known(f.col("id").cast("string")), "ssn").collect() == [("3", None)]


@pytest.mark.usefixtures("seen")
@pytest.mark.parametrize("sql", VALUES.values(), ids=VALUES)
def test_what_only_computes_or_sorts_sees_nulls(spark: SparkSession, sql: str) -> None:
    assert spark.sql(sql.format(t=VIEW)).collect()


@pytest.mark.usefixtures("_workers")
@pytest.mark.parametrize("query", FRAMES.values(), ids=FRAMES)
def test_what_cannot_be_seen_into_looks_at_all_that_it_is_given(
    seen: DataFrame, query: Callable[[DataFrame], Any]
) -> None:
    with refused("PME_KEY_DENIED", REFUSED, "condition"):
        query(seen)


@pytest.mark.parametrize("name", ["flatMapped", "partitions"])
def test_a_typed_function_that_makes_rows_looks_at_all_that_it_is_given(
    spark: SparkSession, seen: DataFrame, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    java.load(spark, tmp_path_factory, Path(__file__).with_name("TypedQueries.java"))
    jvm: Any = spark._jvm

    def typed(column: str) -> DataFrame:
        return DataFrame(getattr(jvm.kms.TypedQueries, name)(seen.select(column)._jdf), spark)

    with refused("PME_KEY_DENIED", "'ssn'", REFUSED):
        typed("ssn").collect()
    typed("address.city").collect()


@pytest.mark.skipif(SPARK_VERSION < (4, 0), reason="Spark 3.5 takes no columns in table functions")
@pytest.mark.usefixtures("seen", "_workers")
def test_a_table_function_in_python_looks_at_its_arguments(spark: SparkSession) -> None:
    class Twice:
        def eval(self, text: str) -> Any:
            if text is not None:
                yield (text,)
                yield (text,)

    spark.udtf.register("twice", cast("Any", f.udtf(Twice, returnType="again string")))
    with refused("PME_KEY_DENIED", "'ssn'", REFUSED):
        spark.sql(f"SELECT id, again FROM {VIEW}, LATERAL twice(ssn)").collect()
    assert spark.sql(f"SELECT id, again, ssn FROM {VIEW}, LATERAL twice(string(id))").count() == 2


def test_a_stream_is_checked_by_the_columns_that_it_uses(spark: SparkSession, path: str) -> None:
    def rows(key: str) -> int:
        counts: list[int] = []
        source = spark.readStream.format(FORMAT).options(**options(Guarded(REFUSED))).schema("id bigint, ssn string")
        distinct = source.load(path).selectExpr("*", "now() AS at").withWatermark("at", "1 day").dropDuplicates([key])
        query = distinct.writeStream.foreachBatch(lambda batch, _: counts.append(len(batch.collect())))
        running = query.trigger(availableNow=True).start()
        assert running.awaitTermination(60)
        return sum(counts)

    assert rows("id") == 1
    with pytest.raises(Exception, match="PME_KEY_DENIED"):
        rows("ssn")


def test_rows_are_made_and_chosen_by_nulls_where_conditions_may_see_them(spark: SparkSession, path: str) -> None:
    lenient = read(spark, path, REFUSED, deniedPredicates="null")
    assert lenient.selectExpr("explode(map_keys(tags))").collect() == []
    assert lenient.groupBy("ssn").count().collect() == [(None, 1)]
    assert lenient.selectExpr("CASE WHEN ssn = 'a' THEN 1 ELSE 2 END").collect() == [(2,)]


def test_cached_data_is_checked_by_what_makes_and_chooses_rows_too(seen: DataFrame) -> None:
    with caching(seen.select("id", "ssn", "tags").orderBy("ssn", "id")) as cached:
        assert cached.count() == 1
        for query in (
            cached.selectExpr("explode(map_keys(tags))"),
            cached.groupBy("ssn").count(),
            cached.select("id").limit(1),
        ):
            with refused("PME_KEY_DENIED", REFUSED, "condition"):
                query.collect()
        assert cached.groupBy("id").count().collect() == [(3, 1)]
