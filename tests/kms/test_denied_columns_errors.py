"""`deniedColumns`: readers learn what is masked, no key is asked for twice, and other failures stay errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.canary import data_files
from tests.support.expect import refused, save
from tests.support.files import bend
from tests.support.kms.access import by_token, encryption
from tests.support.kms.bend import bend_material
from tests.support.kms.denied import REFUSED, Guarded, content, options, read, write
from tests.support.source import FORMAT
from tests.support.warnings import warnings

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.support.kms.access import Transit

pytestmark = pytest.mark.rows(2)

every_scan = pytest.mark.parametrize("scan", ["v1", "v2"])
every_mode = pytest.mark.parametrize("mode", ["null", "drop"])


# ---- what errors say, and what is asked


@every_scan
def test_each_query_logs_once_which_columns_and_keys_it_masks(
    spark: SparkSession, guarded_table: str, scan: str
) -> None:
    seen = read(spark, guarded_table, REFUSED, scan=scan)
    for _ in range(2):
        with warnings(spark) as told:
            # Two scans of two files each.
            both = seen.selectExpr("id", "ssn", "address").join(seen.selectExpr("id + 1 AS id", "ssn", "address"), "id")
            assert both.count() + len(both.collect()) == 2 * 39
        assert len(told) == 1, told
        for words in ("ssn (master key 'pii')", "address.street (master key 'pii')", "NULL", "part-"):
            assert words in told[0]
    with warnings(spark) as told:
        seen.select("id", "salary").collect()
    assert told == []


def test_dropped_columns_are_logged_when_the_schema_is_inferred(spark: SparkSession, guarded_table: str) -> None:
    with warnings(spark) as told:
        dropped = read(spark, guarded_table, REFUSED, deniedColumns="drop")
        dropped.collect()
    assert len(told) == 1, told
    for words in ("deniedColumns=drop", "ssn (master key 'pii')", "schema"):
        assert words in told[0]


@every_mode
def test_each_key_is_asked_for_once(spark: SparkSession, target: str, mode: str) -> None:
    write(content(spark).repartition(8), target)
    client = Guarded(REFUSED)
    seen = spark.read.format(FORMAT).options(**options(client, deniedColumns=mode)).load(target)
    seen.collect()
    seen.collect()
    assert client.count("unwrap") == {"footer": 1, "pii": 1, "pay": 1}


def test_a_refused_column_that_is_not_selected_is_not_asked_for(spark: SparkSession, guarded_table: str) -> None:
    client = Guarded(REFUSED)
    spark.read.format(FORMAT).options(**options(client)).load(guarded_table).select("id", "address.city").collect()
    assert client.count("unwrap") == {"footer": 1}


@pytest.mark.parametrize("place", ["driver", "executor"])
def test_a_column_that_vault_s_policy_refuses_reads_as_null(
    spark: SparkSession, vault: Transit, target: str, tmp_path: Path, place: str
) -> None:
    plain = spark.createDataFrame([(1, "ssn-1", 2.0)], "id bigint, ssn string, salary double")
    save(plain, target, encryption(by_token(vault, tmp_path)).options())
    few = by_token(vault, tmp_path, ["footer", "pay"]).options()
    given = few | {"reader": "pages", "deniedColumns": "null", "kms.callFrom": place}
    assert [tuple(row) for row in spark.read.format(FORMAT).options(**given).load(target).collect()] == [(1, None, 2.0)]


# ---- what stays an error


@every_mode
@every_scan
def test_a_refused_footer_key_is_an_error(spark: SparkSession, guarded_table: str, mode: str, scan: str) -> None:
    with refused("PME_KEY_DENIED", "footer"):
        read(spark, guarded_table, "footer", deniedColumns=mode, scan=scan).collect()


@every_mode
@pytest.mark.parametrize(
    ("error", "condition"),
    [(LookupError(), "PME_KEY_NOT_FOUND"), (OSError(), "PME_KMS_UNAVAILABLE"), (ValueError(), "PME_KMS_UNAVAILABLE")],
    ids=repr,
)
def test_only_a_refusal_masks(
    spark: SparkSession, guarded_table: str, mode: str, error: Exception, condition: str
) -> None:
    client = Guarded(failing={"pii": error})
    with refused(condition, "ssn"):
        spark.read.format(FORMAT).options(**options(client, deniedColumns=mode)).load(guarded_table).select(
            "ssn"
        ).collect()


def test_a_key_that_is_another_is_an_error(spark: SparkSession, guarded_table: str) -> None:
    class Other(Guarded):
        def unwrap_key(self, wrapped: str, master_key_id: str) -> bytes:
            key = super().unwrap_key(wrapped, master_key_id)
            return key[::-1] if master_key_id == "pii" else key

    with refused("PME_NOT_AUTHENTIC", "ssn"):
        spark.read.format(FORMAT).options(**options(Other())).load(guarded_table).select("ssn").collect()


def test_a_damaged_page_is_an_error(spark: SparkSession, target: str) -> None:
    write(content(spark).select("id", "ssn").coalesce(1), target, columnKeys="pii: ssn")
    [file] = data_files(target)
    bend.flip_in_module(file, 1)
    with refused("PME_NOT_AUTHENTIC", "'id'"):
        read(spark, target, REFUSED).collect()


@pytest.fixture
def misnamed(spark: SparkSession, target: str) -> str:
    """Return the path of a table beside whose file somebody has written that `salary` is under the refused key."""
    write(content(spark).select("id", "salary").coalesce(1), target, columnKeys="pay: salary", keyMaterial="external")
    bend_material(target, {"masterKeyID": REFUSED}, "pay")
    return target


def test_external_material_that_names_a_refused_key_masks_its_column_with_a_warning(
    spark: SparkSession, misnamed: str
) -> None:
    seen = read(spark, misnamed, REFUSED)
    with warnings(spark) as told:
        assert {row.salary for row in seen.collect()} == {None}
    assert len(told) == 1, told
    assert "salary (master key 'pii')" in told[0]
    for condition in ("salary IS NULL", "salary > 20", "id = 3 OR salary = 4"):
        with refused("PME_KEY_DENIED", "'salary'", "'pii'"):
            seen.where(condition).collect()
    assert read(spark, misnamed, REFUSED, deniedColumns="drop").columns == ["id"]


def test_external_material_that_names_another_key_than_the_reader_s_is_an_error(
    spark: SparkSession, misnamed: str
) -> None:
    with refused("PME_KEY_DENIED", "salary", "'pii'"):
        read(spark, misnamed, REFUSED, deniedColumns="error").collect()
    # To a reader who names the table's keys, the error names no other.
    pinned = {"footerKey": "footer", "columnKeys": "pay: salary"}
    for mode in ("null", "drop"):
        with refused("PME_KEY_METADATA", "salary", "'pii'"):
            read(spark, misnamed, REFUSED, deniedColumns=mode, **pinned).collect()


@every_mode
def test_spark_s_own_reader_does_not_mask(spark: SparkSession, guarded_table: str, mode: str) -> None:
    with refused("PME_BAD_OPTION", "deniedColumns", "reader"):
        read(spark, guarded_table, REFUSED, reader="spark", deniedColumns=mode).collect()


def test_without_the_option_a_refusal_is_an_error(spark: SparkSession, guarded_table: str) -> None:
    with refused("PME_KEY_DENIED", "ssn"):
        read(spark, guarded_table, REFUSED, deniedColumns="error").collect()
