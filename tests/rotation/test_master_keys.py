"""Keys get other master keys, as Python reports it; `RotationSuite` and `KeyUsageSuite` have the rest."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.support import tables
from tests.support.canary import data_files
from tests.support.expect import refused, untouched
from tests.support.kms.clients import Remembering
from tests.support.tables import NEW, OLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.rotation.conftest import Made


@pytest.mark.oldest
def test_all_keys_are_wrapped_with_new_master_keys(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made("country", key_material="external")
    with untouched(table.path):
        assert "dry run" in str(pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW, dry_run=True))
        with refused("PME_BAD_OPTION", "'pi'", "footer, pay, pii", "allow_unused"):
            pme.rotate(spark, table.path, kms=table.kms, master_keys={"pi": "pii-2"})

    report = pme.rotate(spark, table.path, kms=table.kms, master_keys=NEW)

    assert report.counts == {"rotated": len(table.pages)}
    assert {(*file.master_keys,) for file in report.files} == {(*sorted(NEW.values()),)}
    assert tables.pages(table.path) == table.pages
    assert tables.found(table.path, table.wrapped) == []
    assert tables.rows(spark, table.path, pme.PythonKms(Remembering(lacks=OLD))) == table.rows
    more = pme.rotate(spark, table.path, kms=table.kms, master_keys={"pii-2": "pii", "no": "one"}, allow_unused=True)
    assert "unchanged: keys under footer-2, pay-2" in str(more)
    assert "pii" in {row.master_key for row in pme.key_usage(spark, table.path, kms=table.kms).collect()}


@pytest.mark.newest
def test_files_that_fail_are_an_error_with_a_report(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made()
    [victim, _] = data_files(table.path)

    class Meddling(Remembering):
        def wrap_key(self, key: bytes, master_key_id: str) -> str:
            os.utime(victim, (0, 0))
            return super().wrap_key(key, master_key_id)

    with pytest.raises(pme.UnsupportedError, match="changed while this ran") as caught:
        pme.rotate(spark, table.path, kms=pme.PythonKms(Meddling()), master_keys=NEW)
    assert caught.value.report.counts == {"failed": 1, "rotated": 1}
    assert victim.name in caught.value.report.failed[0].file
    assert "1 of 2 files failed" in str(caught.value)
    [detail] = [line for line in str(caught.value.report).splitlines() if line.startswith("failed: ")]
    assert victim.name in detail
    assert "changed while this ran" in detail
    with pytest.raises(pme.KeyNotFoundError, match="pii-3") as once:
        pme.rotate(spark, table.path, kms=pme.PythonKms(Remembering(lacks=["pii-3"])), master_keys={"pii": "pii-3"})
    assert once.value.report is None


def test_over_spark_connect_it_is_refused() -> None:
    class ConnectSession:
        """Has no JVM."""

    with refused("PME_UNSUPPORTED", "Spark Connect"):
        pme.rotate(ConnectSession(), "table", kms=pme.KmsClass("a.B"))  # type: ignore[arg-type]
