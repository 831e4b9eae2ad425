"""Spark's own ``orc`` with our key provider: a KMS in options of the frame itself, and in no stored definition."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import encrypted_orc as orc
from tests.support import needs
from tests.support.encrypted_orc import PAY, PII, rows
from tests.support.expect import refused, untouched
from tests.support.session import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf

PROVIDER = {"orc.key.provider": "pme"}
ENCRYPT = {"orc.encrypt": f"{PII}:ssn;{PAY}:salary"}


@pytest.fixture(scope="module")
def some(people: DataFrame) -> DataFrame:
    return people.where("id < 20").select("id", "ssn", "salary").coalesce(1)


def save(frame: DataFrame, path: str, options: dict[str, str]) -> None:
    frame.write.format("orc").options(**PROVIDER, **ENCRYPT, **options).save(path)


def read(spark: SparkSession, path: str, options: dict[str, str]) -> DataFrame:
    return spark.read.format("orc").options(**PROVIDER, **options).load(path)


@contextmanager
def named(spark: SparkSession, kind: str, definition: str) -> Iterator[str]:
    """Create a table or view of this definition, and drop it after the block."""
    name = f"spark_orc_{kind.rsplit(maxsplit=1)[-1].lower()}"
    spark.sql(f"CREATE {kind} {name} {definition}")
    try:
        yield name
    finally:
        spark.sql(f"DROP {kind.rsplit(maxsplit=1)[-1]} {name}")


def in_sql(options: dict[str, str], sign: str = " ") -> str:
    return ", ".join(f"'{name}'{sign}'{value}'" for name, value in options.items())


def test_a_frame_names_its_kms(
    spark: SparkSession,
    owner: dict[str, str],
    analyst: dict[str, str],
    some: DataFrame,
    target: str,
    tmp_path: Path,
    conf: Conf,
) -> None:
    save(some, target, owner)
    assert rows(orc.read(spark, target, owner, columnKeys=f"{PII}: ssn; {PAY}: salary")) == rows(some)
    orc.assert_no_canaries(target, ["ssn-7"])
    # Two frames of one session have the keys of their own options.
    full, few = read(spark, target, owner), read(spark, target, analyst)
    for _ in range(2):
        assert rows(full) == rows(some)
        assert full.where("ssn = 'ssn-7'").select("salary").collect() == [(10.5,)]
        assert rows(few.select("id", "salary")) == rows(some.select("id", "salary"))
        with refused("PME_KEY_DENIED", "ssn"):
            few.collect()
    masked = read(spark, target, analyst | {"deniedColumns": "null"}).alias("b")
    joined = full.alias("a").join(masked, "id").selectExpr("a.ssn AS mine", "b.ssn AS theirs").collect()
    assert {(row.mine is None, row.theirs is None) for row in joined} == {(False, True)}
    assert rows(spark.read.options(**PROVIDER, **owner).schema(some.schema).orc(target)) == rows(some)
    # The provider may be the session's, and the KMS the frame's.
    with conf(PROVIDER):
        assert rows(spark.read.format("orc").options(**owner).load(target)) == rows(some)
    # A write that names a key in vain deletes nothing.
    with untouched(target), refused("PME_KEY_NOT_FOUND", PII):
        some.write.format("orc").options(**PROVIDER, **ENCRYPT, **analyst).mode("overwrite").save(target)
    with untouched(str(tmp_path / "new")), refused("PME_BAD_OPTION", "columnKeys"):
        save(some, str(tmp_path / "new"), owner | {"columnKeys": f"{PII}: ssn"})


def test_statements_with_options_of_their_own_name_their_kms(
    spark: SparkSession, owner: dict[str, str], some: DataFrame, tmp_path: Path
) -> None:
    some.createOrReplaceTempView("some_people")
    path = str(tmp_path / "directory")
    spark.sql(
        f"INSERT OVERWRITE DIRECTORY '{path}' USING orc OPTIONS ({in_sql(PROVIDER | ENCRYPT | owner)}) "
        "SELECT * FROM some_people"
    )
    orc.assert_no_canaries(path, ["ssn-7"])
    with named(spark, "TEMPORARY VIEW", f"USING orc OPTIONS ({in_sql(PROVIDER | owner | {'path': path})})") as view:
        assert rows(spark.table(view)) == rows(some)
    # A new table may be filled with the statement's keys. Its definition keeps them, and names no KMS for others.
    some.write.format("orc").options(**PROVIDER, **ENCRYPT, **owner, path=str(tmp_path / "new")).saveAsTable("orc_new")
    try:
        assert rows(read(spark, str(tmp_path / "new"), owner)) == rows(some)
        orc.assert_no_canaries(tmp_path / "new", ["ssn-7"])
        with refused("PME_BAD_OPTION", "option kms"):
            spark.table("orc_new").collect()
        with refused("PME_BAD_OPTION", "option kms"):
            some.write.format("orc").options(**PROVIDER, **ENCRYPT, **owner).mode("append").saveAsTable("orc_new")
    finally:
        spark.sql("DROP TABLE orc_new")
    source = spark.readStream.format("orc").schema(some.schema).options(**PROVIDER, **owner).load(path)
    writer = source.writeStream.format("memory").queryName("orc_stream").trigger(availableNow=True)
    writer.start().awaitTermination()
    assert rows(spark.table("orc_stream")) == rows(some)


def test_a_streaming_sink_of_spark_s_own_orc_writes_nothing(
    spark: SparkSession, conf: Conf, owner: dict[str, str], some: DataFrame, target: str, tmp_path: Path
) -> None:
    save(some, target, owner)
    source = spark.readStream.format("orc").schema(some.schema).options(**PROVIDER, **owner).load(target)
    session = {PREFIX + name: value for name, value in owner.items()}
    # Spark gives the format of a sink no options, so it would write plaintext, whoever names the KMS.
    for name, (given, of_session) in {"own": (owner, {}), "session": ({}, session)}.items():
        writer = source.writeStream.format("orc").options(**PROVIDER, **ENCRYPT, **given).trigger(availableNow=True)
        with conf(of_session), pytest.raises(Exception, match="PME_"):
            writer.option("checkpointLocation", str(tmp_path / f"{name}-state")).start(
                str(tmp_path / name)
            ).awaitTermination()
        assert not (tmp_path / name).exists() or orc.files(tmp_path / name) == []


STORED: dict[str, Any] = {
    "table": ("TABLE", "USING orc OPTIONS ({options}) LOCATION '{path}'"),
    "view": pytest.param(
        ("VIEW", "AS SELECT * FROM orc.`{path}` WITH ({options})"),
        marks=needs.spark((4, 1), "this Spark has no options by path in SQL"),
    ),
}


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
def test_a_stored_definition_names_no_kms(
    spark: SparkSession, conf: Conf, owner: dict[str, str], some: DataFrame, target: str, stored: tuple[str, str]
) -> None:
    save(some, target, owner)
    kind, text = stored
    sign = " " if kind == "TABLE" else "="

    def definition(options: dict[str, str]) -> str:
        return text.format(options=in_sql(options, sign), path=target)

    with named(spark, kind, definition(PROVIDER | owner)) as name:
        for frame in (spark.table(name), spark.read.table(name), spark.sql(f"SELECT ssn FROM {name}")):
            with refused("PME_BAD_OPTION", "option kms"):
                frame.collect()
    with named(spark, kind, definition(PROVIDER)) as name:
        with conf({PREFIX + option: value for option, value in owner.items()}):
            assert rows(spark.table(name)) == rows(some)
        # Nor do options of a frame reach the KMS together with those of a table.
        with refused("PME_BAD_OPTION", "kms"):
            spark.read.options(**owner).table(name).collect()
