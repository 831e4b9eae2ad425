"""`deniedColumns=null|drop`: a column whose key the KMS refuses reads as NULL, and nothing else does.

What a reader sees is compared with the same query over a frame that holds NULLs in those places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as f
from pyspark.sql import types as t

from tests.kms.access import by_token, encryption
from tests.kms.denied import REFUSED, Guarded, content, masked, options, read, rows, write
from tests.policy import bend
from tests.policy.expect import refused, save
from tests.support.canary import data_files
from tests.support.source import FORMAT
from tests.support.warnings import warnings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.access import Transit
    from tests.support.source import Conf

VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
NESTED_VECTORIZED = "spark.sql.parquet.enableNestedColumnVectorizedReader"
PUSH_DOWN = "spark.sql.parquet.aggregatePushdown"
FILTER_FIRST = "io.pmeparquet.test.filterFirst"

every_scan = pytest.mark.parametrize("scan", ["v1", "v2"])
every_decoder = pytest.mark.parametrize("vectorized", ["true", "false"])
every_mode = pytest.mark.parametrize("mode", ["null", "drop"])


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return content(spark)


@pytest.fixture(scope="module")
def table(frame: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("denied") / "table")
    write(frame, path)
    return path


# ---- what is read


@every_scan
@every_decoder
def test_refused_columns_read_as_null(
    spark: SparkSession, table: str, frame: DataFrame, conf: Conf, scan: str, vectorized: str
) -> None:
    with conf({VECTORIZED: vectorized}):
        assert rows(read(spark, table, REFUSED, scan=scan)) == rows(masked(frame))
        # Without a refusal the option changes nothing.
        assert rows(read(spark, table, scan=scan)) == rows(frame)


@every_scan
def test_refused_columns_are_left_out_of_the_schema(
    spark: SparkSession, table: str, frame: DataFrame, scan: str
) -> None:
    dropped = read(spark, table, REFUSED, deniedColumns="drop", scan=scan)
    assert dropped.schema.simpleString() == "struct<id:bigint,salary:bigint,address:struct<city:string>>"
    expected = frame.selectExpr("id", "salary", "IF(address IS NULL, NULL, struct(address.city)) AS address")
    assert rows(dropped) == rows(expected)


def test_with_a_given_schema_what_would_be_dropped_reads_as_null(
    spark: SparkSession, table: str, frame: DataFrame
) -> None:
    reader = spark.read.format(FORMAT).options(**options(Guarded(REFUSED), deniedColumns="drop"))
    given = reader.schema("ID bigint, Ssn string").load(table)
    assert rows(given) == rows(frame.selectExpr("id AS ID", "CAST(NULL AS string) AS Ssn"))


@every_decoder
@pytest.mark.parametrize(
    "selected",
    [
        ["ssn"],
        ["address.street"],
        ["address.city"],
        ["address.street", "id"],
        ["phones.kind"],
        ["phones.number"],
        ["tags['key']"],
        ["count(ssn)", "count(*)", "count(address)"],
        ["max(ssn)", "min(id)", "max(id)"],
        ["ssn", "_metadata.row_index", "_metadata.file_block_start"],
    ],
    ids=str,
)
def test_a_selection_reads_what_it_would_over_nulls(
    spark: SparkSession, table: str, frame: DataFrame, conf: Conf, vectorized: str, selected: list[str]
) -> None:
    over = masked(frame)
    if selected == ["phones.kind"]:
        # Not refused, and neither is the list of it alone.
        over = frame
    with conf({VECTORIZED: vectorized}):
        seen = read(spark, table, REFUSED)
        if "_metadata.row_index" in selected:
            over = read(spark, table).withColumn("ssn", f.lit(None))
        assert rows(seen.selectExpr(*selected)) == rows(over.selectExpr(*selected))


@every_scan
def test_aggregates_are_not_answered_from_footers(
    spark: SparkSession, table: str, frame: DataFrame, conf: Conf, scan: str
) -> None:
    asked = ["max(ssn)", "min(ssn)", "count(ssn)", "count(*)", "max(id)"]
    with conf({PUSH_DOWN: "true"}):
        for denied in ([REFUSED], []):
            expected = masked(frame) if denied else frame
            assert rows(read(spark, table, *denied, scan=scan).selectExpr(*asked)) == rows(expected.selectExpr(*asked))


def test_grouping_by_a_refused_column_has_one_group(spark: SparkSession, table: str) -> None:
    assert [tuple(row) for row in read(spark, table, REFUSED).groupBy("ssn").count().collect()] == [(None, 40)]


def test_a_default_of_the_definition_does_not_stand_in_for_a_refused_column(
    spark: SparkSession, table: str, conf: Conf
) -> None:
    default = {"EXISTS_DEFAULT": "'default'", "CURRENT_DEFAULT": "'default'"}
    fields = [t.StructField(name, t.StringType(), metadata=default) for name in ("ssn", "absent")]
    reader = spark.read.format(FORMAT).schema(t.StructType([t.StructField("id", t.LongType()), *fields]))
    for vectorized in ("true", "false"):
        with conf({VECTORIZED: vectorized}):
            given = reader.options(**options(Guarded(REFUSED), deniedPredicates="null")).load(table)
            assert {tuple(row)[1:] for row in given.collect()} == {(None, "default")}
            assert given.where("ssn = 'default'").count() == 0
            assert given.where("ssn IS NULL AND id > 20").count() == 19


def test_columns_that_are_found_by_id_are_masked(
    spark: SparkSession, frame: DataFrame, target: str, conf: Conf
) -> None:
    def schema(*names: str) -> t.StructType:
        types = (t.LongType(), t.StringType())
        fields = zip(names, types, strict=True)
        return t.StructType(
            [t.StructField(name, kind, metadata={"parquet.field.id": at}) for at, (name, kind) in enumerate(fields, 1)]
        )

    with conf({f"spark.sql.parquet.fieldId.{way}.enabled": "true" for way in ("read", "write")}):
        written = spark.createDataFrame(frame.select("id", "ssn").collect(), schema("id", "ssn"))
        write(written, target, columnKeys="pii: ssn")
        reader = spark.read.format(FORMAT).options(**options(Guarded(REFUSED)))
        renamed = reader.schema(schema("number", "secret")).load(target)
        assert rows(renamed) == rows(frame.selectExpr("id AS number", "NULL AS secret"))
        with refused("PME_KEY_DENIED", "'ssn'"):
            renamed.where("secret IS NULL").collect()


def test_partitions_are_pruned_as_ever(spark: SparkSession, frame: DataFrame, target: str) -> None:
    by_city = frame.withColumn("part", f.expr("id % 3"))
    by_city.write.format(FORMAT).partitionBy("part").options(
        **options(Guarded()), footerKey="footer", columnKeys="pii: ssn"
    ).save(target)
    expected = by_city.withColumn("ssn", f.lit(None)).where("part = 1")
    assert rows(read(spark, target, REFUSED).where("part = 1")) == rows(expected)


def test_buckets_of_a_refused_column_are_not_believed(spark: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    writer = frame.write.format(FORMAT).bucketBy(4, "ssn").option("path", str(tmp_path / "buckets"))
    kms = Guarded()
    writer.options(**options(kms, deniedPredicates="null"), footerKey="footer", columnKeys="pii: ssn").saveAsTable("b")
    try:
        kms._failing = {REFUSED: PermissionError()}
        spark.sql("REFRESH TABLE b")
        seen = spark.table("b")
        assert seen.where("ssn IS NULL").count() == 40
        assert [tuple(row) for row in seen.groupBy("ssn").count().collect()] == [(None, 40)]
    finally:
        spark.sql("DROP TABLE b")


@every_scan
def test_masked_rows_can_be_written_elsewhere(
    spark: SparkSession, table: str, frame: DataFrame, target: str, scan: str
) -> None:
    read(spark, table, REFUSED, scan=scan).write.parquet(target)
    assert rows(spark.read.parquet(target)) == rows(masked(frame))


# ---- files of one table differ


@pytest.fixture(scope="module")
def mixed(frame: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a table of which `ssn` is under the refused key in one partition, and under another one in the other."""
    path = str(tmp_path_factory.mktemp("mixed") / "table")
    for part, keys in enumerate(["pii: ssn", "pay: ssn"]):
        write(frame.select("id", "ssn").where(f"id % 2 = {part}").coalesce(1), f"{path}/part={part}", columnKeys=keys)
    return path


