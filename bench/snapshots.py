"""What a snapshot costs and saves: point queries and scans of many files, sealed and not, and the time to seal.

    python -m bench.snapshots --files 1000 10000

Each round is a new JVM, and the variants alternate within a round. The tables have equal rows, sorted by ``id``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pme_parquet as pme
from bench.variants import SETTINGS, master_keys, static_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

ROWS_OF_FILE = 100
ROUNDS, REPETITIONS = 3, 5
VARIANTS = ("plain", "unsealed", "sealed")


def main() -> int:
    """Make the tables, measure in new processes, and print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, nargs="+", default=[1000])
    parser.add_argument("--round", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.round:
        measure(arguments.round, arguments.files[0])
        return 0
    for files in arguments.files:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            rounds = [started(place, files) for _ in range(ROUNDS)]
            show(files, rounds)
    return 0


def started(place: Path, files: int) -> dict[str, list[float]]:
    """Measure one round in a process of its own."""
    command = [sys.executable, "-m", "bench.snapshots", "--files", str(files), "--round", str(place)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(place: Path, files: int) -> None:
    """Measure in this process, and print seconds by step as JSON."""
    keys = static_keys(master_keys(place / "keys.json"), place / "keys.txt")
    spark = session()
    seconds: dict[str, list[float]] = {}
    if not (place / "plain").exists():
        make(spark, place, keys, files)
    shutil.rmtree(place / "sealed" / "_pme_snapshots", ignore_errors=True)
    sealed = str(place / "sealed")
    noted(seconds, "seal", lambda: pme.seal(spark, sealed, kms=keys, index=[pme.MinMax("id")], progress=False))
    noted(seconds, "seal again", lambda: pme.seal(spark, sealed, kms=keys, progress=False))
    noted(seconds, "open all footers", lambda: pme.key_usage(spark, str(place / "unsealed"), kms=keys).collect())
    middle = files * ROWS_OF_FILE // 2
    for query, condition in (("point", f"id = {middle}"), ("scan", "value >= 0")):
        for _ in range(REPETITIONS):
            for variant in VARIANTS:
                noted(
                    seconds,
                    f"{query} {variant}",
                    lambda variant=variant, condition=condition: total(spark, place, keys, variant, condition),
                )
    print(json.dumps(seconds))  # noqa: T201 the result of this process


def session() -> SparkSession:
    """Start Spark as the other cases do."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 only the process that measures loads Spark

    builder = pme.configure(SparkSession.builder.master("local[2]").appName("pme-parquet bench"))
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("ERROR")
    return started


def make(spark: SparkSession, place: Path, keys: pme.Static, files: int) -> None:
    """Write the tables: one file for each range of ids."""
    rows = spark.range(0, files * ROWS_OF_FILE, 1, files).selectExpr("id", "id * 0.5 AS value", "uuid() AS text")
    rows.write.parquet(str(place / "plain"))
    encryption = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pay": ["value"]})
    stored = spark.read.parquet(str(place / "plain")).repartitionByRange(files, "id")
    for variant in VARIANTS[1:]:
        pme.write(stored, place / variant, encryption)


def total(spark: SparkSession, place: Path, keys: pme.Static, variant: str, condition: str) -> object:
    """Read a table anew, as a user's first read does, and add up a column."""
    reader = spark.read.format("parquet" if variant == "plain" else "pme-parquet")
    options = {} if variant == "plain" else keys.options()
    frame = reader.options(**options).load(str(place / variant))
    return frame.where(condition).selectExpr("sum(value)").collect()


def noted(seconds: dict[str, list[float]], step: str, work: Callable[[], object]) -> None:
    """Do some work, and note how long it took."""
    began = time.perf_counter()
    work()
    seconds.setdefault(step, []).append(time.perf_counter() - began)


def show(files: int, rounds: list[dict[str, list[float]]]) -> None:
    """Print the median, least and most seconds of each step, the first of a round apart."""
    print(f"{files:,} files, {ROUNDS} JVMs")  # noqa: T201 for the user
    for step in rounds[0]:
        first = [one[step][0] for one in rounds]
        later = [second for one in rounds for second in one[step][1:]]
        texts = [f"{name} {_spread(some)}" for name, some in (("first", first), ("later", later)) if some]
        print(f"  {step:20} {'   '.join(texts)}")  # noqa: T201 for the user


def _spread(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


if __name__ == "__main__":
    sys.exit(main())
