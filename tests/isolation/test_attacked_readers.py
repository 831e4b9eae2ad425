"""Cached data of one session never answers another that could not read it, whatever names the keys."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

import pytest

from tests.support.cached import filled, having, is_cached
from tests.support.expect import refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from tests.isolation.conftest import Shared
    from tests.support.source import Conf

ALL = ("footer", "pii", "pay")
FEW = ("footer", "pay")
SCHEMA = "id bigint, ssn string, salary double"
FACTORY = {"parquet.crypto.factory.class": "io.pmeparquet.parquet.PmeCryptoFactory"}
SPARKS_V2 = {"spark.sql.sources.useV1SourceList": ""}
LISTED = "\n".join(
    f"{name}={base64.b64encode(hashlib.sha256(f'isolation {name}'.encode()).digest()).decode()}" for name in ALL
)


def alone(options: Mapping[str, str]) -> dict[str, str]:
    return FACTORY | {f"pme-parquet.{name}": value for name, value in options.items()}


# Where one session has the secret to which equal options of two reads refer. Spark knows no setting of these names.
SECRETS = {"own": "secret.of.mine", "under spark.sql": "spark.sql.secret.of.mine", "under hive": "hive.secret.of.mine"}


@pytest.mark.parametrize("setting", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("by", ["parquet", "pme-parquet"])
def test_equal_options_that_refer_to_a_secret_of_one_session_are_read_each_for_itself(
    spark: SparkSession, shared: Shared, by: str, setting: str
) -> None:
    options = {"kms": "static", "kms.static.keys": f"conf:{setting}"}
    given = options if by == "pme-parquet" else alone(options)

    def rows(of: SparkSession) -> DataFrame:
        return of.read.format(by).schema(SCHEMA).options(**given).load(shared.path)

    with filled(rows(having(spark, {setting: LISTED}))):
        with refused("PME_KMS_UNAVAILABLE", setting):
            rows(spark.newSession()).select("ssn").collect()
        assert is_cached(rows(having(spark, {setting: LISTED})))


def test_a_v2_scan_of_spark_is_read_again_after_its_session_has_changed(
    spark: SparkSession, shared: Shared, conf: Conf
) -> None:
    def rows() -> DataFrame:
        return spark.read.schema(SCHEMA).parquet(shared.path)

    with conf(SPARKS_V2 | alone(shared.options(ALL))), filled(rows()):
        assert is_cached(rows())
        with conf(alone(shared.options(FEW))), refused("PME_KEY_NOT_FOUND", "'pii'"):
            rows().select("ssn").collect()


def test_settings_of_spark_sql_do_not_part_sessions(spark: SparkSession, shared: Shared) -> None:
    own = {f"spark.datasource.pme-parquet.{name}": value for name, value in shared.options(ALL).items()}

    def rows(settings: Mapping[str, str]) -> DataFrame:
        return having(spark, own | dict(settings)).read.format("pme-parquet").load(shared.path)

    with filled(rows({})):
        assert is_cached(rows({"spark.sql.shuffle.partitions": "3"}))
        assert not is_cached(rows({"any.other": "3"}))
