"""What Vault, or the network to it, can do wrong: each has its condition, and costs few requests and no output."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import pytest

import pme_parquet as pme
from tests.support.canary import data_files
from tests.support.expect import refused, save, untouched
from tests.support.kms import answers
from tests.support.kms.access import FOOTER, by_token, encryption, read, rows
from tests.support.kms.answers import Answer
from tests.support.kms.loopback import DROPPED, Fault
from tests.support.kms.transit_server import TransitServer
from tests.support.kms.vault_state import LOOK_UP

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kms.transit_key import TransitKey

# Where a test waits for the client to give up, it gives up soon.
SOON = {"kms.timeoutSeconds": "1"}
MOST_ATTEMPTS = 6
LONG = 10


class Failure(NamedTuple):
    """What every request is answered with, and words that say so in the error."""

    fault: Fault
    mention: str


def answered(answer: Answer) -> Fault:
    return Fault(answer)


# Asked once: nothing changes by asking again.
FINAL = {
    "sealed": Failure(answered(answers.SEALED), "sealed"),
    "a token that is none": Failure(answered(answers.INVALID_TOKEN), "token"),
    "no such mount": Failure(answered(answers.no_route("transit/encrypt/footer")), "'transit'"),
    "throttled for longer than there is time": Failure(answered(answers.throttled(60)), "429"),
    "a web page": Failure(answered(Answer(200, b"<html>It works!</html>")), "status 200"),
    "nothing": Failure(answered(Answer(200, b"")), "status 200"),
    "no body at all": Failure(answered(Answer(204, b"")), "status 204"),
    "cut JSON": Failure(answered(Answer(200, b'{"data":{"cipher')), "status 200"),
    "a list": Failure(answered(Answer(200, [])), "status 200"),
    "no data": Failure(answered(Answer(200, {"data": None})), "status 200"),
    "a key that is no text": Failure(answered(answers.data({"ciphertext": 7, "plaintext": {"a": 1}})), "status 200"),
    "too few results": Failure(answered(answers.data({"batch_results": []})), "status 200"),
    "results that are none": Failure(answered(answers.data({"batch_results": [{}]})), "status 200"),
    "a refusal without a reason": Failure(answered(answers.error(400)), "status 400"),
    "a status of nobody's": Failure(answered(Answer(418, b"")), "status 418"),
}
# Asked again, for some of the time that there is.
PASSING = {
    "internal error": Failure(answered(answers.INTERNAL), "500"),
    "bad gateway": Failure(answered(Answer(502, b"<html>")), "502"),
    "unavailable": Failure(answered(Answer(503, b"<html>")), "503"),
    "gateway timeout": Failure(answered(Answer(504, b"")), "504"),
    "a replica behind": Failure(answered(answers.BEHIND), "412"),
    "throttled": Failure(answered(answers.throttled(0)), "429"),
    "dropped connections": Failure(DROPPED, "reached"),
}


def asked_soon(vault: TransitServer, directory: Path) -> dict[str, str]:
    return by_token(vault, directory).options() | SOON


@pytest.mark.parametrize("name", FINAL)
def test_a_write_that_cannot_succeed_asks_once(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path, name: str
) -> None:
    server.inject(FINAL[name].fault, times=None)
    refusal = refused("PME_KMS_UNAVAILABLE", server.url, FINAL[name].mention, never=tuple(server.state.tokens))
    with untouched(target), refusal:
        save(frame, target, encryption(by_token(server, tmp_path)).options() | SOON)
    assert len(server.calls) == 1


@pytest.mark.parametrize("name", FINAL)
def test_a_read_that_cannot_succeed_asks_once(
    spark: SparkSession, server: TransitServer, table: str, tmp_path: Path, name: str
) -> None:
    options = asked_soon(server, tmp_path)
    server.inject(FINAL[name].fault, times=None)
    with refused("PME_KMS_UNAVAILABLE", ".parquet", FINAL[name].mention, never=tuple(server.state.tokens)):
        read(spark, table, options).collect()
    assert len(server.calls) == 1


@pytest.mark.parametrize("name", PASSING)
def test_a_failure_that_does_not_pass_is_given_up(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path, name: str
) -> None:
    server.inject(PASSING[name].fault, times=None)
    refusal = refused("PME_KMS_UNAVAILABLE", server.url, PASSING[name].mention, never=tuple(server.state.tokens))
    with untouched(target), refusal:
        save(frame, target, encryption(by_token(server, tmp_path)).options() | SOON)
    assert 2 <= len(server.calls) <= MOST_ATTEMPTS


@pytest.mark.parametrize("name", PASSING)
def test_a_failure_that_passes_is_not_seen(
    spark: SparkSession, server: TransitServer, table: str, frame: DataFrame, tmp_path: Path, name: str
) -> None:
    server.inject(PASSING[name].fault, times=2)
    assert rows(read(spark, table, by_token(server, tmp_path).options())) == rows(frame)
    # Three keys are unwrapped; the first at the third attempt.
    assert len(server.calls) == 5


def test_a_vault_that_asks_to_wait_is_asked_after_that(
    spark: SparkSession, server: TransitServer, table: str, frame: DataFrame, tmp_path: Path
) -> None:
    server.inject(answers.throttled(1))
    began = time.monotonic()
    assert rows(read(spark, table, by_token(server, tmp_path).options())) == rows(frame)
    assert time.monotonic() - began >= 1
    assert len(server.calls) == 4


def test_a_vault_that_is_not_there_is_unavailable(
    spark: SparkSession, frame: DataFrame, table: str, target: str, tmp_path: Path
) -> None:
    with TransitServer() as gone:
        options = asked_soon(gone, tmp_path)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", gone.url, "reached"):
        save(frame, target, options | {"uniformKey": FOOTER})
    with refused("PME_KMS_UNAVAILABLE", ".parquet", gone.url, "reached"):
        read(spark, table, options).collect()


@pytest.mark.parametrize("cut", [False, True], ids=["no answer", "half an answer"])
def test_a_vault_that_does_not_finish_its_answer_is_given_up_in_time(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path, *, cut: bool
) -> None:
    options = encryption(by_token(server, tmp_path)).options() | SOON
    server.inject(Fault(answers.data({"ciphertext": "vault:v1:AAAA"}), delay=LONG, cut=cut), times=None)
    began = time.monotonic()
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "1 s"):
        save(frame, target, options)
    assert time.monotonic() - began < LONG / 2
    assert len(server.calls) == 1


def test_a_write_that_vault_refuses_halfway_leaves_no_data_files(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    # The driver tries the three keys before there is a job; then each file asks for its own.
    server.inject(Fault(delay=0.001), times=4)
    server.inject(answers.DENIED, times=None, path="encrypt")
    # Not `refused`, which takes the number of Spark's attempt, part of the file's name, for a secret.
    with pytest.raises(pme.PmeError) as failed:
        save(frame, target, encryption(by_token(server, tmp_path), double_wrapping=False).options())
    assert failed.value.condition == "PME_KEY_DENIED"
    assert server.count("encrypt") == 5
    assert server.count(LOOK_UP) == 1
    assert data_files(target) == []


def test_a_table_that_was_there_stays_when_vault_refuses(
    spark: SparkSession, server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = by_token(server, tmp_path)
    save(frame, target, encryption(keys).options())
    server.inject(answers.SEALED)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "sealed"):
        written = encryption(keys).options()
        frame.limit(1).write.format("pme-parquet").options(**written).mode("overwrite").save(target)
    assert rows(read(spark, target, keys.options())) == rows(frame)


def test_a_standby_may_send_on_to_the_active_node(
    spark: SparkSession,
    server: TransitServer,
    held: dict[str, TransitKey],
    table: str,
    frame: DataFrame,
    tmp_path: Path,
) -> None:
    options = by_token(server, tmp_path).options()
    with TransitServer(keys=held) as active:
        active.state.tokens.update(server.state.tokens)
        for key in held:
            path = f"/v1/transit/decrypt/{key}"
            onward = Answer(307, b"", {"Location": f"{active.url}{path}"})
            server.inject(onward, times=None, path=f"decrypt/{key}")
        assert rows(read(spark, table, options)) == rows(frame)
        assert sorted(active.paths()) == sorted(server.paths())
