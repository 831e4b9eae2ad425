"""A plan lists what a write would refuse, in the write's own words. It raises an error for unusable options."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException

import pme_parquet as pme
from tests.support.expect import refused, save
from tests.support.frames import people

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession


def raised(action: Callable[[], object]) -> tuple[str, str]:
    """Return condition and message of the raised error."""
    with pytest.raises(pme.PmeError) as caught:
        action()
    return caught.value.condition, caught.value.message


@pytest.mark.newest
def test_a_refusal_has_the_message_of_the_write(spark: SparkSession, enc: pme.Encryption, target: str) -> None:
    frame = people(spark)
    misspelt = replace(enc, column_keys={"pii": ["ssn", "nme"]})
    plan = pme.plan(frame, misspelt)
    assert plan.refusal
    assert raised(lambda: save(frame, target, misspelt.options())) == (plan.refusal.condition, plan.refusal.message)
    assert [(entry.pattern, entry.key, entry.nearest[0]) for entry in plan.unmatched] == [("nme", "pii", "name")]
    # `pme.write` says before it calls the KMS what Python calls the option.
    for mode in ("overwrite", "append"):
        with refused("PME_UNKNOWN_COLUMN", "reversed", "column_keys={'pii': ['ssn']}"):
            pme.write(frame, target, replace(enc, column_keys={"ssn": "pii"}), mode=mode)


@pytest.mark.oldest
def test_options_that_cannot_be_used_are_refused_as_by_a_write(
    spark: SparkSession, enc: pme.Encryption, target: str
) -> None:
    unusable: list[dict[str, Any]] = [
        {"footer_key": None},
        {"uniform_key": "pii"},
        {"kms": "keystroe"},
        {"kms": pme.Keystore("/nowhere/keys.p12", password=pme.env("PME_TEST_PASSWORD"))},
        {"kms": pme.Static(pme.env("PME_TEST_NOT_SET"))},
    ]
    frame = people(spark)
    for settings in unusable:
        tried = replace(enc, **settings)
        assert raised(partial(pme.plan, frame, tried)) == raised(partial(_save, frame, target, tried)), settings
    with pytest.raises(AnalysisException):
        pme.plan(frame, enc, partition_by="none")


def _save(frame: DataFrame, target: str, enc: pme.Encryption) -> None:
    save(frame, target, enc.options())


def test_over_spark_connect_it_says_that_it_needs_a_classic_session(enc: pme.Encryption) -> None:
    frame: Any = SimpleNamespace(sparkSession=SimpleNamespace())
    with refused("PME_UNSUPPORTED", "pme.plan", "Spark Connect"):
        pme.plan(frame, enc)
