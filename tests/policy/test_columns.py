"""Which column gets which key: a pattern without a match, two matches, or an omitted column is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.expect import refused, untouched

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from pyspark.sql import DataFrame, SparkSession


def save(frame: DataFrame, target: str, encryption: pme.Encryption) -> None:
    frame.write.format("pme-parquet").options(**encryption.options()).save(target)


@pytest.mark.parametrize("pattern", ["sssn", "ssn.last", "addr.*", "`ss*`", "ssn_*"])
def test_a_missing_column_is_refused_and_the_candidates_are_listed(
    frame: DataFrame, keys: pme.Keystore, target: str, pattern: str
) -> None:
    encryption = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": [pattern]})
    with untouched(target), refused("PME_UNKNOWN_COLUMN", pattern, "ssn", "salary", "id"):
        save(frame, target, encryption)


def test_nested_candidates_are_listed_by_their_leaves(spark: SparkSession, keys: pme.Keystore, target: str) -> None:
    schema = "person struct<name: string, home: struct<street: string>>, tags array<string>"
    encryption = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["person.nam"]})
    with untouched(target), refused("PME_UNKNOWN_COLUMN", "person.nam", "person.home.street", "tags.element"):
        save(spark.createDataFrame([], schema), target, encryption)


def test_a_name_of_the_wrong_case_is_unknown_where_case_matters(
    frame: DataFrame,
    keys: pme.Keystore,
    target: str,
    conf: Callable[..., AbstractContextManager[None]],
) -> None:
    encryption = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["SSN"]})
    sensitive = conf({"spark.sql.caseSensitive": "true"})
    with sensitive, untouched(target), refused("PME_UNKNOWN_COLUMN", "SSN", "ssn"):
        save(frame, target, encryption)
    save(frame, target, encryption)


@pytest.mark.parametrize("second", ["ssn", "s*"])
def test_a_column_under_two_keys_is_refused(frame: DataFrame, keys: pme.Keystore, target: str, second: str) -> None:
    encryption = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["ssn"], "pay": [second]})
    with untouched(target), refused("PME_BAD_OPTION", "ssn", "'pii'", "'pay'"):
        save(frame, target, encryption)


def test_unlisted_columns_can_be_an_error(frame: DataFrame, keys: pme.Keystore, target: str) -> None:
    encryption = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["ssn"]}, unlisted_columns="error")
    with untouched(target), refused("PME_UNKNOWN_COLUMN", "salary", "id", "unlistedColumns"):
        save(frame, target, encryption)
