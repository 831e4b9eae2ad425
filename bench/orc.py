"""What encrypted ORC costs: Spark's own ``orc`` with ORC's memory provider, ``pme-orc``, and the migrated table.

    python -m bench.orc --rows 4000000 --rounds 3

The files of the first two are the same. Each variant of a round is a new JVM, and the variants alternate from round to
round. A row has an id, two encrypted columns, and a text. Bytes are those that Hadoop's file systems say were read.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pme_parquet as pme
from bench import rounds
from bench.variants import master_keys, static_keys

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from bench.rounds import Numbers

MEMORY, OURS, MIGRATED = "orc, memory provider", "pme-orc", "pme-parquet, migrated"
QUERIES = {
    "scan": "salary >= 0",
    # Statistics of an encrypted column leave one row group.
    "filter": "salary BETWEEN {middle} AND {middle} + 100",
}


def main() -> int:
    """Make the tables, measure in new processes, and print medians."""
    parser = rounds.parser(__doc__, repetitions=7)
    parser.add_argument("--rows", type=int, default=4_000_000)
    arguments = parser.parse_args()
    if arguments.process:
        place, work = arguments.process
        print(json.dumps(Process(Path(place), arguments).run(work)))  # noqa: T201 the result of this process
        return 0
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), arguments.rounds, sys.argv[1:])
    return 0


def measure(place: Path, number: int, arguments: Sequence[str]) -> None:
    """Measure each variant in processes of its own."""
    rounds.in_process("bench.orc", arguments, place, "make")
    names = [MEMORY, OURS, MIGRATED]
    timed: dict[str, list[Numbers]] = {name: [] for name in names}
    for name in rounds.alternating(names, number):
        timed[name].append(rounds.in_process("bench.orc", arguments, place, name))
    show(timed)


class Process:
    """The work of one process with a JVM of its own."""

    def __init__(self, place: Path, arguments: argparse.Namespace) -> None:
        self.place, self.arguments = place, arguments
        self.raw = master_keys(place / "keys.json")
        self.keys = static_keys(self.raw, place / "keys.txt")
        self.spark = rounds.session({})

    def run(self, work: str) -> Numbers:
        """Make the tables, or time a variant's queries."""
        if work == "make":
            self.make()
            return {}
        self.know_keys()
        found: Numbers = {}
        for query, text in QUERIES.items():
            condition = text.format(middle=self.arguments.rows * 3 // 4)
            for turn in range(self.arguments.repetitions):
                for what, number in self.timed(work, condition).items():
                    when = "first" if turn == 0 else "later"
                    found.setdefault(f"{query} {when} {what}", []).append(number)
        return found

    def make(self) -> None:
        """Write encrypted ORC, and migrate it."""
        rows = self.spark.range(0, self.arguments.rows, 1, 8)
        rows = rows.selectExpr(
            "id", "concat('ssn-', id) AS ssn", "id * 1.5D AS salary", "sha2(string(id), 256) AS text"
        )
        keys = "pay: ssn, salary"
        rows.write.format("pme-orc").options(**self.keys.options(), columnKeys=keys).save(str(self.place / "orc"))
        encryption = pme.Encryption(kms=self.keys, footer_key="footer")
        pme.migrate_orc(
            self.spark, self.place / "orc", self.place / "parquet", encryption, kms=self.keys, progress=False
        )

    def know_keys(self) -> None:
        """Give the master keys to ORC's memory provider."""
        jvm: Any = self.spark._jvm  # noqa: SLF001
        conf = jvm.org.apache.hadoop.conf.Configuration(False)  # noqa: FBT003 - Java has no names of arguments
        conf.set("orc.key.provider", "memory")
        provider = jvm.org.apache.orc.impl.CryptoUtils.getKeyProvider(conf, jvm.java.security.SecureRandom())
        key = bytearray(self.raw["pay"].encode())
        algorithms = {16: "AES_CTR_128", 32: "AES_CTR_256"}
        provider.addKey("pay", 0, getattr(jvm.org.apache.orc.EncryptionAlgorithm, algorithms[len(key)]), key)

    def timed(self, name: str, condition: str) -> dict[str, float]:
        """Run a query on a new DataFrame, and return its seconds, seconds of the processor, and mebibytes read."""
        jvm: Any = self.spark._jvm  # noqa: SLF001
        processor = jvm.java.lang.management.ManagementFactory.getOperatingSystemMXBean()
        read, used, began = self.bytes_read(), processor.getProcessCpuTime(), time.perf_counter()
        self.frame(name).where(condition).selectExpr("count(*)", "sum(salary)", "max(ssn)").collect()
        return {
            "s": time.perf_counter() - began,
            "CPU s": (processor.getProcessCpuTime() - used) / 1e9,
            "MiB": (self.bytes_read() - read) / 2**20,
        }

    def frame(self, name: str) -> DataFrame:
        """Return a variant's table, as a user's first read does."""
        if name == MEMORY:
            return self.spark.read.format("orc").option("orc.key.provider", "memory").load(str(self.place / "orc"))
        format_, folder = ("pme-orc", "orc") if name == OURS else ("pme-parquet", "parquet")
        return self.spark.read.format(format_).options(**self.keys.options()).load(str(self.place / folder))

    def bytes_read(self) -> float:
        """Return the bytes that Hadoop's file systems have read so far."""
        jvm: Any = self.spark._jvm  # noqa: SLF001
        return float(sum(one.getBytesRead() for one in jvm.org.apache.hadoop.fs.FileSystem.getAllStatistics()))


def show(timed: dict[str, list[Numbers]]) -> None:
    """Print the median, least and most of each number, and medians relative to those of the first variant."""
    base: dict[str, float] = {}
    for name, some in timed.items():
        print(name)  # noqa: T201 for the user
        for what in some[0]:
            values = [value for one in some for value in one[what]]
            middle = statistics.median(values)
            ratio = middle / base.setdefault(what, middle)
            print(f"  {what:20} {middle:8.2f} ({min(values):.2f} to {max(values):.2f})  x {ratio:.2f}")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
