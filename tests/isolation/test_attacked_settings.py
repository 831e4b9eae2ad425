"""Names that ask for encryption where nothing reads them are refused, whatever way they come and whatever writes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from tests.support.canary import find_canaries
from tests.support.expect import refused, untouched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    import pme_parquet as pme
    from tests.support.source import Conf

BAD, UNKNOWN = "PME_BAD_OPTION", "PME_UNKNOWN_OPTION"
NAME = "parquet.crypto.factory.class"
FACTORY = {NAME: "io.pmeparquet.parquet.PmeCryptoFactory"}
JAVAS = {NAME: "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"}
OURS = "spark.datasource.pme-parquet."
COLUMN_KEYS = "pii: ssn"
CANARY = "canary-of-settings"


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    return spark.range(20).selectExpr("id", f"concat('{CANARY}-', id) AS ssn")


@pytest.fixture
def table(spark: SparkSession, session_kms: None) -> Iterator[str]:
    name = f"t_{uuid4().hex[:8]}"
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.fixture
def whole(enc: pme.Encryption) -> dict[str, str]:
    """Return a whole configuration of the crypto factory."""
    return FACTORY | {f"pme-parquet.{name}": value for name, value in enc.options().items()}


@contextmanager
def in_hadoop(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set(name, value)
    try:
        yield
    finally:
        conf.unset(name)


# Names that begin almost right. Nobody reads them.
BEGINNINGS = {
    "pme_parquet.columnKeys": "pme-parquet.columnKeys",
    " pme-parquet.columnKeys": "pme-parquet.columnKeys",
    "spark.pme-parquet.columnKeys": "pme-parquet.columnKeys",
    "parquet.encrypton.column.keys": "parquet.encryption.column.keys",
    "spark.sql.parquet.encryption.column.keys": "parquet.encryption.column.keys",
    "parquet.cryto.factory.class": NAME,
    "spark.parquet.crypto.factory.class": NAME,
}


@pytest.mark.parametrize(("name", "right"), BEGINNINGS.items(), ids=BEGINNINGS)
def test_a_setting_that_begins_almost_right_names_the_right_one(
    spark: SparkSession, conf: Conf, frame: DataFrame, target: str, name: str, right: str
) -> None:
    with conf({name: COLUMN_KEYS}), untouched(target), refused(UNKNOWN, f"'{name}'", f"'{right}'"):
        frame.write.parquet(target)


def test_properties_that_end_like_a_setting_of_ours_pass(
    spark: SparkSession, conf: Conf, frame: DataFrame, target: str
) -> None:
    passing = {
        "spark.databricks.delta.properties.defaults.parquet.encryption.footer.key": "footer",
        "spark.sql.parquet.compression.codec": "snappy",
        "my.app.pme-parquet.password": "x",
    }
    with conf(passing):
        frame.write.parquet(target)
    assert find_canaries(target, [CANARY])


TWICE = f"{OURS}COLUMNKEYS"

# Settings that are not where our format looks for them.
UNHEARD = {
    "of the name for ORC": ("spark.datasource.pme-orc.columnKeys", UNKNOWN),
    "of a name with _": ("spark.datasource.pme_parquet.columnKeys", UNKNOWN),
    "of Hadoop for our session": (f"spark.hadoop.{OURS}columnKeys", UNKNOWN),
    "of Hadoop, too late": ("spark.hadoop.parquet.encryption.column.keys", BAD),
    "twice": (TWICE, BAD),
}


@pytest.mark.parametrize(("name", "condition"), UNHEARD.values(), ids=UNHEARD)
def test_a_setting_that_our_format_does_not_hear_is_refused(
    conf: Conf, frame: DataFrame, enc: pme.Encryption, target: str, name: str, condition: str
) -> None:
    given = (
        {name: COLUMN_KEYS, f"{OURS}columnKeys": "pay: ssn"}
        if name.isupper() or "KEYS" in name
        else {name: COLUMN_KEYS}
    )
    with conf(given), untouched(target), refused(condition, "columnKeys" if condition == UNKNOWN else ""):
        frame.write.format("pme-parquet").options(**enc.options()).save(target)


def test_a_setting_of_our_session_in_hadoop_s_configuration_is_refused(
    spark: SparkSession, frame: DataFrame, enc: pme.Encryption, target: str
) -> None:
    with in_hadoop(spark, f"{OURS}columnKeys", COLUMN_KEYS), untouched(target), refused(BAD, f"{OURS}columnKeys"):
        frame.write.format("pme-parquet").options(**enc.options()).save(target)


@pytest.mark.parametrize("name", [f"{OURS}columnKeys", "spark.hadoop.parquet.encryption.column.keys"])
def test_a_name_of_a_setting_is_no_option(frame: DataFrame, enc: pme.Encryption, target: str, name: str) -> None:
    with untouched(target):
        with refused(UNKNOWN, f"'{name}'"):
            frame.write.format("pme-parquet").options(**enc.options()).option(name, COLUMN_KEYS).save(target)
        with refused(BAD, name):
            frame.write.option(name, COLUMN_KEYS).parquet(target)


def test_options_of_save_as_table_in_our_format_are_not_dropped_in_silence(
    spark: SparkSession, frame: DataFrame, table: str
) -> None:
    spark.sql(f"CREATE TABLE {table} (id BIGINT, ssn STRING) USING `pme-parquet` OPTIONS (footerKey 'footer')")

    def append(**options: str) -> None:
        frame.write.format("pme-parquet").options(**options).mode("append").saveAsTable(table)

    with refused(BAD, "columnKeys", "saveAsTable"):
        append(footerKey="footer", columnKeys=COLUMN_KEYS)
    assert spark.table(table).count() == 0
    append(FOOTERKEY="footer")
    assert spark.table(table).count() == frame.count()


PROPERTIES = {
    "ours": ("pme-parquet", "columnKeys"),
    "of the factory": ("pme-parquet", "parquet.encryption.column.keys"),
    "another format": ("parquet", "columnKeys"),
    "orc": ("orc", "orc.encrypt"),
}


@pytest.mark.parametrize(("using", "name"), PROPERTIES.values(), ids=PROPERTIES)
def test_properties_of_a_table_that_name_keys_are_refused(
    spark: SparkSession, conf: Conf, table: str, using: str, name: str
) -> None:
    text = f"TBLPROPERTIES ('{name}' = '{COLUMN_KEYS}')"
    with conf({f"{OURS}footerKey": "footer"} if using == "pme-parquet" else {}):
        with refused(BAD, name):
            spark.sql(f"CREATE TABLE {table} USING `{using}` {text} AS SELECT 1L AS id, 'x' AS ssn")
        assert not spark.catalog.tableExists(table)
        spark.sql(f"CREATE TABLE {table} (id BIGINT, ssn STRING) USING `{using}`")
        spark.sql(f"ALTER TABLE {table} SET {text}")
        with refused(BAD, name):
            spark.sql(f"INSERT INTO {table} VALUES (1, 'x')")


def test_orc_is_not_written_in_plaintext_where_parquet_is_to_be_encrypted(
    spark: SparkSession, conf: Conf, frame: DataFrame, target: str, table: str, whole: dict[str, str]
) -> None:
    frame.write.orc(f"{target}-old")
    writes: list[Callable[[], object]] = [
        lambda: frame.write.orc(target),
        lambda: spark.sql(f"CREATE TABLE {table} USING orc AS SELECT 1 AS id"),
        lambda: frame.write.mode("append").orc(f"{target}-old"),
    ]
    with conf(whole), untouched(target):
        for write in writes:
            with refused(BAD, "orc", "pme-parquet.footerKey"):
                write()
        # To encrypt what is in ORC, somebody must read it.
        assert spark.read.orc(f"{target}-old").count() == frame.count()


# Settings of ORC's that nobody reads, for somebody who asks for our keys.
OF_ORC = {
    "misspelt": ("orc.encryption", UNKNOWN),
    "other letters": ("ORC.encrypt", UNKNOWN),
    "late": ("spark.hadoop.orc.encrypt", BAD),
}


@pytest.mark.parametrize(("name", "condition"), OF_ORC.values(), ids=OF_ORC)
def test_a_setting_of_orc_that_nobody_reads_is_refused(
    conf: Conf, frame: DataFrame, target: str, name: str, condition: str
) -> None:
    with conf({"orc.key.provider": "pme", name: "pii:ssn"}), untouched(target), refused(condition, name):
        frame.write.orc(target)


def test_options_of_save_as_table_in_orc_are_not_dropped_in_silence(
    spark: SparkSession, frame: DataFrame, table: str
) -> None:
    frame.write.format("orc").saveAsTable(table)
    options = {"orc.key.provider": "pme", "orc.encrypt": "pii:ssn"}
    with refused(BAD, "orc.encrypt", "saveAsTable"):
        frame.write.format("orc").options(**options).mode("append").saveAsTable(table)


def test_keys_of_parquet_java_that_are_empty_are_refused(conf: Conf, frame: DataFrame, target: str) -> None:
    """parquet-java's own factory takes an empty key for none, and writes plaintext."""
    for name in ("footer.key", "column.keys", "uniform.key"):
        full = f"parquet.encryption.{name}"
        with conf(JAVAS | {full: " "}), untouched(target), refused(BAD, full):
            frame.write.parquet(target)


