"""A named master key that the table does not use is an error, and so is one that cannot wrap; each is reported once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support import tables
from tests.support.canary import data_files
from tests.support.expect import refused, untouched
from tests.support.sql import call
from tests.support.tables import NEW, OLD, Remembering

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.rotation.conftest import Made

SLIPS: dict[str, dict[str, str]] = {
    "a misspelt name": {"pi": "pii-2"},
    "one of several": NEW | {"pi": "pii-3"},
    "another case": {"PII": "pii-2"},
    # The name is wrong, and the target has other keys under it: nothing shows that an earlier run did this.
    "a target that is in use": {"salaries": "pay"},
}


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("more", [{}, {"dry_run": True}], ids=["run", "dry run"])
def test_an_unused_source_key_is_an_error(
    spark: SparkSession, made: Callable[..., Made], slip: str, more: dict[str, Any]
) -> None:
    table = made("country")
    [wrong] = set(SLIPS[slip]) - set(OLD)
    with untouched(table.path), refused("PME_BAD_OPTION", f"'{wrong}'", "footer, pay, pii", "allow_unused"):
        pme.rotate(spark, table.path, kms=table.kms, master_keys=SLIPS[slip], **more)
    assert table.client.count("wrap") == {}


@pytest.mark.parametrize("more", [{}, {"dry_run": True}], ids=["run", "dry run"])
def test_a_damaged_file_does_not_hide_an_unused_source_key(
    spark: SparkSession, made: Callable[..., Made], more: dict[str, Any]
) -> None:
    table = made()
    junk = Path(table.path, "x.parquet")
    junk.write_bytes(b"PAR1 and no more PAR1")
    with untouched(table.path), refused("PME_BAD_OPTION", "'pi'", "footer, pay, pii", junk.name, "nothing was rotated"):
        pme.rotate(spark, table.path, kms=table.kms, master_keys={"pi": "pii-2"}, **more)
    assert table.client.count("wrap") == {}
    for names in (NEW, {"no": "one"}):
        with pytest.raises(pme.PmeError, match=junk.name) as caught:
            pme.rotate(spark, table.path, kms=table.kms, master_keys=names, allow_unused="no" in names, **more)
        assert caught.value.report.counts == {
            ("unchanged" if "no" in names else "rotated"): len(table.pages),
            "failed": 1,
        }


def test_an_unused_source_key_can_be_allowed(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    slip = NEW | {"pi": "pii-3"}
    function = call("pme_rotate", table.path, master_keys=slip, options=table.kms.options())
    with untouched(table.path), refused("PME_BAD_OPTION", "'pi'"):
        spark.sql(f"SELECT * FROM {function}").collect()
    allowed = call("pme_rotate", table.path, master_keys=slip, options=table.kms.options(), allow_unused=True)
    assert {row.status for row in spark.sql(f"SELECT * FROM {allowed}").collect()} == {"rotated"}
    report = pme.rotate(spark, table.path, kms=table.kms, master_keys={"no": "one"}, allow_unused=True)
    assert report.counts == {"unchanged": len(table.pages)}


@pytest.mark.parametrize("material", ["internal", "external"])
def test_finished_work_is_distinguished_from_a_wrong_name(
    spark: SparkSession, made: Callable[..., Made], material: str
) -> None:
    table = made(key_material=material)
    [first, *_] = data_files(table.path)
    # The state after an interrupted run: one file is done, and one name is done in all files.
    pme.rotate(spark, table.path, kms=table.kms, master_keys={"pii": "pii-2"})
    pme.rotate(spark, first, kms=table.kms, master_keys=NEW)
    report = pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)
    assert report.counts == {"unchanged": 1, "rotated": len(table.pages) - 1}
    assert pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW).counts == {"unchanged": len(table.pages)}
    for wrong in ({"pi": "pii-2"}, {"pii": "pay-2"}, {"pii": "pii-3"}):
        with untouched(table.path), refused("PME_BAD_OPTION", f"'{next(iter(wrong))}'", "footer-2, pay-2, pii-2"):
            pme.rotate(spark, table.path, kms=table.kms, master_keys=wrong)
    assert tables.rows(spark, table.path, pme.PythonKms(Remembering(lacks=OLD))) == table.rows


def test_a_target_that_cannot_wrap_is_reported_once(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made("country")
    assert len(table.pages) > 1
    lacks = pme.PythonKms(Remembering(lacks=["pii-2"]))
    with untouched(table.path), pytest.raises(pme.KeyNotFoundError, match="pii-2") as caught:
        pme.rotate(spark, table.path, kms=lacks, master_keys=NEW)
    assert caught.value.report is None
    assert table.path not in str(caught.value)


def test_a_table_without_files_has_no_key_to_rotate(spark: SparkSession, target: str) -> None:
    kms = pme.PythonKms(Remembering())
    (spark.range(0).write.format("pme-parquet").options(**pme.Encryption(kms=kms, uniform_key="k").options())).save(
        target
    )
    for file in data_files(target):
        file.unlink()
    with refused("PME_BAD_OPTION", "'k'", "no master key"):
        pme.rotate(spark, target, kms=kms, master_keys={"k": "k-2"})
