"""Tables of the catalog, SQL, streams and overwrites with ``pme-orc``."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests.support import encrypted_orc as orc
from tests.support.encrypted_orc import PAY, PII, TURNED, read, rows, save
from tests.support.expect import refused, untouched
from tests.support.interop.arrow_files import LocalKms
from tests.support.session import PREFIX, TEST_KMS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

KEYS = {"columnKeys": f"{PII}: ssn; {PAY}: salary"}
PROPERTY = "orc.master.key"


@contextmanager
def table(spark: SparkSession, path: str, clause: str, using: str = "pme-orc") -> Iterator[str]:
    """Define a table over a directory, return its name, and drop it."""
    name = f"orc_{uuid4().hex[:8]}"
    columns = "id BIGINT, ssn STRING, salary DOUBLE"
    spark.sql(f"CREATE TABLE {name} ({columns}) USING `{using}` {clause} LOCATION '{path}'")
    try:
        yield name
    finally:
        spark.sql(f"DROP TABLE {name}")


def of_session(options: dict[str, str]) -> dict[str, str]:
    return {PREFIX + name: value for name, value in options.items()}


@pytest.fixture(scope="module")
def some(people: DataFrame) -> DataFrame:
    return people.select("id", "ssn", "salary").where("id < 200")


def wrapped_key(key: str = PII) -> str:
    """Return a master key as the testkit's KMS wraps it, without a name: as a Hive table's property may have it."""
    return LocalKms().wrap_key(orc.MASTERS[key, 0], "wrapping")


def test_sql_writes_and_reads_a_table_of_the_catalog(
    spark: SparkSession, conf: Conf, owner: dict[str, str], some: DataFrame, target: str
) -> None:
    with table(spark, target, f"OPTIONS (columnKeys '{KEYS['columnKeys']}')") as name, conf(of_session(owner)):
        some.createOrReplaceTempView("some_people")
        spark.sql(f"INSERT INTO {name} SELECT * FROM some_people")
        assert rows(spark.table(name)) == rows(some)
        some.write.insertInto(name)
        assert spark.table(name).count() == 2 * some.count()
        spark.sql(f"INSERT OVERWRITE {name} SELECT * FROM some_people WHERE id < 10")
        assert rows(spark.sql(f"SELECT * FROM {name} WHERE ssn >= 'ssn-5'")) == rows(
            some.where("id < 10 AND ssn >= 'ssn-5'")
        )
        orc.assert_no_canaries(target, ["ssn-7"])
        new = f"{name}_new"
        some.write.format("pme-orc").options(**KEYS).saveAsTable(new)
        try:
            assert rows(spark.table(new)) == rows(some)
            spark.sql(f"CREATE TABLE {new}_2 USING `pme-orc` OPTIONS (columnKeys '{PII}: ssn') AS SELECT * FROM {new}")
            assert rows(spark.table(f"{new}_2")) == rows(some)
        finally:
            spark.sql(f"DROP TABLE IF EXISTS {new}")
            spark.sql(f"DROP TABLE IF EXISTS {new}_2")
    with conf(of_session(owner)):
        assert spark.sql(f"SELECT count(*) AS n FROM `pme-orc`.`{target}`").collect()[0].n == 10


def test_a_definition_names_no_kms(
    spark: SparkSession, conf: Conf, owner: dict[str, str], some: DataFrame, target: str, tmp_path: Path
) -> None:
    save(some, target, owner, **KEYS)
    listed = ", ".join(f"'{name}' '{value}'" for name, value in owner.items())
    with table(spark, target, f"OPTIONS ({listed})") as name, refused("PME_BAD_OPTION", name, "trustedTables"):
        spark.table(name).collect()
    # A session holds every table to its own choice.
    masks, analyst = "OPTIONS ('orcMasks' 'allow')", orc.static(tmp_path, [PAY])
    strict = conf(of_session(analyst | {"orcMasks": "error"}))
    with table(spark, target, masks) as name, strict, refused("PME_BAD_OPTION", "orcMasks", name):
        spark.table(name).collect()


@pytest.mark.parametrize("using", ["pme-orc", "orc"])
def test_a_wrapped_master_key_in_a_property_of_a_table_opens_it(
    spark: SparkSession, conf: Conf, owner: dict[str, str], some: DataFrame, target: str, using: str
) -> None:
    assert owner
    orc.save_by_spark(some, target, f"{PII}:ssn,salary")
    session = {"kms": TEST_KMS, "orcKeyProperty": PROPERTY, "orcWrappingKey": "wrapping"}
    clause = f"TBLPROPERTIES ('{PROPERTY}' = '{wrapped_key()}')"
    ours = of_session(session)
    options = "OPTIONS ('orc.key.provider' 'pme') " if using == "orc" else ""
    with table(spark, target, options + clause, using) as name, conf(ours):
        assert rows(spark.table(name)) == rows(some)
        assert rows(spark.sql(f"SELECT salary FROM {name} WHERE ssn = 'ssn-7'")) == rows(
            some.where("id = 7").select("salary")
        )
    with table(spark, target, options, using) as name, conf(ours), refused("PME_KEY_DENIED", PII):
        spark.table(name).collect()
    other = conf(ours | {PREFIX + "orcWrappingKey": "other"})
    with table(spark, target, options + clause, using) as name, other, refused("PME_NOT_AUTHENTIC"):
        spark.table(name).collect()
    # Who defines a table does not say where its keys are.
    without = conf(of_session({"kms": TEST_KMS, "orcWrappingKey": "wrapping"}))
    named = f"OPTIONS ('orcKeyProperty' '{PROPERTY}') {clause}"
    with table(spark, target, named) as name, without, refused("PME_BAD_OPTION", "orcKeyProperty"):
        spark.table(name).collect()


def test_a_write_to_a_trusted_table_makes_files_of_the_master_key_in_its_property(
    spark: SparkSession, conf: Conf, owner: dict[str, str], some: DataFrame, target: str
) -> None:
    assert owner
    session = {"kms": TEST_KMS, "orcKeyProperty": PROPERTY, "orcWrappingKey": "wrapping"}
    clause = f"OPTIONS (columnKeys '{PII}: ssn') TBLPROPERTIES ('{PROPERTY}' = '{wrapped_key()}')"
    with table(spark, target, clause) as name, conf(of_session(session)):
        # Whoever defines the table could read what others write.
        with refused("PME_BAD_OPTION", "orcMasterKeys", "trustedTables"):
            some.write.insertInto(name)
        with conf(of_session({"trustedTables": f"spark_catalog.default.{name}"})):
            some.write.insertInto(name)
        assert rows(spark.table(name)) == rows(some)
    assert rows(orc.read_by_spark(spark, target)) == rows(some)


def test_options_of_pme_orc_are_refused_in_writes_of_spark_s_own_orc(
    spark: SparkSession, conf: Conf, owner: dict[str, str], some: DataFrame, target: str
) -> None:
    with conf(of_session(owner)):
        for name, value in {"columnKeys": f"{PII}: ssn", "footerKey": PII, "dataKeyBits": "256"}.items():
            writer = some.write.format("orc").option("orc.key.provider", "pme")
            with refused("PME_BAD_OPTION", name):
                writer.option(name, value).save(target)


def test_overwrites_of_partitions_leave_others_and_delete_nothing_if_they_fail(
    spark: SparkSession, conf: Conf, owner: dict[str, str], some: DataFrame, target: str
) -> None:
    days = some.selectExpr("*", "id % 3 AS day")
    dynamic = {"spark.sql.sources.partitionOverwriteMode": "dynamic"}

    def write(frame: DataFrame, **options: str) -> None:
        writer = frame.write.format("pme-orc").options(**{**owner, **KEYS, **options})
        writer.mode("overwrite").partitionBy("day").save(target)

    write(days)
    with conf(dynamic):
        write(days.where("day = 1 AND id < 50"))
        assert rows(read(spark, target, owner)) == rows(days.where("day <> 1 OR id < 50").select(*days.columns))
        with untouched(target), refused("PME_KEY_NOT_FOUND", "'none'"):
            write(days, columnKeys="none: ssn")
    with untouched(target), refused("PME_KEY_NOT_FOUND", "'none'"):
        write(days, columnKeys="none: ssn")
    with refused("PME_UNKNOWN_COLUMN", "day"):
        write(days, columnKeys=f"{PII}: day")


def test_streams_write_and_read(spark: SparkSession, owner: dict[str, str], some: DataFrame, tmp_path: Path) -> None:
    source, sink = str(tmp_path / "source"), str(tmp_path / "sink")
    save(some, source, owner, **KEYS)

    def copy(to: str, **keys: str) -> None:
        stream = spark.readStream.format("pme-orc").schema(some.schema).options(**owner).load(source)
        writer = stream.writeStream.format("pme-orc").options(**owner, **keys)
        writer = writer.option("checkpointLocation", f"{to}-checkpoint").trigger(availableNow=True)
        writer.start(to).awaitTermination()

    copy(sink, **KEYS)
    assert rows(read(spark, sink, owner, columnKeys=KEYS["columnKeys"])) == rows(some)
    orc.assert_no_canaries(sink, ["ssn-7"])
    failed = str(tmp_path / "failed")
    with pytest.raises(Exception, match="PME_NO_KEY"):
        copy(failed)
    assert orc.files(failed) == []


def test_dataframes_of_tables_with_other_keys_join(
    spark: SparkSession, owner: dict[str, str], some: DataFrame, tmp_path: Path
) -> None:
    save(some, str(tmp_path / "one"), owner, columnKeys=f"{PII}: ssn")
    save(some, str(tmp_path / "two"), owner, columnKeys=f"{TURNED}: ssn")
    only: list[Any] = [orc.static(tmp_path, [name]) for name in (PII, TURNED)]
    one, two = read(spark, str(tmp_path / "one"), only[0]), read(spark, str(tmp_path / "two"), only[1])
    assert one.join(two, "ssn").count() == some.count()
    assert rows(one.union(two)) == sorted(rows(some) * 2)
    with refused("PME_KEY_DENIED", TURNED):
        one.join(read(spark, str(tmp_path / "two"), only[0]), "ssn").collect()