@every_scan
def test_a_column_that_some_files_refuse_is_null_in_those(
    spark: SparkSession, mixed: str, frame: DataFrame, scan: str
) -> None:
    expected = frame.selectExpr("id", "IF(id % 2 = 0, NULL, ssn) AS ssn", "CAST(id % 2 AS int) AS part")
    for mode in ("null", "drop"):
        reader = spark.read.format(FORMAT).options(**options(Guarded(REFUSED), deniedColumns=mode, scan=scan))
        assert rows(reader.schema("id bigint, ssn string, part int").load(mixed)) == rows(expected)
    merged = read(spark, mixed, REFUSED, deniedColumns="drop", mergeSchema="true", scan=scan)
    assert rows(merged.select("id", "ssn", "part")) == rows(expected)


@every_scan
def test_a_condition_is_refused_where_a_file_refuses_the_column(spark: SparkSession, mixed: str, scan: str) -> None:
    seen = read(spark, mixed, REFUSED, scan=scan)
    assert seen.where("part = 1 AND ssn = 'ssn-7'").count() == 1
    with refused("PME_KEY_DENIED", "'ssn'", REFUSED, "deniedPredicates=null"):
        seen.where("ssn = 'ssn-7'").count()
    lenient = read(spark, mixed, REFUSED, scan=scan, deniedPredicates="null")
    assert lenient.where("ssn = 'ssn-7'").count() == 1
    assert lenient.where("ssn = 'ssn-6'").count() == 0


