"""`deniedColumns=null|drop`: a column whose key the KMS refuses reads as NULL, and nothing else does.

What a reader sees is compared with the same query over a frame that holds NULLs in those places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as f
from pyspark.sql import types as t

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.expect import refused
from tests.support.kms.denied import REFUSED, Guarded, content, masked, options, read, rows, write
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

pytestmark = pytest.mark.rows(2)

VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
PUSH_DOWN = "spark.sql.parquet.aggregatePushdown"

every_scan = pytest.mark.parametrize("scan", ["v1", "v2"])
every_decoder = pytest.mark.parametrize("vectorized", ["true", "false"])


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return content(spark)


@every_scan
@every_decoder
def test_refused_columns_read_as_null(
    spark: SparkSession, guarded_table: str, frame: DataFrame, conf: Conf, scan: str, vectorized: str
) -> None:
    with conf({VECTORIZED: vectorized}):
        assert rows(read(spark, guarded_table, REFUSED, scan=scan)) == rows(masked(frame))
        # Without a refusal the option changes nothing.
        assert rows(read(spark, guarded_table, scan=scan)) == rows(frame)


@every_scan
def test_refused_columns_are_left_out_of_the_schema(
    spark: SparkSession, guarded_table: str, frame: DataFrame, scan: str
) -> None:
    dropped = read(spark, guarded_table, REFUSED, deniedColumns="drop", scan=scan)
    assert dropped.schema.simpleString() == "struct<id:bigint,salary:bigint,address:struct<city:string>>"
    expected = frame.selectExpr("id", "salary", "IF(address IS NULL, NULL, struct(address.city)) AS address")
    assert rows(dropped) == rows(expected)


def test_with_a_given_schema_what_would_be_dropped_reads_as_null(
    spark: SparkSession, guarded_table: str, frame: DataFrame
) -> None:
    reader = spark.read.format(FORMAT).options(**options(Guarded(REFUSED), deniedColumns="drop"))
    given = reader.schema("ID bigint, Ssn string").load(guarded_table)
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
    spark: SparkSession, guarded_table: str, frame: DataFrame, conf: Conf, vectorized: str, selected: list[str]
) -> None:
    over = masked(frame)
    if selected == ["phones.kind"]:
        # Not refused, and neither is the list of it alone.
        over = frame
    with conf({VECTORIZED: vectorized}):
        seen = read(spark, guarded_table, REFUSED)
        if "_metadata.row_index" in selected:
            over = read(spark, guarded_table).withColumn("ssn", f.lit(None))
        assert rows(seen.selectExpr(*selected)) == rows(over.selectExpr(*selected))


@every_scan
def test_aggregates_are_not_answered_from_footers(
    spark: SparkSession, guarded_table: str, frame: DataFrame, conf: Conf, scan: str
) -> None:
    asked = ["max(ssn)", "min(ssn)", "count(ssn)", "count(*)", "max(id)"]
    with conf({PUSH_DOWN: "true"}):
        for denied in ([REFUSED], []):
            expected = masked(frame) if denied else frame
            assert rows(read(spark, guarded_table, *denied, scan=scan).selectExpr(*asked)) == rows(
                expected.selectExpr(*asked)
            )


def test_grouping_by_a_refused_column_has_one_group_where_conditions_see_nulls(
    spark: SparkSession, guarded_table: str
) -> None:
    with refused("PME_KEY_DENIED", "'ssn'", REFUSED):
        read(spark, guarded_table, REFUSED).groupBy("ssn").count().collect()
    lenient = read(spark, guarded_table, REFUSED, deniedPredicates="null")
    assert [tuple(row) for row in lenient.groupBy("ssn").count().collect()] == [(None, 40)]


def test_a_default_of_the_definition_does_not_replace_a_refused_column(
    spark: SparkSession, guarded_table: str, conf: Conf
) -> None:
    default = {"EXISTS_DEFAULT": "'default'", "CURRENT_DEFAULT": "'default'"}
    fields = [t.StructField(name, t.StringType(), metadata=default) for name in ("ssn", "absent")]
    reader = spark.read.format(FORMAT).schema(t.StructType([t.StructField("id", t.LongType()), *fields]))
    for vectorized in ("true", "false"):
        with conf({VECTORIZED: vectorized}):
            given = reader.options(**options(Guarded(REFUSED), deniedPredicates="null")).load(guarded_table)
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


def test_buckets_of_a_refused_column_are_not_believed(
    spark: SparkSession, frame: DataFrame, tmp_path: Path, conf: Conf
) -> None:
    # Our writes refuse buckets of a protected column, so a table's definition states them of files from elsewhere.
    kms, path = Guarded(), tmp_path / "buckets"
    written = options(kms) | {"footerKey": "footer", "columnKeys": "pii: ssn"}
    frame.repartition(4, "ssn").write.format(FORMAT).options(**written).save(str(path))
    for number, file in enumerate(data_files(path)):
        file.rename(path / f"part-{number:05}-b_{number:05}.c000.snappy.parquet")
    given = ", ".join(f"'{name}' '{value}'" for name, value in options(kms, deniedPredicates="null").items())
    columns = frame._jdf.schema().toDDL()
    spark.sql(
        f"CREATE TABLE b ({columns}) USING `pme-parquet` OPTIONS ({given}) CLUSTERED BY (ssn) INTO 4 BUCKETS "
        f"LOCATION '{path}'"
    )
    try:
        kms._failing = {REFUSED: PermissionError()}
        spark.sql("REFRESH TABLE b")
        seen = spark.table("b")
        with conf({"spark.datasource.pme-parquet.trustedTables": "spark_catalog.default.b"}):
            assert seen.where("ssn IS NULL").count() == 40
            assert [tuple(row) for row in seen.groupBy("ssn").count().collect()] == [(None, 40)]
    finally:
        spark.sql("DROP TABLE b")


@every_scan
def test_masked_rows_can_be_written_elsewhere(
    spark: SparkSession, guarded_table: str, frame: DataFrame, target: str, scan: str
) -> None:
    read(spark, guarded_table, REFUSED, scan=scan).write.parquet(target)
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


@pytest.fixture(scope="module")
def few(keys: pme.Keystore, tmp_path_factory: pytest.TempPathFactory) -> pme.Keystore:
    """A colleague's keystore, without the key of the column `ssn`."""
    return keys.subset(tmp_path_factory.mktemp("few") / "few.p12", ["footer", "pay"])


