"""What a cloud's service can do wrong, through Spark: one failure of each kind. `client` has the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kms.clouds import encryption, reading
from tests.support.expect import refused, save, untouched
from tests.support.kms.access import KEYS, read, rows
from tests.support.kms.answers import Answer
from tests.support.kms.loopback import DROPPED

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.cloud_server import CloudServer

pytestmark = pytest.mark.nightly

MOST_ATTEMPTS = 6
EXPIRED = Answer(401, {"error": {"code": "Unauthorized", "status": "UNAUTHENTICATED"}})
WEB_PAGE = Answer(200, b"<html>It works!</html>")


def test_a_write_that_cannot_succeed_asks_once(
    cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    options = encryption(cloud.access(tmp_path, KEYS)).options()
    cloud.inject(WEB_PAGE, times=None, path=cloud.wrap)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", cloud.url, "gave an answer", never=cloud.secrets):
        save(frame, target, options)
    assert (cloud.count(cloud.wrap), cloud.count(cloud.login)) == (1, 1)


def test_a_read_that_cannot_succeed_asks_once(
    spark: SparkSession, cloud: CloudServer, cloud_table: str, tmp_path: Path
) -> None:
    cloud.inject(WEB_PAGE, times=None, path=cloud.unwrap)
    with refused("PME_KMS_UNAVAILABLE", ".parquet", "gave an answer", never=cloud.secrets):
        read(spark, cloud_table, reading(cloud, tmp_path)).collect()
    assert cloud.count(cloud.unwrap) == 1


def test_a_failure_that_does_not_pass_is_given_up(
    cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    cloud.inject(DROPPED, times=None, path=cloud.wrap)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", cloud.url, "reached", never=cloud.secrets):
        save(frame, target, encryption(cloud.access(tmp_path, KEYS)).options())
    assert cloud.count(cloud.wrap) == MOST_ATTEMPTS


def test_a_login_that_is_refused_is_tried_once(
    cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    cloud.inject(Answer(400, {"error": "invalid_grant"}), times=None, path=cloud.login)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "login", "400", never=cloud.secrets):
        save(frame, target, encryption(cloud.access(tmp_path, KEYS)).options())
    assert (cloud.count(cloud.wrap), cloud.count(cloud.login)) == (0, 1)


def test_a_token_that_ends_early_is_replaced_once(
    spark: SparkSession, cloud: CloudServer, cloud_table: str, frame: DataFrame, tmp_path: Path
) -> None:
    cloud.inject(EXPIRED, times=1, path=cloud.unwrap)
    assert rows(read(spark, cloud_table, reading(cloud, tmp_path))) == rows(frame)
    assert (cloud.count(cloud.unwrap), cloud.count(cloud.login)) == (len(KEYS) + 1, 2)