# ---- conditions


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


@every_scan
@pytest.mark.parametrize("condition", ["ssn = 'ssn-7'", "ssn IS NULL OR id = 3", "address.street IS NULL"])
def test_a_condition_on_a_refused_column_is_refused(spark: SparkSession, table: str, scan: str, condition: str) -> None:
    with refused("PME_KEY_DENIED", REFUSED, "condition", "deniedPredicates=null"):
        read(spark, table, REFUSED, scan=scan).where(condition).collect()


@every_scan
def test_conditions_on_other_columns_are_as_ever(spark: SparkSession, table: str, frame: DataFrame, scan: str) -> None:
    for condition in ("id = 7", "salary IS NULL", "salary > 20 OR id < 4"):
        seen = read(spark, table, REFUSED, scan=scan).where(condition)
        assert rows(seen) == rows(masked(frame).where(condition))


@pytest.fixture(scope="module")
def over_nulls(frame: DataFrame) -> dict[str, list[str]]:
    """Return the rows that meet each condition where NULLs stand."""
    local = masked(frame).localCheckpoint()
    return {condition: rows(local.where(condition)) for condition in CONDITIONS}


@pytest.mark.parametrize(("scan", "vectorized"), [("v1", "true"), ("v1", "false"), ("v2", "true")])
def test_with_denied_predicates_conditions_see_nulls(
    spark: SparkSession, table: str, over_nulls: dict[str, list[str]], conf: Conf, scan: str, vectorized: str
) -> None:
    jvm: Any = spark._jvm
    seen = read(spark, table, REFUSED, scan=scan, deniedPredicates="null")
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
    spark: SparkSession, table: str, query: Callable[[DataFrame], DataFrame]
) -> None:
    with refused("PME_KEY_DENIED", REFUSED):
        query(read(spark, table, REFUSED)).collect()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM {t} WHERE id IN (SELECT id FROM {t} WHERE ssn = 'x')",
        "SELECT id FROM {t} WHERE 'x' = (SELECT max(ssn) FROM {t})",
        "WITH c AS (SELECT id, ssn, rand() r FROM {t}) SELECT a.id FROM c a JOIN c b ON a.ssn = b.ssn",
    ],
)
def test_a_condition_in_a_subquery_is_refused(spark: SparkSession, table: str, sql: str) -> None:
    with refused("PME_KEY_DENIED", REFUSED):
        spark.sql(sql, t=read(spark, table, REFUSED)).collect()