@pytest.fixture(scope="module")
def of_keystore(spark: SparkSession, keys: pme.Keystore, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("of-keystore") / "table")
    enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["ssn"], "pay": ["salary"]})
    pme.write(spark.range(3).selectExpr("id", "'x' AS ssn", "id * 2 AS salary"), path, enc)
    return path


@every_scan
def test_a_missing_key_is_a_refusal_only_if_the_read_asks_for_it(
    spark: SparkSession, of_keystore: str, few: pme.Keystore, scan: str
) -> None:
    def read_few(**given: str) -> DataFrame:
        return pme.read(spark, of_keystore, few, options={"scan": scan} | given)

    for without in ({}, {"deniedColumns": "null"}):
        with refused("PME_KEY_NOT_FOUND", "pii"):
            read_few(**without).collect()
    assert read_few(missingKeys="null").orderBy("id").collect() == [(i, None, 2 * i) for i in range(3)]
    assert read_few(missingKeys="drop").columns == ["id", "salary"]
    assert read_few(missingKeys="drop").orderBy("id").collect() == [(i, 2 * i) for i in range(3)]
    with refused("PME_KEY_DENIED", "condition"):
        read_few(missingKeys="null").where("ssn = 'x'").collect()


@every_scan
def test_a_denied_key_is_no_missing_one(spark: SparkSession, guarded_table: str, scan: str) -> None:
    for missing in ("null", "drop"):
        frame = read(spark, guarded_table, REFUSED, deniedColumns="error", missingKeys=missing, scan=scan)
        with refused("PME_KEY_DENIED"):
            frame.collect()
        assert "ssn" in frame.columns


def test_the_key_of_a_footer_must_be_there(
    spark: SparkSession, of_keystore: str, keys: pme.Keystore, tmp_path: Path
) -> None:
    with refused("PME_KEY_NOT_FOUND", "footer"):
        pme.read(
            spark, of_keystore, keys.subset(tmp_path / "k.p12", ["pay"]), options={"missingKeys": "null"}
        ).collect()
