"""A KMS that goes during a job, throttles it or loses a key: the right condition, few calls, nothing half done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.kms import answers
from tests.kms.access import by_token, encryption, read, rows
from tests.kms.answers import Answer
from tests.kms.loopback import DROPPED, Fault
from tests.support.canary import files_under
from tests.support.expect import refused, save

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.kms.transit_server import TransitServer

SOON = {"kms.timeoutSeconds": "1"}
MOST_ATTEMPTS = 6
# Tasks that run at the same time. Each may be about to ask.
CORES = 2
PROMPT = 0.001

GONE = {
    "sealed": Fault(answers.SEALED),
    "throttled for good": Fault(answers.throttled(0)),
    "not reached": DROPPED,
    "a web page": Fault(Answer(200, b"<html>It works!</html>")),
}
every_way_to_go = pytest.mark.parametrize("name", GONE)
every_reader = pytest.mark.parametrize("options", [{}, {"scan": "v2"}, {"reader": "spark"}], ids=["v1", "v2", "spark"])


@pytest.fixture
def many(server: TransitServer, frame: DataFrame, tmp_path: Path) -> str:
    """Return a table of many files with wrapped keys of their own."""
    path = str(tmp_path / "many")
    single = encryption(by_token(server, tmp_path), double_wrapping=False).options()
    save(frame, path, single | {"maxRecordsPerFile": "2"})
    server.calls.clear()
    return path


def goes_after(server: TransitServer, calls: int, fault: Fault) -> None:
    """Serve so many calls, and then no more."""
    server.inject(Fault(delay=PROMPT), times=calls)
    server.inject(fault, times=None)


@every_way_to_go
@every_reader
def test_a_vault_that_goes_during_a_read_ends_it_after_few_calls(
    spark: SparkSession,
    server: TransitServer,
    many: str,
    frame: DataFrame,
    tmp_path: Path,
    name: str,
    options: dict[str, str],
) -> None:
    before = 5
    given = spark.read.format("pme-parquet").schema(frame.schema)
    reading = given.options(**by_token(server, tmp_path).options(), **SOON, **options).load(many)
    goes_after(server, before, GONE[name])
    with refused("PME_KMS_UNAVAILABLE", ".parquet", server.url, never=tuple(server.state.tokens)):
        reading.collect()
    # Two tasks ask for the keys of two columns at the same time.
    assert len(server.calls) <= before + 2 * CORES * MOST_ATTEMPTS
    server.heal()
    later = by_token(server, tmp_path).options()
    assert rows(read(spark, many, later)) == rows(frame)


@every_way_to_go
def test_a_vault_that_goes_during_a_write_leaves_nothing(
    server: TransitServer, frame: DataFrame, target: str, tmp_path: Path, name: str
) -> None:
    single = encryption(by_token(server, tmp_path), double_wrapping=False).options() | SOON
    # The driver tries three keys before there is a job; then there are two files, and half of a third.
    before = 3 + 3 * 2 + 1
    goes_after(server, before, GONE[name])
    with pytest.raises(pme.PmeError) as failed:
        save(frame, target, single | {"maxRecordsPerFile": "2"})
    assert failed.value.condition == "PME_KMS_UNAVAILABLE"
    assert len(server.calls) <= before + MOST_ATTEMPTS
    assert list(files_under(target)) == []
    assert not (Path(target) / "_temporary").exists()
