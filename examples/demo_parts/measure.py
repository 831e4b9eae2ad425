"""Compare encrypted with plaintext: the same jobs alternate on both copies after a warm-up; medians of the rounds."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING

from demo_parts.evidence import parquet_files, size
from demo_parts.screen import mebibytes, say, table
from demo_parts.tables import best_returns

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from demo_parts.tables import Copy


def compare(spark: SparkSession, sources: dict[str, Path], copies: tuple[Copy, Copy], rounds: int) -> None:
    """Print sizes and times of the two copies, plaintext first."""
    seconds = measure(spark, sources, copies, rounds) if rounds else {}
    sizes = [size(copy.directory) for copy in copies]
    counts = [len(parquet_files(copy.directory)) for copy in copies]
    rows = [
        ("number of files", str(counts[0]), str(counts[1]), ""),
        ("size of the files", mebibytes(sizes[0]), mebibytes(sizes[1]), ratio(sizes[0], sizes[1])),
    ]
    rows += [
        (job, f"{without:.2f} s", f"{with_keys:.2f} s", ratio(without, with_keys))
        for job, (without, with_keys) in seconds.items()
    ]
    say()
    if rounds:
        taken = "1 round" if rounds == 1 else f"{rounds} rounds"
        say(f"Median of {taken}, after a warm-up round that does not count. The two formats take turns to go first.")
        say("One JVM and little data: an impression, not a benchmark.\n")
    say(table(("", "parquet", "pme-parquet", "ratio"), rows))


def measure(
    spark: SparkSession, sources: dict[str, Path], copies: tuple[Copy, Copy], rounds: int
) -> dict[str, tuple[float, float]]:
    """Return, for each job, the median seconds of the two copies."""
    jobs: dict[str, Callable[[Copy], object]] = {
        "write three tables": lambda copy: copy.write_all(spark, sources),
        "read every column": lambda copy: copy.scan(spark),
        "join three tables": lambda copy: best_returns(spark, copy),
    }
    taken: dict[str, tuple[list[float], list[float]]] = {job: ([], []) for job in jobs}
    for number in range(rounds + 1):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        for job, run in jobs.items():
            for which in order:
                start = time.perf_counter()
                run(copies[which])
                # The first job in a JVM pays for compilation, whatever its format.
                if number:
                    taken[job][which].append(time.perf_counter() - start)
        say(f"round {number} of {rounds} done" if number else "warm-up of both done")
    return {job: (median(plain), median(encrypted)) for job, (plain, encrypted) in taken.items()}


def ratio(plain: float, encrypted: float) -> str:
    """Return the ratio of the encrypted copy to the plaintext copy."""
    return f"{encrypted / plain:.2f}"
