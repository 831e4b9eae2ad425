"""A plan lists what a write would refuse, in the write's own words. It raises an error for unusable options."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql.types import StructType

import pme_parquet as pme
from tests.support.expect import refused, save
from tests.support.frames import people

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.source import Conf


def said(action: Callable[[], object]) -> tuple[str, str]:
    """Return condition and message of the raised error."""
    with pytest.raises(pme.PmeError) as caught:
        action()
    return caught.value.condition, caught.value.message


@pytest.mark.parametrize(
    ("told", "condition", "by"),
    [
        ({"column_keys": {"pii": ["ssn", "nme"]}}, "PME_UNKNOWN_COLUMN", {}),
        ({"column_keys": {"ssn": "pii"}}, "PME_UNKNOWN_COLUMN", {}),
        ({"column_keys": {"pii": "address", "pay": "address.zip"}}, "PME_BAD_OPTION", {"address.zip": "refused"}),
        (
            {"column_keys": {"pii": ["address", "scores", "tags", "id", "country"]}, "unlisted_columns": "error"},
            "PME_UNKNOWN_COLUMN",
            {"name": "refused", "ssn": "refused", "salary": "refused"},
        ),
    ],
)
def test_a_refusal_has_the_message_of_the_write(
    spark: SparkSession, enc: pme.Encryption, target: str, told: dict[str, Any], condition: str, by: dict[str, str]
) -> None:
    tried = replace(enc, **told)
    plan = pme.plan(people(spark), tried)
    assert plan.refusal
    assert plan.refusal.condition == condition
    assert {column.path: column.by for column in plan.columns if column.by == "refused"} == by
    assert said(lambda: save(people(spark), target, tried.options())) == (condition, plan.refusal.message)


def test_swapped_keys_and_columns_are_reported_before_the_kms_is_called(
    spark: SparkSession, enc: pme.Encryption, target: str
) -> None:
    wrong = replace(enc, column_keys={"ssn": "pii"})
    told = ("PME_UNKNOWN_COLUMN", "reversed", "column_keys={'pii': ['ssn']}")
    with refused(*told):
        pme.write(people(spark), target, wrong, mode="overwrite")
    with refused(*told):
        pme.write(people(spark), target, wrong, mode="append")


@pytest.mark.parametrize("pattern", ["*n*", "COUNTRY"])
def test_a_key_for_a_partition_column_is_refused(
    spark: SparkSession, enc: pme.Encryption, target: str, pattern: str
) -> None:
    tried = replace(enc, column_keys={"pii": [pattern]})
    plan = pme.plan(people(spark), tried, partition_by="country")
    writer = people(spark).write.format("pme-parquet").options(**tried.options()).partitionBy("country")
    [refusal] = plan.refusals
    assert said(lambda: writer.save(target)) == (refusal.condition, refusal.message)
    assert refusal.condition == "PME_UNSUPPORTED"
    assert plan.unmatched == ()


def test_every_reason_is_listed_in_the_order_of_the_write(spark: SparkSession, enc: pme.Encryption) -> None:
    tried = replace(enc, column_keys="pii: nme, adress.street, id; pay: id, *untry", unlisted_columns="error")
    plan = pme.plan(people(spark), tried, partition_by="country")
    conditions = ["PME_UNSUPPORTED", "PME_UNKNOWN_COLUMN", "PME_UNKNOWN_COLUMN", "PME_BAD_OPTION", "PME_UNKNOWN_COLUMN"]
    assert [refusal.condition for refusal in plan.refusals] == conditions
    assert plan.refusal == plan.refusals[0]
    assert [(entry.pattern, entry.key) for entry in plan.unmatched] == [("nme", "pii"), ("adress.street", "pii")]


def test_a_pattern_without_a_match_lists_the_nearest_names(
    spark: SparkSession, enc: pme.Encryption, conf: Conf
) -> None:
    def nearest(pattern: str) -> tuple[str, ...]:
        [entry] = pme.plan(people(spark), replace(enc, column_keys={"pii": [pattern]})).unmatched
        return entry.nearest

    assert nearest("nme")[0] == "name"
    assert nearest("adress")[0] == "address"
    assert nearest("adress.stret")[0] == "address.street"
    assert nearest("scores.value.scroe")[0] == "scores.value.score"
    with conf({"spark.sql.caseSensitive": "true"}):
        assert nearest("SSN")[0] == "ssn"


@pytest.mark.parametrize(
    "told",
    [
        {"footer_key": None},
        {"footer_key": None, "column_keys": {"pii": "ssn"}},
        {"uniform_key": "pii"},
        {"column_keys": "pii: ssn:"},
        {"unlisted_columns": "plaintext"},
        {"algorithm": "AES_GCM_V2"},
        {"store_aad_prefix": False},
        {"aad_prefix": "{day}"},
        {"key_management": "direct", "key_material": "external"},
        {"kms": "keystroe"},
        {"kms": pme.Keystore("/nowhere/keys.p12", password=pme.env("PME_TEST_PASSWORD"))},
        {"kms": pme.Static(pme.env("PME_TEST_NOT_SET"))},
    ],
    ids=str,
)
def test_options_that_cannot_be_used_are_refused_as_by_a_write(
    spark: SparkSession, enc: pme.Encryption, target: str, told: dict[str, Any]
) -> None:
    tried = replace(enc, **told)
    planning = said(lambda: pme.plan(people(spark), tried))
    assert planning == said(lambda: save(people(spark), target, tried.options()))


def test_misspelt_settings_of_the_session_are_refused(spark: SparkSession, enc: pme.Encryption, conf: Conf) -> None:
    with (
        conf({"spark.datasource.pme-parquet.plaintextFoter": "true"}),
        refused("PME_UNKNOWN_OPTION", "plaintextFooter"),
    ):
        pme.plan(people(spark), enc)


def condition_of_spark(action: Callable[[], object]) -> str:
    with pytest.raises(AnalysisException) as caught:
        action()
    name = "getCondition" if hasattr(caught.value, "getCondition") else "getErrorClass"
    return str(getattr(caught.value, name)())


@pytest.mark.parametrize(
    ("query", "partition_by"),
    [
        ("SELECT 1 AS a, 2 AS A", []),
        ("SELECT 1 AS a, 2 AS b", ["c"]),
        ("SELECT 1 AS a, 2 AS b", ["a", "b"]),
        ("SELECT array(1) AS a, 2 AS b", ["a"]),
    ],
)
def test_what_spark_refuses_itself_is_refused_by_spark(
    spark: SparkSession, enc: pme.Encryption, target: str, query: str, partition_by: list[str]
) -> None:
    frame = spark.sql(query)
    writer = frame.write.format("pme-parquet").options(**enc.options()).partitionBy(*partition_by)
    planning = condition_of_spark(lambda: pme.plan(frame, enc, partition_by=partition_by))
    assert planning == condition_of_spark(lambda: writer.save(target))


def test_a_type_that_spark_does_not_write_is_refused(spark: SparkSession, enc: pme.Encryption, target: str) -> None:
    frame = spark.sql("SELECT 1 AS b, named_struct('x', make_interval(1)) AS a")
    with refused("PME_UNSUPPORTED", "column 'a'", "interval"):
        pme.plan(frame, enc)
    with pytest.raises(AnalysisException):
        save(frame, target, enc.options())


def test_a_frame_without_columns_has_a_plan_without_columns(spark: SparkSession, enc: pme.Encryption) -> None:
    empty: DataFrame = spark.createDataFrame([], StructType())
    assert pme.plan(empty, enc).columns == ()
    [entry] = pme.plan(empty, replace(enc, column_keys={"pii": "ssn"})).unmatched
    assert entry.nearest == ()


def test_over_spark_connect_it_says_that_it_needs_a_classic_session(enc: pme.Encryption) -> None:
    frame: Any = SimpleNamespace(sparkSession=SimpleNamespace())
    with refused("PME_UNSUPPORTED", "pme.plan", "Spark Connect"):
        pme.plan(frame, enc)