def test_a_join_on_another_column_carries_the_nulls(spark: SparkSession, table: str, frame: DataFrame) -> None:
    seen = read(spark, table, REFUSED)
    joined = seen.join(seen.selectExpr("id", "ssn AS again"), "id").select("id", "ssn", "again")
    assert rows(joined) == rows(masked(frame).selectExpr("id", "ssn", "ssn AS again"))


def test_another_session_s_view_refuses_what_it_cannot_judge(spark: SparkSession, table: str) -> None:
    read(spark, table, REFUSED).createOrReplaceGlobalTempView("denied_view")
    other = spark.newSession()
    seen = other.table("global_temp.denied_view")
    with refused("PME_UNSUPPORTED", "again"):
        seen.select("ssn").collect()
    with refused("PME_KEY_DENIED", REFUSED):
        seen.limit(5).where("ssn = 'x'").collect()
    assert seen.where("id = 3").select("ssn").collect() == [(None,)]


# ---- cached data and streams


@every_scan
def test_cached_data_is_judged_like_any_other(spark: SparkSession, table: str, frame: DataFrame, scan: str) -> None:
    cached = read(spark, table, REFUSED, scan=scan).select("id", "ssn", f.upper("ssn").alias("upper")).cache()
    try:
        with refused("PME_UNSUPPORTED", "'id'", "count()"):
            cached.where("id = 3").collect()
        assert cached.count() == 40
        assert rows(cached.where("id = 3")) == rows(frame.where("id = 3").selectExpr("id", "NULL ssn", "NULL upper"))
        for condition in ("ssn IS NULL", "upper = 'X'"):
            with refused("PME_KEY_DENIED", "'ssn'", REFUSED):
                cached.where(condition).collect()
    finally:
        cached.unpersist()
    lenient = read(spark, table, REFUSED, scan=scan, deniedPredicates="null").cache()
    try:
        assert lenient.where("ssn IS NULL").count() == 40
    finally:
        lenient.unpersist()


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


def test_a_stream_reads_nulls_and_tells_once(spark: SparkSession, table: str) -> None:
    with warnings(spark) as told:
        assert stream(spark, table, "id >= 0") == [20, 20]
    assert len(told) == 1, told
    with pytest.raises(Exception, match="PME_KEY_DENIED"):
        stream(spark, table, "ssn IS NULL")


# ---- what is told, and asked


@every_scan
def test_each_query_tells_once_which_columns_and_keys_it_masks(spark: SparkSession, table: str, scan: str) -> None:
    seen = read(spark, table, REFUSED, scan=scan)
    for _ in range(2):
        with warnings(spark) as told:
            # Two scans of two files each.
            both = seen.selectExpr("id", "ssn", "address").join(seen.selectExpr("id + 1 AS id", "ssn", "address"), "id")
            assert both.count() + len(both.collect()) == 2 * 39
        assert len(told) == 1, told
        for words in ("ssn (master key 'pii')", "address.street (master key 'pii')", "NULL", "part-"):
            assert words in told[0]
    with warnings(spark) as told:
        seen.select("id", "salary").collect()
    assert told == []


