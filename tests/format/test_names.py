"""Tables by the names that SQL reads without backquotes, and columns with defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from pyspark.sql.types import StructType

import pme_parquet as pme
from tests.support.expect import refused
from tests.support.kms.denied import Guarded, options, write
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf, Pair, Source

pytestmark = [pytest.mark.usefixtures("session_kms"), pytest.mark.rows(2)]


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    name = f"t_{uuid4().hex}"
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.mark.parametrize(("dashes", "underscores"), [("pme-parquet", "pme_parquet"), ("pme-orc", "pme_orc")])
def test_a_table_may_be_named_either_way(
    spark: SparkSession, table: str, tmp_path: Path, dashes: str, underscores: str
) -> None:
    keys = {"uniformKey": "footer"} if dashes == "pme-parquet" else {"columnKeys": "pii: id"}
    frame = spark.range(3)
    frame.write.format(dashes).options(**keys).saveAsTable(table)
    frame.write.format(underscores).options(**keys).mode("append").saveAsTable(table)
    frame.write.format(dashes).options(**keys).mode("append").saveAsTable(table)
    assert spark.table(table).count() == 9
    statement = spark.sql(f"SHOW CREATE TABLE {table}").collect()[0][0]
    for made in (statement, statement.replace("`" + dashes + "`", underscores)):
        spark.sql(f"DROP TABLE {table}")
        spark.sql(made)
    spark.sql(f"INSERT INTO {table} VALUES (7)")
    assert spark.table(table).count() == 1

    path = str(tmp_path / "t")
    frame.write.format(underscores).options(**keys).save(path)
    for name in (dashes, underscores):
        assert spark.read.format(name).load(path).count() == 3
    assert spark.sql(f"SELECT * FROM {underscores}.`{path}`").count() == 3


@pytest.mark.parametrize("settings", [{}, {"scan": "v2"}, {"reader": "spark"}])
@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_older_rows_have_the_default_of_a_new_column(
    spark: SparkSession, pair: Pair, conf: Conf, settings: dict[str, str], vectorized: str
) -> None:
    session = {f"spark.datasource.pme-parquet.{name}": value for name, value in settings.items()}
    more = {
        "spark.sql.parquet.enableVectorizedReader": vectorized,
        "spark.sql.parquet.aggregatePushdown": "true",
        "spark.sql.sources.useV1SourceList": "" if "scan" in settings else "parquet",
    }

    def job(source: Source) -> DataFrame:
        table = source.table
        spark.sql(f"CREATE TABLE {table} (id INT, level INT DEFAULT 3, s STRUCT<a: INT>) {source.clause()}")
        spark.sql(f"INSERT INTO {table} (id) VALUES (1), (2)")
        spark.sql(f"ALTER TABLE {table} ADD COLUMNS (extra INT DEFAULT 5, word STRING DEFAULT 'none')")
        spark.sql(f"INSERT INTO {table} VALUES (3, DEFAULT, NULL, 6, DEFAULT), (4, 8, named_struct('a', 1), NULL, 'x')")
        frame = spark.table(table)
        least = frame.selectExpr("min(extra)", "max(level)", "count(extra)", "count(word)", "max(word)").collect()
        assert [list(row) for row in least] == [[5, 8, 3, 4, "x"]]
        for condition, count in {"extra = 5": 2, "extra IS NULL": 1, "extra > 5": 1, "word = 'none'": 3}.items():
            assert frame.where(condition).count() == count, condition
        return frame

    with conf(session | more):
        assert len(pair.same(job)) == 4


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_a_refused_column_is_null_and_not_its_default(spark: SparkSession, tmp_path: Path, scan: str) -> None:
    path = str(tmp_path / "t")
    write(spark.sql("SELECT 1 AS id, 'secret' AS word"), path, columnKeys="pii: word")
    keys = pme.PythonKms(Guarded()).options() | {"uniformKey": "footer"}
    spark.sql("SELECT 2 AS id").write.format(FORMAT).options(**keys).mode("append").save(path)
    metadata = {"CURRENT_DEFAULT": "'none'", "EXISTS_DEFAULT": "'none'"}
    schema = StructType().add("id", "integer").add("word", "string", metadata=metadata)

    def read(*denied: str) -> DataFrame:
        return spark.read.format(FORMAT).schema(schema).options(**options(Guarded(*denied), scan=scan)).load(path)

    assert sorted(map(tuple, read().collect())) == [(1, "secret"), (2, "none")]
    assert (1, None) in set(map(tuple, read("pii").collect()))
    with refused("PME_KEY_DENIED", "condition"):
        read("pii").where("word = 'none'").collect()


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_an_index_skips_no_file_whose_rows_have_the_default(
    spark: SparkSession, table: str, tmp_path: Path, conf: Conf, keys: pme.Keystore, scan: str
) -> None:
    path = str(tmp_path / "t")
    settings = {f"spark.datasource.pme-parquet.{name}": value for name, value in {"scan": scan}.items()}
    with conf(settings):
        spark.sql(f"CREATE TABLE {table} (id INT) USING pme_parquet OPTIONS (uniformKey 'footer') LOCATION '{path}'")
        spark.sql(f"INSERT INTO {table} VALUES (1)")
        spark.sql(f"ALTER TABLE {table} ADD COLUMNS (extra INT DEFAULT 5)")
        spark.sql(f"INSERT INTO {table} VALUES (2, 6)")
        pme.seal(spark, path, kms=keys, index=[pme.MinMax("extra"), pme.ValueList("extra")], expect="unsealed")
        for condition, ids in {
            "extra = 5": [1],
            "extra < 6": [1],
            "extra IS NOT NULL": [1, 2],
            "extra = 6": [2],
        }.items():
            assert sorted(row.id for row in spark.table(table).where(condition).collect()) == ids, condition