def test_buckets_and_partitions_of_a_protected_column_are_refused_with_the_factory(
    spark: SparkSession, conf: Conf, frame: DataFrame, target: str, table: str, whole: dict[str, str]
) -> None:
    buckets = "CLUSTERED BY (ssn) INTO 2 BUCKETS"
    with conf(whole | {"pme-parquet.columnKeys": COLUMN_KEYS}), untouched(target):
        with refused("PME_UNSUPPORTED", "ssn", "bucket"):
            frame.write.bucketBy(2, "ssn").saveAsTable(table)
        with refused("PME_UNSUPPORTED", "ssn", "bucket"):
            spark.sql(f"CREATE TABLE {table} (id BIGINT, ssn STRING) USING parquet {buckets}")
        with refused("PME_UNSUPPORTED", "ssn", "partition"):
            frame.write.partitionBy("ssn").parquet(target)
    assert not spark.catalog.tableExists(table)


def test_settings_of_a_user_s_kms_that_look_like_ours_pass(
    spark: SparkSession, conf: Conf, frame: DataFrame, enc: pme.Encryption, whole: dict[str, str], tmp_path: Path
) -> None:
    of_class = {f"parquet.encryption.kms.{name}": "x" for name in ("ali.region", "gce.endpoint", "awz.region")}
    with conf(of_class):
        frame.write.options(**whole).parquet(str(tmp_path / "alone"))
        frame.write.format("pme-parquet").options(**enc.options()).save(str(tmp_path / "ours"))
    assert not find_canaries(tmp_path, [CANARY])
    near = "parquet.encryption.kms.aws.regoin"
    with conf({near: "x"}), refused(UNKNOWN, f"'{near}'", "parquet.encryption.kms.aws.region"):
        frame.write.options(**whole).parquet(str(tmp_path / "near"))
