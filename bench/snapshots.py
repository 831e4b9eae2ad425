"""What a snapshot costs and saves: point queries and scans of many files, sealed and not, and the time to seal.

    python -m bench.snapshots --files 1000 10000
    python -m bench.snapshots --files 100000 --rounds 1 --iceberg iceberg-spark-runtime-4.1_2.13-1.12.0.jar

Each variant of a round is a new JVM, and the variants alternate from round to round. The tables have equal rows, sorted
by ``id``. The index of the sealed tables is on ``id``: least and greatest values, or a Bloom filter. Counts of requests
come from runs of their own.
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
from bench.jars import SPARK_JARS
from bench.variants import SETTINGS, master_keys, static_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

ROWS_OF_FILE = 100
TABLE = "iceberg"
PLAIN, UNSEALED, SEALED, BLOOM = "plain", "unsealed", "sealed", "bloom"
Seconds = dict[str, list[float]]


def main() -> int:
    """Make the tables, measure in new processes, and print medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="+", default=[1000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--iceberg", type=Path, help="Iceberg's runtime jar for this Spark, to measure it too")
    parser.add_argument("--process", nargs=2, metavar=("PLACE", "WORK"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.process:
        place, work = arguments.process
        print(json.dumps(Process(Path(place), arguments).run(work)))  # noqa: T201 the result of this process
        return 0
    for files in arguments.files:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), files, sys.argv[1:])
    return 0


def measure(place: Path, files: int, arguments: Sequence[str]) -> None:
    """Measure one number of files."""
    counting = place / "classes"
    subprocess.run(
        [  # noqa: S607 the user's javac
            "javac",
            "-cp",
            f"{SPARK_JARS}/*",
            "-d",
            str(counting),
            str(Path(__file__).with_name("CountingFileSystem.java")),
        ],
        check=True,
    )

    def process(work: str) -> Seconds:
        command = [sys.executable, "-m", "bench.snapshots", *arguments, "--files", str(files)]
        done = subprocess.run([*command, "--process", str(place), work], check=True, stdout=subprocess.PIPE, text=True)
        found: Seconds = json.loads(done.stdout.splitlines()[-1])
        return found

    made = process("make")
    names = [PLAIN, UNSEALED, SEALED, BLOOM, *([TABLE] if "--iceberg" in arguments else [])]
    rounds = rounds_of(arguments)
    timed: dict[str, list[Seconds]] = {name: [] for name in names}
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            timed[name].append(process(f"time {name}"))
    show(files, made, timed, {name: process(f"count {name}") for name in names})


def rounds_of(arguments: Sequence[str]) -> int:
    """The number of rounds that the arguments ask for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_known_args(arguments)[0].rounds  # type: ignore[no-any-return]


class Process:
    """The work of one process with a JVM of its own."""

    def __init__(self, place: Path, arguments: argparse.Namespace) -> None:
        self.place, self.arguments = place, arguments
        self.files = arguments.files[0]
        self.keys = static_keys(master_keys(place / "keys.json"), place / "keys.txt")
        self.seconds: Seconds = {}

    def run(self, work: str) -> Seconds:
        """Do the work that a text names."""
        kind, _, name = work.partition(" ")
        spark = self.session(counting=kind == "count")
        if kind == "make":
            self.make(spark)
        elif kind == "time":
            self.time(spark, name)
        else:
            self.count(spark, name)
        return self.seconds

    def session(self, *, counting: bool) -> SparkSession:
        """Start Spark as the other cases do."""
        from pyspark.sql import SparkSession  # noqa: PLC0415 only the process that measures loads Spark

        builder = SparkSession.builder.master("local[2]").appName("pme-parquet bench")
        for setting, value in SETTINGS.items():
            builder = builder.config(setting, value)
        builder = pme.configure(builder)
        if self.arguments.iceberg:
            builder = (
                builder.config("spark.jars", f"{pme.jar_path()},{self.arguments.iceberg.resolve()}")
                .config("spark.sql.catalog.bench", "org.apache.iceberg.spark.SparkCatalog")
                .config("spark.sql.catalog.bench.type", "hadoop")
                .config("spark.sql.catalog.bench.warehouse", str(self.place / "warehouse"))
            )
        if counting:
            builder = builder.config("spark.driver.extraClassPath", str(self.place / "classes"))
            builder = builder.config("spark.hadoop.fs.file.impl", "CountingFileSystem")
        started = builder.getOrCreate()
        started.sparkContext.setLogLevel("ERROR")
        return started

    def make(self, spark: SparkSession) -> None:
        """Write the tables, one file for each range of ids, and seal two of them."""
        rows = spark.range(0, self.files * ROWS_OF_FILE, 1, self.files)
        rows = rows.selectExpr("id", "id * 0.5 AS value", "sha2(string(id), 256) AS text")
        rows.write.parquet(str(self.place / PLAIN))
        encryption = pme.Encryption(kms=self.keys, footer_key="footer", column_keys={"pay": ["value"]})
        pme.write(rows, self.place / UNSEALED, encryption)
        shutil.copytree(self.place / UNSEALED, self.place / SEALED)
        shutil.copytree(self.place / UNSEALED, self.place / BLOOM)
        if self.arguments.iceberg:
            rows.writeTo(f"bench.db.{TABLE}").using("iceberg").create()
        unsealed, sealed, bloom = (str(self.place / name) for name in (UNSEALED, SEALED, BLOOM))
        keys = {"kms": self.keys, "progress": False}
        self.noted("open all footers", lambda: pme.key_usage(spark, unsealed, kms=self.keys).collect())
        self.noted("seal", lambda: pme.seal(spark, sealed, index=[pme.MinMax("id")], **keys))
        self.noted("seal again", lambda: pme.seal(spark, sealed, **keys))
        self.noted("seal, with Bloom filters", lambda: pme.seal(spark, bloom, index=[pme.Bloom("id")], **keys))

    def queries(self) -> list[tuple[str, str]]:
        """A condition that one row fulfils, and one that all do."""
        return [("point", f"id = {self.files * ROWS_OF_FILE // 2}"), ("scan", "value >= 0")]

    def time(self, spark: SparkSession, name: str) -> None:
        """Time the queries, and the planning of the first."""
        for query, condition in self.queries():
            for _ in range(self.arguments.repetitions):
                self.noted(query, lambda condition=condition: self.total(spark, name, condition))
        runtime = spark._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]  # noqa: SLF001
        spark._jvm.java.lang.System.gc()  # type: ignore[union-attr]  # noqa: SLF001
        self.seconds["heap"] = [(runtime.totalMemory() - runtime.freeMemory()) / 2**20]

    def count(self, spark: SparkSession, name: str) -> None:
        """Count the requests of each query."""
        counter = spark._jvm.CountingFileSystem  # type: ignore[union-attr]  # noqa: SLF001
        self.total(spark, name, self.queries()[0][1])
        for query, condition in self.queries():
            counter.counted()
            self.total(spark, name, condition)
            self.seconds[query] = [float(number) for number in counter.counted().split()]

    def total(self, spark: SparkSession, name: str, condition: str) -> object:
        """Read a table anew, as a user's first read does, and add up a column."""
        if name == TABLE:
            spark.catalog.clearCache()
            frame = spark.read.table(f"bench.db.{TABLE}")
        else:
            reader = spark.read.format("parquet" if name == PLAIN else "pme-parquet")
            options = {} if name == PLAIN else self.keys.options()
            frame = reader.options(**options).load(str(self.place / name))
        return frame.where(condition).selectExpr("sum(value)").collect()

    def noted(self, step: str, work: Callable[[], object]) -> None:
        """Do some work, and note how long it took."""
        began = time.perf_counter()
        work()
        self.seconds.setdefault(step, []).append(time.perf_counter() - began)


def show(files: int, made: Seconds, timed: dict[str, list[Seconds]], counts: dict[str, Seconds]) -> None:
    """Print the median, least and most seconds of each step, the first of a JVM apart."""
    lines = [f"{files:,} files"]
    lines += [f"  {step:28} {_spread(some)}" for step, some in made.items()]
    for name, rounds in timed.items():
        lines.append(f"  {name}: driver's heap afterwards {_spread([one['heap'][0] for one in rounds], 'MiB')}")
        for query in ("point", "scan"):
            first = [one[query][0] for one in rounds]
            later = [second for one in rounds for second in one[query][1:]]
            spreads = "   ".join(
                f"{text} {_spread(some)}" for text, some in (("first", first), ("later", later)) if some
            )
            opened, listed, looked_up = map(int, counts[name][query])
            lines.append(f"    {query:6} {spreads}   {opened:,} opened, {listed:,} listed, {looked_up:,} looked up")
    print("\n".join(lines))  # noqa: T201 for the user


def _spread(values: Sequence[float], unit: str = "s") -> str:
    return f"{statistics.median(values):.2f} {unit} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    sys.exit(main())
