"""Spark's own Parquet and ORC in a session that asks for encryption: the resolved configuration decides what runs."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from tests.support.canary import data_files
from tests.support.expect import refused, untouched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    import pme_parquet as pme
    from tests.support.source import Conf

BAD = "PME_BAD_OPTION"
UNKNOWN = "PME_UNKNOWN_OPTION"
NAME = "parquet.crypto.factory.class"
FACTORY = {NAME: "io.pmeparquet.parquet.PmeCryptoFactory"}
JAVAS = {NAME: "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"}
KEYS = {"pme-parquet.footerKey": "footer", "pme-parquet.columnKeys": "pii: ssn"}
KEYS_OF_JAVA = {"parquet.encryption.footer.key": "footer", "parquet.encryption.column.keys": "pii: ssn"}
SKIPPING = {"corrupt": "ignoreCorruptFiles", "missing": "ignoreMissingFiles"}


def late(settings: dict[str, str]) -> dict[str, str]:
    """Return settings as a user sets them in a running session, where Spark does not take the prefix away."""
    return {f"spark.hadoop.{name}": value for name, value in settings.items()}


def alone(options: dict[str, str]) -> dict[str, str]:
    return FACTORY | {f"pme-parquet.{name}": value for name, value in options.items()}


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.range(20).selectExpr("id", "concat('ssn-', id) AS ssn")


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    name = f"t_{uuid4().hex}"
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.fixture
def encrypted(frame: DataFrame, enc: pme.Encryption, target: str) -> str:
    frame.write.format("parquet").options(**alone(enc.options())).save(target)
    return target


@contextmanager
def in_hadoop(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in settings.items():
        conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            conf.unset(name)


HALF_SET = {
    "set late": late(FACTORY | KEYS),
    "factory set late": late(FACTORY) | KEYS,
    "keys set late": FACTORY | late(KEYS),
    "no factory": KEYS,
    "no factory for parquet-java's names": KEYS_OF_JAVA,
    "factory in other letters": {NAME.title(): FACTORY[NAME]} | KEYS,
    "factory of no class": {NAME: "io.pmeparquet.parquet.PmeCryptFactory"} | KEYS,
    "factory that is none": {NAME: "java.lang.String"} | KEYS_OF_JAVA,
    "factory of no class alone": {NAME: "io.pmeparquet.parquet.PmeCryptFactory"},
    "another factory": JAVAS | KEYS,
    "prefix in other letters": FACTORY | {"PME-parquet.footerKey": "footer"},
    "prefix of Spark in other letters": {"Spark.Hadoop.pme-parquet.footerKey": "footer"},
}


@pytest.mark.parametrize("settings", HALF_SET.values(), ids=HALF_SET)
def test_half_a_configuration_is_refused_before_anything_is_written_or_read(
    spark: SparkSession, conf: Conf, frame: DataFrame, tmp_path: Path, settings: dict[str, str]
) -> None:
    plain, target = str(tmp_path / "plain"), str(tmp_path / "new")
    frame.write.parquet(plain)
    with conf(settings):
        with pytest.raises(Exception, match=f"{BAD}|{UNKNOWN}"):
            frame.write.parquet(target)
        with pytest.raises(Exception, match=f"{BAD}|{UNKNOWN}"):
            spark.read.schema(frame.schema).parquet(plain).collect()
    assert not Path(target).exists()


Statements = dict[str, "Callable[[SparkSession, DataFrame, str, str], object]"]
STATEMENTS: Statements = {
    "overwrite": lambda _, df, path, __: df.write.mode("overwrite").parquet(path),
    "orc": lambda _, df, path, __: df.write.orc(f"{path}-orc"),
    "saveAsTable": lambda _, df, __, table: df.write.saveAsTable(f"{table}_new"),
    "insertInto": lambda _, df, __, table: df.write.insertInto(table),
    "INSERT": lambda spark, _, __, table: spark.sql(f"INSERT INTO {table} VALUES (1, 'x')"),
    "CTAS": lambda spark, _, __, table: spark.sql(f"CREATE TABLE {table}_new USING parquet AS SELECT 1 AS id"),
    "directory": lambda spark, _, path, __: spark.sql(
        f"INSERT OVERWRITE DIRECTORY '{path}' USING parquet SELECT 1 AS id"
    ),
    "SELECT": lambda spark, _, __, table: spark.table(table).collect(),
    "path": lambda spark, _, path, __: spark.sql(f"SELECT * FROM parquet.`{path}`").collect(),
    "subquery": lambda spark, _, __, table: spark.sql(f"SELECT (SELECT max(id) FROM {table})").collect(),
    "stream": lambda spark, df, path, __: (
        spark.readStream.schema(df.schema).parquet(path).writeStream.format("noop").start().stop()
    ),
}


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_every_statement_on_parquet_and_orc_is_checked(
    spark: SparkSession,
    conf: Conf,
    frame: DataFrame,
    target: str,
    table: str,
    statement: Callable[[SparkSession, DataFrame, str, str], object],
) -> None:
    frame.write.parquet(target)
    frame.write.saveAsTable(table)
    with conf(late(FACTORY | KEYS)), untouched(target), refused(BAD, "pme-parquet.footerKey", "spark.hadoop."):
        statement(spark, frame, target, table)
    assert spark.table(table).count() == frame.count()
    assert not spark.catalog.tableExists(f"{table}_new")
    assert not Path(f"{target}-orc").exists()


def test_a_v2_read_is_checked(spark: SparkSession, conf: Conf, frame: DataFrame, target: str) -> None:
    frame.write.parquet(target)
    with conf(late(FACTORY | KEYS) | {"spark.sql.sources.useV1SourceList": ""}), refused(BAD, "pme-parquet.footerKey"):
        spark.read.schema(frame.schema).parquet(target).collect()


def test_settings_of_hadoop_s_own_configuration_are_checked(spark: SparkSession, frame: DataFrame, target: str) -> None:
    with in_hadoop(spark, KEYS), refused(BAD, "pme-parquet.columnKeys", NAME):
        frame.write.parquet(target)
    assert not Path(target).exists()


def test_options_of_a_stream_s_file_sink_do_not_reach_its_files(
    spark: SparkSession, frame: DataFrame, enc: pme.Encryption, tmp_path: Path
) -> None:
    source, out = str(tmp_path / "in"), tmp_path / "out"
    frame.write.parquet(source)
    writer = spark.readStream.schema(frame.schema).parquet(source).writeStream.format("parquet")
    options = alone(enc.options()) | {"checkpointLocation": str(tmp_path / "c")}
    with refused(BAD, "pme-parquet.footerKey", "stream"):
        query = writer.options(**options).trigger(availableNow=True).start(str(out))
        query.awaitTermination()
    assert list(out.glob("*.parquet")) == []


def test_a_stream_writes_with_the_factory_of_the_session(
    spark: SparkSession, conf: Conf, frame: DataFrame, enc: pme.Encryption, tmp_path: Path
) -> None:
    source, out = str(tmp_path / "in"), tmp_path / "out"
    settings = alone(enc.options())
    with conf(settings):
        frame.write.parquet(source)
        writer = spark.readStream.schema(frame.schema).parquet(source).writeStream.format("parquet")
        query = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start(str(out))
        query.awaitTermination()
    assert {file.read_bytes()[:4] for file in out.glob("*.parquet")} == {b"PARE"}


def test_a_factory_only_in_properties_of_a_new_table_is_refused(
    spark: SparkSession, conf: Conf, enc: pme.Encryption, table: str
) -> None:
    create = f"CREATE TABLE {table} USING parquet TBLPROPERTIES ('{NAME}' '{FACTORY[NAME]}') AS SELECT 'x' AS ssn"
    with refused(BAD, NAME):
        spark.sql(create)
    with conf({name: value for name, value in alone(enc.options()).items() if name != NAME}), refused(BAD, NAME):
        spark.sql(create)
    assert not spark.catalog.tableExists(table)


def test_options_of_save_as_table_are_not_dropped_in_silence(
    spark: SparkSession, frame: DataFrame, enc: pme.Encryption, table: str
) -> None:
    frame.write.saveAsTable(table)
    with refused(BAD, "pme-parquet.footerKey", "saveAsTable"):
        frame.write.options(**alone(enc.options())).mode("append").saveAsTable(table)
    assert spark.table(table).count() == frame.count()


def test_a_whole_configuration_encrypts_in_every_statement(
    spark: SparkSession, conf: Conf, frame: DataFrame, enc: pme.Encryption, target: str, table: str
) -> None:
    settings = alone(enc.options())
    with conf(settings):
        frame.write.parquet(target)
        frame.write.saveAsTable(table)
        frame.write.options(**settings).mode("append").saveAsTable(table)
        spark.sql(f"INSERT INTO {table} VALUES (1, 'x')")
        assert spark.table(table).count() == 2 * frame.count() + 1
        assert spark.read.parquet(target).count() == frame.count()
    assert {file.read_bytes()[:4] for file in data_files(target)} == {b"PARE"}


@pytest.mark.parametrize("skips", SKIPPING.values(), ids=SKIPPING)
def test_a_read_that_would_skip_refused_files_fails_on_the_driver(
    spark: SparkSession, conf: Conf, frame: DataFrame, keys: pme.Keystore, encrypted: str, skips: str
) -> None:
    settings = alone(keys.options())
    by_option = spark.read.schema(frame.schema).options(**settings)
    with refused("PME_UNSUPPORTED", skips):
        by_option.option(skips.upper(), "true").parquet(encrypted).collect()
    with conf(settings), refused("PME_UNSUPPORTED", skips):
        spark.read.schema(frame.schema).option(skips, "true").parquet(encrypted).collect()
    with conf({f"spark.sql.files.{skips}": "true"}):
        with refused("PME_UNSUPPORTED", skips):
            by_option.parquet(encrypted).collect()
        # An option overrides the session.
        assert by_option.option(skips, "false").parquet(encrypted).count() == frame.count()


MISSPELT = {
    "parquet.encryption.column.key": "parquet.encryption.column.keys",
    "parquet.encryption.columns.keys": "parquet.encryption.column.keys",
    "parquet.encryption.columnKeys": "parquet.encryption.column.keys",
    "Parquet.Encryption.Column.Keys": "parquet.encryption.column.keys",
    "PME-parquet.columnKeys": "pme-parquet.columnKeys",
    "pme-parquet.columKeys": "pme-parquet.columnKeys",
}


@pytest.mark.parametrize(("name", "right"), MISSPELT.items(), ids=MISSPELT)
def test_a_misspelt_setting_names_the_right_one(
    spark: SparkSession,
    conf: Conf,
    frame: DataFrame,
    keys: pme.Keystore,
    target: str,
    name: str,
    right: str,
) -> None:
    settings = alone(keys.options() | {"footerKey": "footer"})
    with untouched(target):
        with refused(UNKNOWN, f"'{name}'", f"'{right}'"):
            frame.write.options(**settings, **{name: "pii: ssn"}).parquet(target)
        with conf({name: "pii: ssn"}), refused(UNKNOWN, f"'{name}'", f"'{right}'"):
            frame.write.options(**settings).parquet(target)
    ours = frame.write.format("pme-parquet").options(**keys.options(), footerKey="footer")
    if right.startswith("parquet."):
        with in_hadoop(spark, {name: "pii: ssn"}), untouched(target), refused(UNKNOWN, f"'{name}'", f"'{right}'"):
            ours.save(target)
    with untouched(target), refused(UNKNOWN, f"'{name}'"):
        ours.option(name, "pii: ssn").save(target)


def test_settings_of_a_user_s_kms_class_pass(
    spark: SparkSession, conf: Conf, frame: DataFrame, enc: pme.Encryption, tmp_path: Path
) -> None:
    of_class = {"parquet.encryption.key.list": "k:none", "parquet.encryption.kms.vault.mount": "transit"}
    with conf(of_class):
        frame.write.options(**alone(enc.options())).parquet(str(tmp_path / "alone"))
        frame.write.format("pme-parquet").options(**enc.options()).save(str(tmp_path / "ours"))
    found = [file.read_bytes()[:4] for name in ("alone", "ours") for file in data_files(tmp_path / name)]
    assert set(found) == {b"PARE"}
