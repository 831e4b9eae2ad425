"""Mutated files, as many as fit into a given time: by bytes, by splices, and inside structures that are sealed again.

``PME_FUZZ_SEED`` chooses the sequence of mutations, ``PME_FUZZ_SECONDS`` how long it runs and ``PME_FUZZ_FIRST`` the
first round. To replay a failure, set its round and no seconds. The files have new keys in every run.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import count, islice
from typing import TYPE_CHECKING

import pytest

from tests.attacks.probe import READERS, THREADS, Probe
from tests.attacks.rounds import EncryptedOnly, Original, Round, round_of
from tests.support import needs
from tests.support.files.anatomy import Anatomy
from tests.support.files.writers import KINDS, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

SEED = int(os.environ.get("PME_FUZZ_SEED", "1"))
SECONDS = float(os.environ.get("PME_FUZZ_SECONDS", "60" if needs.ALL else "2"))
FIRST = int(os.environ.get("PME_FUZZ_FIRST", "0"))

# A read that hangs must not hang the run; the probe reports reads that take over ten seconds.
HANG_SECONDS = 60.0
BATCH = 8 * THREADS


@pytest.fixture(scope="module")
def corpus(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[Original]:
    directory = tmp_path_factory.mktemp("corpus")
    return [Original(kind, Anatomy(written(spark, kind, directory / str(kind)))) for kind in KINDS]


def played(
    spark: SparkSession, rounds: Callable[[int], Round], outcome: Callable[[Round], str]
) -> list[tuple[Round, str]]:
    """Run rounds in turn until the time is over, and return them all with their outcomes."""
    end = time.monotonic() + SECONDS
    done: list[tuple[Round, str]] = []
    numbers = count(FIRST)
    with ThreadPoolExecutor(THREADS) as pool:
        while not done or time.monotonic() < end:
            batch = [rounds(number) for number in islice(numbers, BATCH)]
            futures = [pool.submit(outcome, one) for one in batch]
            if wait(futures, timeout=HANG_SECONDS).not_done:
                spark.sparkContext.cancelAllJobs()
            done += [
                (one, future.result() if future.done() else "no answer")
                for one, future in zip(batch, futures, strict=True)
            ]
    return done


def test_a_mutated_file_gives_its_rows_or_a_named_error(
    spark: SparkSession, corpus: list[Original], tmp_path: Path
) -> None:
    bent = tmp_path / "bent"
    bent.mkdir()
    made = {True: EncryptedOnly, False: Probe}
    with ThreadPoolExecutor(1) as unused:
        probes = {}
        for reader in READERS:
            for narrow, probe in made.items():
                directory = bent / f"{reader}-{narrow}"
                directory.mkdir()
                probes[reader, narrow] = probe(spark, reader, directory, unused)
        done = played(
            spark,
            lambda number: round_of(corpus, SEED, number),
            lambda one: probes[one.reader, one.narrow].outcome(one.attack, one.algorithm),
        )
    print(f"seed {SEED}: {len(done)} rounds from {FIRST}")  # noqa: T201 - shown with a failure
    wrong = []
    for one, outcome in done:
        if one.wrong(outcome):
            saved = tmp_path / f"seed-{SEED}-round-{one.number}.parquet"
            saved.write_bytes(one.attack.content)
            wrong.append(f"seed {SEED}, round {one.number}: {one.name}: {outcome}\n  {saved}")
    assert not wrong, f"{len(wrong)} of {len(done)} rounds\n" + "\n".join(wrong)
    assert spark.range(1).count() == 1, "the JVM does not answer"
