"""What a cloud's service, or the network to it, can do wrong: each has its condition, and costs few requests."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.kms.clouds import encryption, reading
from tests.support.expect import refused, save, untouched
from tests.support.kms import answers
from tests.support.kms.access import KEYS, read, rows
from tests.support.kms.answers import Answer
from tests.support.kms.loopback import DROPPED, Fault

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.cloud_server import CloudServer

SOON = {"kms.timeoutSeconds": "1"}
MOST_ATTEMPTS = 6
LONG = 10

NO_VALUES = {"kid": 7, "value": {}, "ciphertext": 7, "plaintext": [], "verifiedPlaintextCrc32c": True}

# Asked once: nothing changes by asking again.
FINAL = {
    "throttled for longer than there is time": (Fault(answers.throttled(60)), "429"),
    "a web page": (Fault(Answer(200, b"<html>It works!</html>")), "gave an answer"),
    "nothing": (Fault(Answer(200, b"")), "gave an answer"),
    "cut JSON": (Fault(Answer(200, b'{"ciphertext":"AA')), "gave an answer"),
    "a list": (Fault(Answer(200, [])), "gave an answer"),
    "values that are none": (Fault(Answer(200, NO_VALUES)), "gave an answer"),
    "a web page that refuses": (Fault(Answer(404, b"<html>")), "status 404"),
    "a status of nobody's": (Fault(Answer(418, b"")), "status 418"),
    "sent on elsewhere": (Fault(Answer(307, b"", {"Location": "https://localhost:1/v1"})), "redirects"),
}
# Asked again, for some of the time that there is.
PASSING = {
    "internal error": (Fault(Answer(500, {"error": {}})), "500"),
    "unavailable": (Fault(Answer(503, b"<html>")), "503"),
    "throttled": (Fault(answers.throttled(0)), "429"),
    "dropped connections": (DROPPED, "reached"),
}


@pytest.mark.parametrize("name", FINAL)
def test_a_write_that_cannot_succeed_asks_once(
    cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path, name: str
) -> None:
    fault, mention = FINAL[name]
    options = encryption(cloud.access(tmp_path, KEYS)).options() | SOON
    cloud.inject(fault, times=None, path=cloud.wrap)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", cloud.url, mention, never=cloud.secrets):
        save(frame, target, options)
    assert (cloud.count(cloud.wrap), cloud.count(cloud.login)) == (1, 1)


@pytest.mark.parametrize("name", ["a web page", "a list", "values that are none"])
def test_a_read_that_cannot_succeed_asks_once(
    spark: SparkSession, cloud: CloudServer, cloud_table: str, tmp_path: Path, name: str
) -> None:
    fault, mention = FINAL[name]
    cloud.inject(fault, times=None, path=cloud.unwrap)
    with refused("PME_KMS_UNAVAILABLE", ".parquet", mention, never=cloud.secrets):
        read(spark, cloud_table, reading(cloud, tmp_path)).collect()
    assert cloud.count(cloud.unwrap) == 1


@pytest.mark.parametrize("name", PASSING)
def test_a_failure_that_does_not_pass_is_given_up(
    cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path, name: str
) -> None:
    fault, mention = PASSING[name]
    cloud.inject(fault, times=None, path=cloud.wrap)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", cloud.url, mention, never=cloud.secrets):
        save(frame, target, encryption(cloud.access(tmp_path, KEYS)).options() | SOON)
    assert 2 <= cloud.count(cloud.wrap) <= MOST_ATTEMPTS


@pytest.mark.parametrize("name", PASSING)
def test_a_failure_that_passes_is_not_seen(
    spark: SparkSession, cloud: CloudServer, cloud_table: str, frame: DataFrame, tmp_path: Path, name: str
) -> None:
    cloud.inject(PASSING[name][0], times=2, path=cloud.unwrap)
    assert rows(read(spark, cloud_table, reading(cloud, tmp_path))) == rows(frame)
    assert cloud.count(cloud.unwrap) == len(KEYS) + 2


@pytest.mark.parametrize("what", ["login", "wrap"])
def test_a_slow_service_is_given_up_in_time(
    cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path, what: str
) -> None:
    cloud.inject(Fault(delay=LONG), times=None, path=getattr(cloud, what))
    began = time.monotonic()
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "1 s", never=cloud.secrets):
        save(frame, target, encryption(cloud.access(tmp_path, KEYS)).options() | SOON)
    assert time.monotonic() - began < LONG
    assert cloud.count(getattr(cloud, what)) == 1


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_login_that_is_refused_is_tried_once(
    cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path, status: int
) -> None:
    cloud.inject(Answer(status, {"error": "invalid_grant"}), times=None, path=cloud.login)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "login", str(status), never=cloud.secrets):
        save(frame, target, encryption(cloud.access(tmp_path, KEYS)).options())
    assert (cloud.count(cloud.wrap), cloud.count(cloud.login)) == (0, 1)


@pytest.mark.parametrize(
    "body",
    [b"<html>", {}, {"access_token": 7, "expires_in": 60}, {"access_token": "a\r\nb: c", "expires_in": 60}],
    ids=["a web page", "nothing", "a number", "two lines"],
)
def test_a_token_that_is_none_is_not_used(
    cloud: CloudServer, frame: DataFrame, target: str, tmp_path: Path, body: object
) -> None:
    cloud.inject(Answer(200, body), times=None, path=cloud.login)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "login", never=cloud.secrets):
        save(frame, target, encryption(cloud.access(tmp_path, KEYS)).options())
    assert cloud.count(cloud.wrap) == 0


def test_a_token_that_ends_early_is_replaced_once(
    spark: SparkSession, cloud: CloudServer, cloud_table: str, frame: DataFrame, tmp_path: Path
) -> None:
    refusal = Answer(401, {"error": {"code": "Unauthorized", "status": "UNAUTHENTICATED"}})
    cloud.inject(refusal, times=1, path=cloud.unwrap)
    assert rows(read(spark, cloud_table, reading(cloud, tmp_path))) == rows(frame)
    assert (cloud.count(cloud.unwrap), cloud.count(cloud.login)) == (len(KEYS) + 1, 2)


def test_tokens_that_are_never_taken_are_given_up(
    spark: SparkSession, cloud: CloudServer, cloud_table: str, tmp_path: Path
) -> None:
    refusal = Answer(401, {"error": {"code": "Unauthorized", "status": "UNAUTHENTICATED"}})
    cloud.inject(refusal, times=None, path=cloud.unwrap)
    with refused("PME_KMS_UNAVAILABLE", "token", never=cloud.secrets):
        read(spark, cloud_table, reading(cloud, tmp_path)).collect()
    assert (cloud.count(cloud.unwrap), cloud.count(cloud.login)) == (2, 2)
