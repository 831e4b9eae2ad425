"""What a snapshot costs and saves: point queries and scans of many files, sealed and not, and the time to seal.

    python -m bench.snapshots --files 1000 10000
    python -m bench.snapshots --files 100000 --rounds 1 --iceberg iceberg-spark-runtime-4.1_2.13-1.12.0.jar

Each variant of a round is a new JVM, and the variants alternate from round to round. The tables have equal rows, sorted
by ``id``. The index of the sealed tables is on ``id``: least and greatest values, or a Bloom filter. Counts of requests
come from runs of their own.
"""

from __future__ import annotations

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
from bench import rounds
from bench.jars import SPARK_JARS
from bench.variants import master_keys, static_keys

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from bench.rounds import Numbers

ROWS_OF_FILE = 100
TABLE = "iceberg"
PLAIN, UNSEALED, SEALED, BLOOM = "plain", "unsealed", "sealed", "bloom"
QUERIES = ("point", "scan")


def main() -> int:
    """Make the tables, measure in new processes, and print medians."""
    parser = rounds.parser(__doc__, repetitions=5)
    parser.add_argument("--files", type=int, nargs="+", default=[1000])
    parser.add_argument("--iceberg", type=Path, help="Iceberg's runtime jar for this Spark, to measure it too")
    arguments = parser.parse_args()
    if arguments.process:
        place, work = arguments.process
        print(json.dumps(Process(Path(place), arguments).run(work)))  # noqa: T201 the result of this process
        return 0
    for files in arguments.files:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), files, arguments, sys.argv[1:])
    return 0


def measure(place: Path, files: int, given: argparse.Namespace, arguments: Sequence[str]) -> None:
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

    def process(work: str) -> Numbers:
        return rounds.in_process("bench.snapshots", [*arguments, "--files", str(files)], place, work)

    made = process("make")
    names = [PLAIN, UNSEALED, SEALED, BLOOM, *([TABLE] if given.iceberg else [])]
    timed: dict[str, list[Numbers]] = {name: [] for name in names}
    for name in rounds.alternating(names, given.rounds):
        # A JVM for each query: opening thousands of files in one would warm up the other.
        ofs = [process(f"time {name} {query}") for query in QUERIES]
        timed[name].append({step: seconds for one in ofs for step, seconds in one.items()})
    show(files, made, timed, {name: process(f"count {name}") for name in names})


class Process:
    """The work of one process with a JVM of its own."""

    def __init__(self, place: Path, arguments: argparse.Namespace) -> None:
        self.place, self.arguments = place, arguments
        self.files = arguments.files[0]
        self.keys = static_keys(master_keys(place / "keys.json"), place / "keys.txt")
        self.seconds: Numbers = {}

    def run(self, work: str) -> Numbers:
        """Do the work that a text names."""
        kind, *names = work.split()
        spark = self.session(counting=kind == "count")
        if kind == "make":
            self.make(spark)
        elif kind == "time":
            self.time(spark, *names)
        else:
            self.count(spark, *names)
        return self.seconds

    def session(self, *, counting: bool) -> SparkSession:
        """Start Spark with Iceberg, if it is measured, and with the file system that counts, if it is to count."""
        more: dict[str, str] = {}
        if self.arguments.iceberg:
            more |= {
                "spark.jars": f"{pme.jar_path()},{self.arguments.iceberg.resolve()}",
                "spark.sql.catalog.bench": "org.apache.iceberg.spark.SparkCatalog",
                "spark.sql.catalog.bench.type": "hadoop",
                "spark.sql.catalog.bench.warehouse": str(self.place / "warehouse"),
            }
        if counting:
            more |= {
                "spark.driver.extraClassPath": str(self.place / "classes"),
                "spark.hadoop.fs.file.impl": "CountingFileSystem",
            }
        return rounds.session(more)

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
        self.noted("seal", lambda: pme.seal(spark, sealed, index=[pme.MinMax("id")], expect="unsealed", **keys))
        self.noted("seal again", lambda: pme.seal(spark, sealed, **keys))
        self.noted(
            "seal, with Bloom filters",
            lambda: pme.seal(spark, bloom, index=[pme.Bloom("id")], expect="unsealed", **keys),
        )

    def condition(self, query: str) -> str:
        """What one row fulfils, or all do."""
        return f"id = {self.files * ROWS_OF_FILE // 2}" if query == "point" else "value >= 0"

    def time(self, spark: SparkSession, name: str, query: str) -> None:
        """Time a query."""
        condition = self.condition(query)
        for _ in range(self.arguments.repetitions):
            self.noted(query, lambda: self.total(spark, name, condition))
        runtime = spark._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]  # noqa: SLF001
        spark._jvm.java.lang.System.gc()  # type: ignore[union-attr]  # noqa: SLF001
        self.seconds[f"heap {query}"] = [(runtime.totalMemory() - runtime.freeMemory()) / 2**20]

    def count(self, spark: SparkSession, name: str) -> None:
        """Count the requests of each query."""
        counter = spark._jvm.CountingFileSystem  # type: ignore[union-attr]  # noqa: SLF001
        self.total(spark, name, self.condition("point"))
        for query in QUERIES:
            counter.counted()
            self.total(spark, name, self.condition(query))
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


def show(files: int, made: Numbers, timed: dict[str, list[Numbers]], counts: dict[str, Numbers]) -> None:
    """Print the median, least and most seconds of each step, the first of a JVM apart."""
    lines = [f"{files:,} files"]
    lines += [f"  {step:28} {_spread(some)}" for step, some in made.items()]
    for name, some in timed.items():
        lines.append(f"  {name}")
        for query in QUERIES:
            first = [one[query][0] for one in some]
            later = [second for one in some for second in one[query][1:]]
            spreads = "   ".join(
                f"{text} {_spread(some)}" for text, some in (("first", first), ("later", later)) if some
            )
            opened, listed, looked_up = map(int, counts[name][query])
            lines.append(f"    {query:6} {spreads}   {opened:,} opened, {listed:,} listed, {looked_up:,} looked up")
            lines.append(f"           driver's heap {_spread([one[f'heap {query}'][0] for one in some], 'MiB')}")
    print("\n".join(lines))  # noqa: T201 for the user


def _spread(values: Sequence[float], unit: str = "s") -> str:
    return f"{statistics.median(values):.2f} {unit} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    sys.exit(main())
