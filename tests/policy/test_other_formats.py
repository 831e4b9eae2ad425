"""Options of ours for another format: a write is refused before anything is deleted, a read warns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

import pme_parquet as pme
from tests.support.expect import refused
from tests.support.frames import people
from tests.support.session import SPARK_VERSION, kms_settings
from tests.support.source import rows
from tests.support.warnings import warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

BAD = "PME_BAD_OPTION"
FACTORY = "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"
CATALOG = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
DRIVER = "org.apache.derby." + ("jdbc.EmbeddedDriver" if SPARK_VERSION < (4, 0) else "iapi.jdbc.AutoloadedDriver")


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    return people(spark).drop("tags", "scores", "address")


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    name = f"t_{uuid4().hex}"
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")


def clause(options: dict[str, str]) -> str:
    return ", ".join(f"'{name}' '{value}'" for name, value in options.items())


Writes = dict[str, "Callable[[DataFrame, dict[str, str], str, str], Any]"]
BY_PATH: Writes = {
    "parquet()": lambda df, options, path, _: df.write.options(**options).mode("overwrite").parquet(path),
    "save()": lambda df, options, path, _: df.write.options(**options).mode("overwrite").save(path),
    "append": lambda df, options, path, _: df.write.options(**options).mode("append").parquet(path),
    "ignore": lambda df, options, path, _: df.write.options(**options).mode("ignore").parquet(f"{path}-2"),
    "error": lambda df, options, path, _: df.write.options(**options).parquet(f"{path}-2"),
    "csv": lambda df, options, path, _: df.write.options(**options).mode("overwrite").csv(path),
    "orc": lambda df, options, path, _: df.write.format("ORC").options(**options).mode("overwrite").save(path),
    "class": lambda df, options, path, _: (
        df.write.format("org.apache.spark.sql.parquet").options(**options).mode("overwrite").save(path)
    ),
    "partitions": lambda df, options, path, _: (
        df.write.options(**options).mode("overwrite").partitionBy("country").parquet(path)
    ),
    "noop": lambda df, options, *_: df.write.format("noop").options(**options).mode("overwrite").save(),
    "jdbc": lambda df, options, path, _: (
        df.write.format("jdbc").options(url=f"jdbc:nothing:{path}", dbtable="t", **options).save()
    ),
    "directory": lambda df, options, path, _: df.sparkSession.sql(
        f"INSERT OVERWRITE DIRECTORY '{path}' USING parquet OPTIONS ({clause(options)}) SELECT 1 AS id"
    ),
}
INTO_TABLES: Writes = {
    "saveAsTable": lambda df, options, _, table: df.write.options(**options).saveAsTable(table),
    "bucketBy": lambda df, options, _, table: df.write.options(**options).bucketBy(2, "id").saveAsTable(table),
    "CREATE TABLE": lambda df, options, _, table: df.sparkSession.sql(
        f"CREATE TABLE {table} (id INT) USING parquet OPTIONS ({clause(options)})"
    ),
    "CTAS": lambda df, options, _, table: df.sparkSession.sql(
        f"CREATE TABLE {table} USING parquet OPTIONS ({clause(options)}) AS SELECT 1 AS id"
    ),
    "writeTo": lambda df, options, _, table: df.writeTo(table).using("parquet").options(**options).create(),
}


@pytest.mark.parametrize("write", BY_PATH.values(), ids=BY_PATH)
def test_a_write_of_another_format_is_refused_and_nothing_is_lost(
    frame: DataFrame, enc: pme.Encryption, tmp_path: Path, write: Callable[..., Any]
) -> None:
    path = str(tmp_path / "t")
    pme.write(frame, path, enc)
    before = sorted(Path(path).rglob("*"))
    with refused(BAD, "options of pme-parquet (columnKeys" if enc.column_keys else "footerKey", "pme.write"):
        write(frame, enc.options(), path, "")
    assert sorted(Path(path).rglob("*")) == before
    assert not Path(f"{path}-2").exists()


@pytest.mark.parametrize("write", INTO_TABLES.values(), ids=INTO_TABLES)
def test_a_table_of_another_format_is_refused(
    spark: SparkSession, frame: DataFrame, enc: pme.Encryption, table: str, write: Callable[..., Any]
) -> None:
    with refused(BAD, "footerKey", "'parquet'"):
        write(frame, enc.options(), "", table)
    assert not spark.catalog.tableExists(table)


def test_an_append_to_a_table_of_another_format_is_refused(
    spark: SparkSession, frame: DataFrame, enc: pme.Encryption, table: str
) -> None:
    # Spark drops the options if the table exists.
    frame.write.saveAsTable(table)
    before = frame.count()
    with refused(BAD, "footerKey", "'parquet'"):
        frame.write.options(**enc.options()).mode("append").saveAsTable(table)
    assert spark.table(table).count() == before


def test_another_spelling_of_an_option_is_refused_too(frame: DataFrame, target: str) -> None:
    for name in ("FOOTERKEY", "footerkey", "ColumnKeys", "KMS.keystore.path", "parquet.encryption.footer.key"):
        with refused(BAD, "'parquet'"):
            frame.write.option(name, "footer").parquet(target)
    assert not Path(target).exists()


def test_options_of_a_view_are_checked_when_it_is_written_to(spark: SparkSession, target: str, table: str) -> None:
    spark.range(1).write.parquet(target)
    before = sorted(Path(target).iterdir())
    spark.sql(
        f"CREATE TEMPORARY VIEW {table}_v (id BIGINT) USING parquet OPTIONS (path '{target}', footerKey 'footer')"
    )
    with refused(BAD, "footerKey"):
        spark.range(1).write.insertInto(f"{table}_v")
    assert sorted(Path(target).iterdir()) == before


def test_tables_of_other_catalogs_are_checked(
    spark: SparkSession, conf: Conf, frame: DataFrame, enc: pme.Encryption
) -> None:
    name = f"c{uuid4().hex[:8]}"
    catalog = f"spark.sql.catalog.{name}"
    settings = {catalog: CATALOG, f"{catalog}.url": "jdbc:derby:memory:other;create=true", f"{catalog}.driver": DRIVER}
    with conf(settings):
        for using in ("parquet", "jdbc"):
            with refused(BAD, "footerKey", f"'{using}'"):
                frame.writeTo(f"{name}.S.t").using(using).options(**enc.options()).createOrReplace()
        with refused(BAD, "footerKey"):
            spark.sql(f"CREATE TABLE {name}.S.t (id INT) USING jdbc OPTIONS (footerKey 'footer')")


def test_a_stream_into_another_format_is_refused(spark: SparkSession, enc: pme.Encryption, tmp_path: Path) -> None:
    source = str(tmp_path / "in")
    spark.range(3).write.parquet(source)
    stream = spark.readStream.schema("id BIGINT").parquet(source)
    for sink in ("parquet", "json", "noop", "console"):
        writer = stream.writeStream.format(sink).options(**enc.options(), checkpointLocation=str(tmp_path / sink))
        if sink == "json":
            writer = writer.trigger(availableNow=True)
        with refused(BAD, "footerKey"):
            query = writer.start(str(tmp_path / f"{sink}-out"))
            try:
                query.processAllAvailable()
            finally:
                query.stop()
        assert not list(tmp_path.glob(f"{sink}-out/*.*"))


def test_a_batch_write_in_a_stream_is_refused(spark: SparkSession, enc: pme.Encryption, tmp_path: Path) -> None:
    source, out = str(tmp_path / "in"), str(tmp_path / "out")
    spark.range(3).write.parquet(source)

    def batch(frame: DataFrame, _: int) -> None:
        with refused(BAD, "'parquet'"):
            frame.write.options(**enc.options()).parquet(out)
        looked.append(frame.count())

    looked: list[int] = []
    stream = spark.readStream.schema("id BIGINT").parquet(source).writeStream.foreachBatch(batch)
    query = stream.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    assert looked == [3]
    assert not Path(out).exists()


def test_settings_of_the_session_do_not_count_as_options_of_a_write(
    conf: Conf, frame: DataFrame, enc: pme.Encryption, target: str
) -> None:
    with conf({f"spark.datasource.pme-parquet.{name}": value for name, value in enc.options().items()}):
        frame.write.option("compression", "gzip").option("header", "true").parquet(target)
    assert list(Path(target).glob("*.parquet"))


def test_built_in_encryption_with_its_crypto_factory_is_left_alone(frame: DataFrame, target: str) -> None:
    javas = {
        "parquet.crypto.factory.class": FACTORY,
        "parquet.encryption.kms.client.class": "io.pmeparquet.testkit.TestKms",
        "parquet.encryption.uniform.key": "footer",
        "parquet.encryption.key.access.token": uuid4().hex,
    }
    frame.write.options(**javas).parquet(target)
    assert all(file.read_bytes()[:4] == b"PARE" for file in Path(target).glob("*.parquet"))
    with refused(BAD, "footerKey"):
        frame.write.options(**javas, footerKey="footer").mode("overwrite").parquet(target)


@pytest.mark.usefixtures("session_kms")
def test_every_name_of_our_format_is_recognized(
    frame: DataFrame,
    enc: pme.Encryption,
    keys: pme.Keystore,
    spark: SparkSession,
    conf: Conf,
    target: str,
    table: str,
) -> None:
    expected = rows(frame)
    for name in ("PME-Parquet", "io.pmeparquet.spark.PmeDataSource"):
        frame.write.format(name).options(**enc.options()).mode("overwrite").save(target)
        assert rows(pme.read(spark, target, keys)) == expected
        frame.write.format(name).options(**enc.options()).mode("overwrite").saveAsTable(table)
        with conf(kms_settings(keys)):
            assert rows(spark.table(table)) == expected


def test_a_read_by_another_format_warns_once(
    spark: SparkSession, frame: DataFrame, keys: pme.Keystore, target: str
) -> None:
    frame.write.parquet(target)
    name = f"kms.{uuid4().hex}"
    with warnings(spark) as found:
        for _ in range(2):
            spark.read.options(**keys.options(), **{name: "x"}).parquet(target).collect()
    assert len([line for line in found if name in line and "is not authenticated" in line]) == 1
    assert keys.options()["kms.keystore.password"] not in "".join(found)


def test_no_option_of_sparks_own_formats_is_mistaken_for_one_of_ours(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    among = jvm.io.pmeparquet.options.TellingOptions.among
    for place in ("csv.CSVOptions", "json.JSONOptions"):
        owner = jvm
        for part in f"org.apache.spark.sql.catalyst.{place}".split("."):
            owner = getattr(owner, part)
        assert "encoding" in owner.getAllOptions().mkString(",")
        assert among(owner.getAllOptions(), False).isEmpty()  # noqa: FBT003 as py4j passes arguments
