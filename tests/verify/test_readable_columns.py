"""`verify` and `key_usage` report a column that only some files encrypt."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.expect import assert_no_secret, assert_remedy, save
from tests.support.frames import people
from tests.support.session import TEST_KMS
from tests.support.sql import call

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.source import Conf

KMS = {"kms": TEST_KMS}
ALL = KMS | {"footerKey": "footer", "columnKeys": "pii: name, ssn"}
SOME = KMS | {"footerKey": "footer", "columnKeys": "pii: ssn", "unlistedColumns": "plaintext"}


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table of two days: on the second one, column `name` and columns without a key are readable."""
    root = tmp_path_factory.mktemp("readable") / "people"
    frame = people(spark, count=20).select("id", "name", "ssn", "tags").coalesce(1)
    save(frame, f"{root}/day=1", ALL)
    save(frame, f"{root}/day=2", SOME)
    return root


def test_verify_finds_columns_that_only_some_files_have_encrypted(spark: SparkSession, table: Path) -> None:
    found = pme.verify(spark, table, options=KMS)
    rows = {row.column: row for row in found.collect()}
    assert set(rows) == {"id", "name", "tags.element"}
    assert {row.condition for row in rows.values()} == {"PME_PLAINTEXT_FILE"}
    [second] = data_files(f"{table}/day=2")
    assert rows["name"].file.endswith(f"day=2/{second.name}")
    assert "it is not encrypted in 1 file, but is encrypted in 1 file" in rows["name"].message
    assert_remedy(rows["name"].message)
    assert_no_secret(rows["name"].message)
    assert "not encrypted in encrypted files: id (1 file), name (1 file), tags.element (1 file)" in str(found.opened)
    assert spark.sql(f"SELECT * FROM {call('pme_verify', str(table), options=KMS)}").collect() == found.collect()


@pytest.fixture
def spellings(spark: SparkSession, target: str) -> str:
    """Return a table whose second day has `SALARY`, readable, beside `salary` under `pii`."""
    frame = people(spark).select("id", "salary").coalesce(1)
    save(frame, f"{target}/day=1", KMS | {"footerKey": "footer", "columnKeys": "pii: salary"})
    readable = KMS | {"footerKey": "footer", "columnKeys": "pii: id", "unlistedColumns": "plaintext"}
    save(frame.withColumnRenamed("salary", "SALARY"), f"{target}/day=2", readable)
    return target


def test_letter_case_hides_no_readable_column(spark: SparkSession, spellings: str) -> None:
    found = pme.verify(spark, spellings, options=KMS)
    assert [(row.column, row.condition) for row in found.collect()] == [("salary", "PME_PLAINTEXT_FILE")]
    assert found.opened.readable_columns == {"salary": 1}
    rows = pme.key_usage(spark, spellings, options=KMS).collect()
    assert (rows[0].kind, rows[0].columns) == ("plaintext column", ["salary"])
    [pii] = [row for row in rows if row.master_key == "pii"]
    assert (pii.unreadable_columns, pii.unreadable_in_some_files) == (["id"], ["salary"])


def test_where_case_is_sensitive_each_spelling_is_a_column(spark: SparkSession, spellings: str, conf: Conf) -> None:
    with conf({"spark.sql.caseSensitive": "true"}):
        found = pme.verify(spark, spellings, options=KMS)
        usage = pme.key_usage(spark, spellings, options=KMS).collect()
    assert (found.collect(), found.opened.readable_columns) == ([], {"SALARY": 1})
    [pii] = [row for row in usage if row.master_key == "pii"]
    assert pii.unreadable_columns == ["id", "salary"]


def test_verify_lists_what_is_readable_in_every_file(spark: SparkSession, table: Path) -> None:
    found = pme.verify(spark, f"{table}/day=2", options=KMS)
    assert found.collect() == []
    assert found.opened.readable_columns == {"id": 1, "name": 1, "tags.element": 1}
    assert "name (1 file)" in str(found.opened)


def test_key_usage_calls_no_readable_column_unreadable(spark: SparkSession, table: Path) -> None:
    rows = pme.key_usage(spark, table, options=KMS).collect()
    [plain] = [row for row in rows if row.kind == "plaintext column"]
    assert rows[0] == plain
    assert (plain.master_key, plain.files, plain.columns) == (None, 1, ["id", "name", "tags.element"])
    assert plain.bytes > 0
    [pii] = [row for row in rows if row.master_key == "pii"]
    assert (pii.unreadable_columns, pii.unreadable_in_some_files) == (["ssn"], ["name"])
    [footer] = [row for row in rows if row.master_key == "footer"]
    assert not {"id", "name"} & set(footer.unreadable_columns)
    assert (pii.data_key_bits, pii.kek_bits) == ([128], [128])


def test_key_usage_names_the_columns_of_plaintext_files(spark: SparkSession, target: str) -> None:
    save(people(spark).coalesce(1), f"{target}/a=1", ALL)
    people(spark).select("id", "name").coalesce(1).write.parquet(f"{target}/a=2")
    rows = pme.key_usage(spark, target, options=KMS).collect()
    assert (rows[0].kind, rows[0].files, rows[0].columns) == ("plaintext", 1, ["id", "name"])
    [pii] = [row for row in rows if row.master_key == "pii"]
    assert pii.unreadable_in_some_files == ["name"]


def test_readable_columns_of_files_with_direct_keys_are_reported(spark: SparkSession, target: str) -> None:
    spark.conf.set("pme.test.direct", f"long={base64.b64encode(bytes(range(16))).decode()}")
    static = {"kms": "static", "kms.static.keys": "conf:pme.test.direct", "keyManagement": "direct"}
    keys = {"footerKey": "long", "columnKeys": "long: name", "unlistedColumns": "plaintext"}
    save(people(spark).select("id", "name").coalesce(1), target, static | keys)
    rows = pme.key_usage(spark, target, options=static).collect()
    assert (rows[0].kind, rows[0].columns) == ("plaintext column", ["id"])
    assert (rows[1].master_key, rows[1].problems) == ("long", ["PME_UNSUPPORTED"])
