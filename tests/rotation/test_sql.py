"""Rotation and key usage as table functions, as Python users see them; `RotationFunctionsSuite` has the rest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.functions import udtf

import pme_parquet as pme
from tests.support import tables
from tests.support.frames import call
from tests.support.kms.clients import Remembering
from tests.support.tables import OLD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from tests.rotation.conftest import Made


def test_the_rows_are_those_of_rotate_and_key_usage(spark: SparkSession, made: Callable[..., Made]) -> None:
    table = made("country")
    keys: dict[str, Any] = {"master_keys": {"pii": "pii-2", "footer": "footer-2", "pay": "pay-2"}}
    report = pme.rotate(spark, table.path, kms=table.kms, dry_run=True, **keys)
    options: dict[str, Any] = {"options": table.kms.options()}
    usage = spark.sql(f"SELECT * FROM {call('pme_key_usage', table.path, **options)}")
    python = pme.key_usage(spark, table.path, kms=table.kms)
    assert usage.schema == python.schema
    assert usage.collect() == python.collect() != []
    rows = spark.sql(f"SELECT * FROM {call('pme_rotate', table.path, **keys, **options)}").collect()
    assert [pme.RotatedFile(**row.asDict()) for row in rows] == report.files
    assert tables.rows(spark, table.path, pme.PythonKms(Remembering(lacks=OLD))) == table.rows


def test_a_function_of_the_user_keeps_its_name(spark: SparkSession, target: str) -> None:
    session = spark.newSession()
    Path(target).mkdir()

    class Mine:
        def eval(self, path: str) -> Iterator[tuple[str]]:
            yield (path,)

    mine: Any = udtf(Mine, returnType="mine: string")
    session.udtf.register("pme_rotate", mine)
    session.sql(f"CREATE TEMPORARY VIEW ours (a INT) USING `pme-parquet` OPTIONS (path '{target}')")
    assert session.sql("SELECT * FROM pme_rotate('t')").columns == ["mine"]
    assert "master_key" in session.sql("SELECT * FROM pme_key_usage('t')").columns
