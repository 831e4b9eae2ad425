"""`deniedColumns=null|drop|error` end to end; what needs Python's workers or a server that refuses a key.

The suites DeniedColumnsSuite, DeniedKeysSuite, DeniedConditionsSuite, DeniedChoicesSuite and DeniedChangesSuite of
jvm/spark test which columns are masked, and what counts as a condition on them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.sql import functions as f

from tests.kms.access import by_token, encryption
from tests.kms.denied import REFUSED, content, masked, options, read, rows, write
from tests.support import needs
from tests.support.expect import refused, save
from tests.support.kms.clients import Guarded
from tests.support.logs import warnings
from tests.support.source import FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.access import Transit


@pytest.mark.each_spark
def test_a_refused_column_is_null_left_out_or_an_error(spark: SparkSession, target: str) -> None:
    frame = content(spark)
    write(frame, target)
    client = Guarded(REFUSED)
    seen = spark.read.format(FORMAT).options(**options(client)).load(target)
    with warnings(spark) as logged:
        assert rows(seen) == rows(masked(frame))
    assert client.count("unwrap") == {"footer": 1, REFUSED: 1, "pay": 1}
    assert [line for line in logged if "ssn (master key 'pii')" in line]
    dropped = read(spark, target, REFUSED, deniedColumns="drop")
    assert dropped.columns == ["id", "salary", "address"]
    assert rows(dropped.select("id", "salary")) == rows(frame.select("id", "salary"))
    with refused("PME_KEY_DENIED", "ssn"):
        read(spark, target, REFUSED, deniedColumns="error").collect()
    with refused("PME_KEY_DENIED", REFUSED, "condition", "deniedPredicates=null"):
        seen.where("ssn IS NULL").collect()
    assert read(spark, target, REFUSED, deniedPredicates="null").where("ssn IS NULL").count() == 40


def test_a_column_that_vault_s_policy_refuses_reads_as_null(
    spark: SparkSession, vault: Transit, target: str, tmp_path: Path
) -> None:
    plain = spark.createDataFrame([(1, "ssn-1", 2.0)], "id bigint, ssn string, salary double")
    save(plain, target, encryption(by_token(vault, tmp_path)).options())
    for place in ("driver", "executor"):
        few = by_token(vault, tmp_path, ["footer", "pay"]).options()
        given = few | {"reader": "pages", "deniedColumns": "null", "kms.callFrom": place}
        found = spark.read.format(FORMAT).options(**given).load(target)
        assert [tuple(row) for row in found.collect()] == [(1, None, 2.0)]


@pytest.fixture
def one(spark: SparkSession, target: str, monkeypatch: pytest.MonkeyPatch) -> DataFrame:
    """Return a table of one row, as somebody reads it to whom `pii` is refused; functions run where PyArrow is."""
    monkeypatch.setattr(spark.sparkContext, "pythonExec", sys.executable)
    write(content(spark).where("id = 3").coalesce(1), target)
    return read(spark, target, REFUSED)


FRAMES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "mapInPandas": lambda t: t.select("ssn").mapInPandas(lambda frames: frames, "ssn string"),
    "mapInArrow": lambda t: t.select("ssn").mapInArrow(lambda batches: batches, "ssn string"),
    "applyInPandas": lambda t: (
        t.select("id", "ssn").groupBy("id").applyInPandas(lambda group: group, "id bigint, ssn string")
    ),
    "cogroup": lambda t: (
        t.select("id", "ssn")
        .groupBy("id")
        .cogroup(t.groupBy("id"))
        .applyInPandas(lambda group, _: group, "id bigint, ssn string")
    ),
}


@pytest.mark.newest
def test_a_function_in_python_looks_at_all_that_it_is_given(one: DataFrame) -> None:
    known = cast("Any", f.udf(lambda text: text or "none"))
    with refused("PME_KEY_DENIED", "'ssn'", REFUSED):
        one.select(known("ssn")).collect()
    assert one.select(known(f.col("id").cast("string")), "ssn").collect() == [("3", None)]
    for query in FRAMES.values():
        with refused("PME_KEY_DENIED", REFUSED, "condition"):
            query(one).collect()


@needs.spark((4, 0), "Spark 3.5 takes no columns in table functions")
def test_a_table_function_in_python_looks_at_its_arguments(spark: SparkSession, one: DataFrame) -> None:
    class Twice:
        def eval(self, text: str) -> Any:
            if text is not None:
                yield (text,)
                yield (text,)

    one.createOrReplaceTempView("denied_one")
    spark.udtf.register("twice", cast("Any", f.udtf(Twice, returnType="again string")))
    with refused("PME_KEY_DENIED", "'ssn'", REFUSED):
        spark.sql("SELECT id, again FROM denied_one, LATERAL twice(ssn)").collect()
    assert spark.sql("SELECT id, again, ssn FROM denied_one, LATERAL twice(string(id))").count() == 2
    spark.catalog.dropTempView("denied_one")
