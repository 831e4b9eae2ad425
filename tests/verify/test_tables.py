"""What `pme.verify` returns in Python, and what it says; `VerificationSuite` and `KeyUsageSuite` have the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.expect import assert_no_secret, assert_remedy, refused, save
from tests.support.files.forge import cut, damage
from tests.support.frames import call, people
from tests.support.interop.modes import CTR
from tests.support.session import TEST_KMS
from tests.verify.findings import Found, verify

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

KMS = {"kms": TEST_KMS}
FOOTER = (None, None, None, "footer")


def test_findings_and_what_was_opened_are_those_of_the_function_in_sql(spark: SparkSession, target: str) -> None:
    keys = KMS | {"footerKey": "footer", "columnKeys": "pii: name, ssn; pay: salary"}
    save(people(spark).repartition(8), target, keys)
    damaged, truncated, *_ = data_files(target)
    damage(damaged)
    cut(truncated)
    found, _ = verify(spark, target)
    assert found == {
        damaged.name: [Found(0, "id", 0, "data page", "PME_NOT_AUTHENTIC")],
        truncated.name: [Found(*FOOTER, "PME_DAMAGED_FILE")],
    }
    rows = pme.verify(spark, target, options=KMS).collect()
    for row in rows:
        assert_remedy(row.message)
        assert_no_secret(row.message)
    assert spark.sql(f"SELECT * FROM {call('pme_verify', target, options=KMS)}").collect() == rows
    sample = pme.Sample(files=0.25, seed=7)
    _, opened = verify(spark, target, sample=sample)
    assert (opened.files, opened.skipped_files, opened.skipped_pages, opened.sample) == (2, 6, 0, sample)
    assert "the sample (files=0.25, pages=1.0, seed=7) left out 6 files and 0 pages" in str(opened)
    with refused("PME_BAD_OPTION", "sample", "a fraction above 0"):
        pme.verify(spark, target, options=KMS, sample=pme.Sample(pages=float("nan")))


def test_what_has_no_tag_and_what_has_no_key_is_named(spark: SparkSession, target: str) -> None:
    some = KMS | {"footerKey": "footer", "columnKeys": "pii: ssn", "unlistedColumns": "plaintext", "algorithm": CTR}
    frame = people(spark, count=20).select("id", "name", "ssn", "tags").coalesce(1)
    save(frame, target, some)
    found = pme.verify(spark, target, options=KMS | {"algorithm": CTR})
    assert found.collect() == []
    assert found.opened.readable_columns == {"id": 1, "name": 1, "tags.element": 1}
    told = str(found.opened)
    assert "not encrypted in encrypted files: id (1 file), name (1 file), tags.element (1 file)" in told
    assert found.opened.untagged_pages > 0
    assert "have no authentication tag: only their lengths" in told


def test_over_spark_connect_it_says_that_it_cannot(tmp_path: Path) -> None:
    session: Any = object()
    with pytest.raises(pme.UnsupportedError, match=r"pme\.verify"):
        pme.verify(session, tmp_path)
