"""A KMS that goes during a job, throttles it or loses a key: the right condition, few calls, nothing half done."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.support.canary import files_under
from tests.support.expect import refused, save, untouched
from tests.support.kms import answers
from tests.support.kms.access import FOOTER, PAY, PII, by_token, encryption, read, rows
from tests.support.kms.answers import Answer
from tests.support.kms.counting import FOOTER as COUNTED_FOOTER
from tests.support.kms.counting import encryption as counted
from tests.support.kms.counting import frame as counted_frame
from tests.support.kms.counting import linked, log, written
from tests.support.kms.loopback import DROPPED, Fault

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kms.transit_server import TransitServer

pytestmark = pytest.mark.usefixtures("counting_kms")

SOON = {"kms.timeoutSeconds": "1"}
MOST_ATTEMPTS = 6
FILES = 40
# Tasks that run at the same time. Each may be about to ask.
CORES = 2
PROMPT = 0.001
# For so many seconds a refusal is remembered.
REMEMBERED = 10

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


def most(began: float) -> int:
    """Return how often a refused key may have been asked for since then: once, on a machine that is quick enough."""
    return 1 + int((time.monotonic() - began) / REMEMBERED)


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


def test_a_vault_that_goes_when_a_write_has_begun_is_not_missed(
    spark: SparkSession, server: TransitServer, frame: DataFrame, target: str, tmp_path: Path
) -> None:
    goes_after(server, 3, GONE["sealed"])
    save(frame, target, encryption(by_token(server, tmp_path)).options() | {"maxRecordsPerFile": "2"})
    assert len(server.calls) == 3
    server.heal()
    assert rows(read(spark, target, by_token(server, tmp_path).options())) == rows(frame)


@pytest.mark.parametrize("name", ["throttled for good", "not reached"])
def test_tasks_of_a_read_do_not_each_try_again(
    spark: SparkSession, server: TransitServer, table: str, frame: DataFrame, tmp_path: Path, name: str
) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    for at in range(FILES):
        for file in Path(table).glob("*.parquet"):
            (copies / f"{at}-{file.name}").hardlink_to(file)
    given = spark.read.format("pme-parquet").schema(frame.schema)
    server.inject(GONE[name], times=None)
    with refused("PME_KMS_UNAVAILABLE", ".parquet"):
        given.options(**by_token(server, tmp_path).options(), **SOON).load(str(copies)).collect()
    assert set(server.paths()) == {f"transit/decrypt/{FOOTER}"}
    assert 2 <= len(server.calls) <= MOST_ATTEMPTS


def test_a_vault_that_throttles_each_key_once_is_asked_twice_for_each(
    spark: SparkSession, server: TransitServer, table: str, frame: DataFrame, tmp_path: Path
) -> None:
    for key in (FOOTER, PII, PAY):
        server.inject(answers.throttled(0), path=f"decrypt/{key}")
    assert rows(read(spark, table, by_token(server, tmp_path).options())) == rows(frame)
    assert sorted(server.paths()) == sorted(f"transit/decrypt/{key}" for key in (FOOTER, PII, PAY) * 2)


def test_a_vault_that_is_slow_is_waited_for(
    spark: SparkSession, server: TransitServer, table: str, frame: DataFrame, tmp_path: Path
) -> None:
    server.inject(Fault(delay=0.3), times=None)
    assert rows(read(spark, table, by_token(server, tmp_path).options())) == rows(frame)
    assert len(server.calls) == 3


def test_a_destroyed_key_takes_its_columns_and_no_others(
    spark: SparkSession, server: TransitServer, table: str, frame: DataFrame, tmp_path: Path
) -> None:
    del server.keys[PII]
    began = time.monotonic()
    left = read(spark, table, by_token(server, tmp_path).options())
    assert rows(left.select("id", "salary")) == rows(frame.select("id", "salary"))
    for _ in range(3):
        with refused("PME_KEY_NOT_FOUND", f"'{PII}'", ".parquet", "ssn"):
            left.select("ssn").collect()
    assert server.count(f"decrypt/{PII}") <= most(began)


def test_a_key_whose_old_versions_no_longer_decrypt_denies_columns_of_old_files(
    spark: SparkSession, server: TransitServer, frame: DataFrame, tmp_path: Path
) -> None:
    server.create("disabled")
    keys = by_token(server, tmp_path, [FOOTER, "disabled"])
    paths = [str(tmp_path / name) for name in ("old", "new")]
    for path in paths:
        save(frame, path, pme.Encryption(kms=keys, footer_key=FOOTER, column_keys={"disabled": ["ssn"]}).options())
        server.rotate("disabled")
    server.keys["disabled"].min_decryption_version = 2
    server.calls.clear()
    began = time.monotonic()
    old, new = (read(spark, path, keys.options()) for path in paths)
    assert rows(new) == rows(frame)
    assert rows(old.select("id")) == rows(frame.select("id"))
    for _ in range(3):
        with refused("PME_KEY_NOT_FOUND", "'disabled", "version", "ssn"):
            old.collect()
    assert server.count("decrypt/disabled") <= 1 + most(began)


def test_a_stream_whose_kms_goes_stops_and_goes_on_where_it_was(
    spark: SparkSession, target: str, tmp_path: Path
) -> None:
    user, down = log(tmp_path), tmp_path / "down"
    source = written(spark, tmp_path, 3, 1)
    checkpoint = str(tmp_path / "checkpoint")

    def run() -> None:
        # With other keys at each run: the source is read by who has no keys yet, the sink has keys of each batch.
        stream = spark.readStream.format("pme-parquet").schema(counted_frame(spark, 3, 1).schema)
        sink = stream.options(**log(tmp_path).options()).load(source.path).writeStream.format("pme-parquet")
        made = sink.options(**user.options(down=down), **counted(3)).option("checkpointLocation", checkpoint)
        query: Any = made.trigger(availableNow=True).start(target)
        query.awaitTermination(60)

    run()
    more = counted_frame(spark, 3, 2).write.format("pme-parquet").options(**source.written.options(), **counted(3))
    more.mode("append").save(source.path)
    user.clear()
    down.touch()
    done = {path.name for path in files_under(target) if path.suffix == ".parquet"}
    for _ in range(2):
        with pytest.raises(Exception, match="PME_KMS_UNAVAILABLE"):
            run()
    assert {path.name for path in files_under(target) if path.suffix == ".parquet"} == done
    assert user.count("wrap") == {COUNTED_FOOTER: 2}
    down.unlink()
    run()
    expected = source.rows() + source._replace(files=2).rows()
    assert rows(read(spark, target, log(tmp_path).options())) == sorted(expected)


def test_an_overwrite_whose_kms_times_out_leaves_the_table(spark: SparkSession, target: str, tmp_path: Path) -> None:
    user, down = log(tmp_path), tmp_path / "down"
    options = user.options(down=down, times_out=True) | counted(3)
    save(counted_frame(spark, 3, 2), target, options)
    down.touch()
    user.clear()
    writer = counted_frame(spark, 3, 1).write.format("pme-parquet").options(**options)
    with untouched(target), refused("PME_KMS_UNAVAILABLE"):
        writer.mode("overwrite").save(target)
    assert user.count("wrap") == {COUNTED_FOOTER: 1}


@every_reader
def test_a_kms_that_times_out_is_asked_once_for_many_tasks(
    spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    table, user, down = linked(written(spark, tmp_path, 3, 1), FILES), log(tmp_path), tmp_path / "down"
    down.touch()
    began = time.monotonic()
    given = spark.read.format("pme-parquet").schema(counted_frame(spark, 3, 1).schema).options(**options)
    for _ in range(3):
        with refused("PME_KMS_UNAVAILABLE", ".parquet"):
            given.options(**user.options(down=down, times_out=True)).load(table.path).collect()
    asked = user.count("unwrap")
    assert set(asked) == {COUNTED_FOOTER}
    assert asked[COUNTED_FOOTER] <= most(began)