def test_what_is_dropped_is_told_when_the_schema_is_inferred(spark: SparkSession, table: str) -> None:
    with warnings(spark) as told:
        dropped = read(spark, table, REFUSED, deniedColumns="drop")
        dropped.collect()
    assert len(told) == 1, told
    for words in ("deniedColumns=drop", "ssn (master key 'pii')", "schema"):
        assert words in told[0]


@every_mode
def test_each_key_is_asked_for_once(spark: SparkSession, frame: DataFrame, target: str, mode: str) -> None:
    write(frame.repartition(8), target)
    client = Guarded(REFUSED)
    seen = spark.read.format(FORMAT).options(**options(client, deniedColumns=mode)).load(target)
    seen.collect()
    seen.collect()
    assert client.count("unwrap") == {"footer": 1, "pii": 1, "pay": 1}


def test_a_refused_column_that_is_not_selected_is_not_asked_for(spark: SparkSession, table: str) -> None:
    client = Guarded(REFUSED)
    spark.read.format(FORMAT).options(**options(client)).load(table).select("id", "address.city").collect()
    assert client.count("unwrap") == {"footer": 1}


@pytest.mark.parametrize("place", ["driver", "executor"])
def test_a_column_that_vault_s_policy_refuses_reads_as_null(
    spark: SparkSession, vault: Transit, target: str, tmp_path: Path, place: str
) -> None:
    plain = spark.createDataFrame([(1, "ssn-1", 2.0)], "id bigint, ssn string, salary double")
    save(plain, target, encryption(by_token(vault, tmp_path)).options())
    few = by_token(vault, tmp_path, ["footer", "pay"]).options()
    given = few | {"reader": "pages", "deniedColumns": "null", "kms.callFrom": place}
    assert [tuple(row) for row in spark.read.format(FORMAT).options(**given).load(target).collect()] == [(1, None, 2.0)]


# ---- what stays an error


@every_mode
@every_scan
def test_a_refused_footer_key_is_an_error(spark: SparkSession, table: str, mode: str, scan: str) -> None:
    with refused("PME_KEY_DENIED", "footer"):
        read(spark, table, "footer", deniedColumns=mode, scan=scan).collect()


@every_mode
@pytest.mark.parametrize(
    ("error", "condition"),
    [(LookupError(), "PME_KEY_NOT_FOUND"), (OSError(), "PME_KMS_UNAVAILABLE"), (ValueError(), "PME_KMS_UNAVAILABLE")],
    ids=repr,
)
def test_only_a_refusal_masks(spark: SparkSession, table: str, mode: str, error: Exception, condition: str) -> None:
    client = Guarded(failing={"pii": error})
    with refused(condition, "ssn"):
        spark.read.format(FORMAT).options(**options(client, deniedColumns=mode)).load(table).select("ssn").collect()


def test_a_key_that_is_another_is_an_error(spark: SparkSession, table: str) -> None:
    class Other(Guarded):
        def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
            key = super().unwrap_key(wrapped, master_key_id)
            return key[::-1] if master_key_id == "pii" else key

    with refused("PME_NOT_AUTHENTIC", "ssn"):
        spark.read.format(FORMAT).options(**options(Other())).load(table).select("ssn").collect()


def test_a_damaged_page_is_an_error(spark: SparkSession, frame: DataFrame, target: str) -> None:
    write(frame.select("id", "ssn").coalesce(1), target, columnKeys="pii: ssn")
    [file] = data_files(target)
    bend.flip_in_module(file, 1)
    with refused("PME_NOT_AUTHENTIC", "'id'"):
        read(spark, target, REFUSED).collect()


@every_mode
def test_spark_s_own_reader_does_not_mask(spark: SparkSession, table: str, mode: str) -> None:
    with refused("PME_BAD_OPTION", "deniedColumns", "reader"):
        read(spark, table, REFUSED, reader="spark", deniedColumns=mode).collect()


def test_without_the_option_a_refusal_is_an_error(spark: SparkSession, table: str) -> None:
    with refused("PME_KEY_DENIED", "ssn"):
        read(spark, table, REFUSED, deniedColumns="error").collect()
