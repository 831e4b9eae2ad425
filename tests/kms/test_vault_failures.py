"""What Vault, or the network to it, can do wrong: it costs few requests and no output. More is in `client`."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

pytestmark = pytest.mark.nightly


MOST_ATTEMPTS = 6


def test_a_write_that_cannot_succeed_asks_once(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    server.seal()
    refusal = refused("PME_KMS_UNAVAILABLE", server.url, "sealed", never=tuple(server.state.tokens))
    with untouched(target), refusal:
        save(frame, target, encryption(by_token(server, tmp_path)).options())
    assert len(server.calls) == 1


def test_a_read_that_cannot_succeed_asks_once(
    spark: SparkSession, server: TransitServer, table: str, tmp_path: Path
) -> None:
    options = by_token(server, tmp_path).options()
    server.inject(Answer(200, b"<html>It works!</html>"), times=None)
    with refused("PME_KMS_UNAVAILABLE", ".parquet", "status 200", never=tuple(server.state.tokens)):
        read(spark, table, options).collect()
    assert len(server.calls) == 1


def test_a_failure_that_does_not_pass_is_given_up(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    server.inject(DROPPED, times=None)
    refusal = refused("PME_KMS_UNAVAILABLE", server.url, "reached", never=tuple(server.state.tokens))
    with untouched(target), refusal:
        save(frame, target, encryption(by_token(server, tmp_path)).options())
    assert len(server.calls) == MOST_ATTEMPTS


def test_a_failure_that_passes_is_not_seen(
    spark: SparkSession, server: TransitServer, table: str, frame: DataFrame, tmp_path: Path
) -> None:
    server.inject(answers.INTERNAL, times=2)
    assert rows(read(spark, table, by_token(server, tmp_path).options())) == rows(frame)
    # Three keys are unwrapped; the first at the third attempt.
    assert len(server.calls) == 5


def test_a_vault_that_is_not_there_is_unavailable(
    spark: SparkSession, frame: DataFrame, table: str, target: str, tmp_path: Path
) -> None:
    with TransitServer() as gone:
        options = by_token(gone, tmp_path).options()
    with untouched(target), refused("PME_KMS_UNAVAILABLE", gone.url, "reached"):
        save(frame, target, options | {"uniformKey": FOOTER})
    with refused("PME_KMS_UNAVAILABLE", ".parquet", gone.url, "reached"):
        read(spark, table, options).collect()


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


def test_an_existing_table_stays_when_vault_refuses(
    spark: SparkSession, server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    keys = by_token(server, tmp_path)
    save(frame, target, encryption(keys).options())
    server.inject(answers.SEALED)
    with untouched(target), refused("PME_KMS_UNAVAILABLE", "sealed"):
        written = encryption(keys).options()
        frame.limit(1).write.format("pme-parquet").options(**written).mode("overwrite").save(target)
    assert rows(read(spark, target, keys.options())) == rows(frame)
