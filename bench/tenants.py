"""What a key for each tenant costs, beside one key for all and beside plaintext: a table that is partitioned by tenant.

    python -m bench.tenants                       # 20 million rows of 5,000 tenants
    python -m bench.tenants --tenants 10 100 1000 --rows 2000000

Each variant of a round is a new JVM, and the variants alternate from round to round. A process writes the table again
and again, one file for each tenant, and then queries it: a scan, and the rows of one tenant. What the KMS was asked
comes from the record of key use, in a process of its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from bench import rounds
from bench.meter import JvmMeter

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bench.rounds import Numbers

PLAIN, ONE, BUCKETS, EACH = "plaintext", "one key", "64 keys", "a key each"
FOOTER_KEYS = {ONE: "all", BUCKETS: "b-{tenant:bucket(64)}", EACH: "t-{tenant}"}
VARIANTS = (PLAIN, *FOOTER_KEYS)
RECORD = "keys.jsonl"
# All partitions of a table are listed by the driver, as Spark does below this number of directories.
SETTINGS = {"spark.sql.sources.parallelPartitionDiscovery.threshold": "100000"}


def main() -> int:
    """Make the rows, measure in new processes, and print medians."""
    parser = rounds.parser(__doc__, repetitions=4)
    parser.add_argument("--tenants", type=int, nargs="+", default=[5000])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--writes", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.process:
        place, work = arguments.process
        print(json.dumps(Process(Path(place), arguments).run(work)))  # noqa: T201 the result of this process
        return 0
    for tenants in arguments.tenants:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), tenants, arguments, sys.argv[1:])
    return 0


def measure(place: Path, tenants: int, given: argparse.Namespace, arguments: Sequence[str]) -> None:
    """Measure one number of tenants."""

    def process(work: str) -> Numbers:
        return rounds.in_process("bench.tenants", [*arguments, "--tenants", str(tenants)], place, work)

    process("make")
    timed: dict[str, list[Numbers]] = {name: [] for name in VARIANTS}
    for name in rounds.alternating(VARIANTS, given.rounds):
        timed[name].append(process(f"time:{name}"))
    show(tenants, given.rows, timed, {name: process(f"count:{name}") for name in FOOTER_KEYS})


class Process:
    """The work of one process with a JVM of its own."""

    def __init__(self, place: Path, arguments: argparse.Namespace) -> None:
        self.place, self.arguments = place, arguments
        self.tenants = arguments.tenants[0]
        self.keys = pme.Static(pme.file(static_keys(place / "keys.txt", self.tenants)))
        self.rows_of_tenant = 0
        self.found: Numbers = {}

    def run(self, work: str) -> Numbers:
        """Do the work that a text names."""
        kind, _, name = work.partition(":")
        spark = rounds.session(SETTINGS)
        if kind == "make":
            self.make(spark)
        elif kind == "time":
            self.time(spark, name)
        else:
            self.count(spark, name)
        return self.found

    def make(self, spark: SparkSession) -> None:
        """Write the source of all tables."""
        rows = spark.range(0, self.arguments.rows, 1, 8).selectExpr(
            f"concat('c', pmod(xxhash64(id), {self.tenants})) AS tenant",
            "id",
            "sha2(string(id), 224) AS name",
            "pmod(xxhash64(id, 1), 1000000) / 100.0D AS amount",
        )
        rows.write.parquet(str(self.place / "source"))

    def time(self, spark: SparkSession, name: str) -> None:
        """Time writes and queries."""
        meter = JvmMeter(spark)
        for _ in range(self.arguments.writes):
            self.measured(meter, "write", lambda: self.write(spark, name, {}))
        table = self.place / name
        files = list(table.rglob("*.parquet"))
        self.found["files"] = [len(files)]
        self.found["MiB"] = [sum(file.stat().st_size for file in files) / 2**20]
        for query in ("scan", "one tenant"):
            for _ in range(self.arguments.repetitions):
                self.measured(meter, query, lambda query=query: self.query(spark, name, query, {}))  # type: ignore[misc]

    def count(self, spark: SparkSession, name: str) -> None:
        """Count what the KMS is asked: as often for a table of few rows, if each tenant has some."""
        self.rows_of_tenant = 40
        name = f"few-{name}"
        for step in ("write", "scan", "one tenant"):
            log = self.place / step / RECORD
            log.parent.mkdir()
            options = {"audit": "require", "audit.file": str(log)}
            if step == "write":
                self.write(spark, name, options)
            else:
                self.query(spark, name, step, options)
            record = pme.key_record(log)
            self.found[step] = [float(sum(1 for use in record.uses if use.result == "granted"))]
            shutil.rmtree(log.parent)

    def write(self, spark: SparkSession, name: str, options: dict[str, str]) -> None:
        """Write the table anew, each tenant from one task."""
        rows = spark.read.parquet(str(self.place / "source"))
        if self.rows_of_tenant:
            rows = rows.where(f"id < {self.rows_of_tenant * self.tenants}")
        rows = rows.repartition(4, "tenant")
        writer = rows.write.mode("overwrite").partitionBy("tenant")
        if name == PLAIN:
            writer.parquet(str(self.place / name))
        else:
            encryption = pme.Encryption(kms=self.keys, footer_key=FOOTER_KEYS[name.removeprefix("few-")])
            options = encryption.options() | options
            writer.format("pme-parquet").options(**options).save(str(self.place / name))

    def query(self, spark: SparkSession, name: str, query: str, options: dict[str, str]) -> object:
        """Read a table anew, as a user's first read does."""
        reader = spark.read.schema("tenant STRING, id BIGINT, name STRING, amount DOUBLE")
        if name == PLAIN:
            frame: DataFrame = reader.parquet(str(self.place / name))
        else:
            options = self.keys.options() | options
            frame = reader.format("pme-parquet").options(**options).load(str(self.place / name))
        if query == "one tenant":
            frame = frame.where("tenant = 'c7'")
        return frame.selectExpr("count(*)", "sum(amount)", "max(name)").collect()

    def measured(self, meter: JvmMeter, step: str, work: Callable[[], Any]) -> None:
        """Do some work, and note its seconds, its processor time and its peak of the heap."""
        meter.reset_peak()
        cpu, wall = meter.cpu(), time.perf_counter()
        work()
        for unit, value in (("s", time.perf_counter() - wall), ("CPU s", meter.cpu() - cpu)):
            self.found.setdefault(f"{step}, {unit}", []).append(value)
        self.found.setdefault(f"{step}, MiB of heap", []).append(meter.peak() / 2**20)


def static_keys(listed: Path, tenants: int) -> Path:
    """Write the keys of all variants to a file, each made of its name: nothing here is secret."""
    names = ["all", *(f"b-{bucket}" for bucket in range(64)), *(f"t-c{tenant}" for tenant in range(tenants))]
    if not listed.is_file():
        listed.touch(mode=0o600)
        keys = ((name, hashlib.sha256(name.encode()).digest()) for name in names)
        listed.write_text("".join(f"{name}={base64.b64encode(key).decode()}\n" for name, key in keys))
    return listed


def show(tenants: int, rows: int, timed: dict[str, list[Numbers]], counts: dict[str, Numbers]) -> None:
    """Print the first of each process and the median of the later ones, also as ratios to one key within a round."""
    lines = [f"{tenants:,} tenants, {rows:,} rows"]
    for name, some in timed.items():
        files, size = some[0].pop("files"), some[0].pop("MiB")
        lines.append(f"  {name}: {files[0]:,.0f} files, {size[0]:,.0f} MiB")
        for step in some[0]:
            ratios = [later(one[step]) / later(base[step]) for one, base in zip(some, timed[ONE], strict=True)]
            first = statistics.median(one[step][0] for one in some)
            text = f"first {first:8.2f}   later {statistics.median(later(one[step]) for one in some):8.2f}"
            lines.append(f"    {step:24} {text}   / one key {statistics.median(ratios):.2f}")
        lines += [f"    {step}: {count[0]:,.0f} decisions of the KMS" for step, count in counts.get(name, {}).items()]
    print("\n".join(lines))  # noqa: T201 for the user


def later(values: Sequence[float]) -> float:
    """Return the median of all but the first, which a JVM warms up with."""
    return statistics.median(values[1:] or values)


if __name__ == "__main__":
    sys.exit(main())
