"""The main uses of pme-parquet, on real data: write encrypted, read back, join, inspect, and see who can read what.

    make demo                                   # sets everything up, then runs this
    python examples/demo.py --scale 1 --out /tmp/demo

Each step is a module of ``demo_parts``; ``demo_parts/tables.py`` contains the code that a user of pme-parquet writes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import SparkSession

import pme_parquet as pme
from demo_parts import evidence
from demo_parts.access import MASTER_KEYS, People, create_keystores
from demo_parts.data import TABLES, generate
from demo_parts.measure import compare
from demo_parts.next_steps import farewell
from demo_parts.screen import Screen, errors_into, mebibytes, say, timed
from demo_parts.tables import FORMAT, Copy, best_returns, sales_by_segment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STEPS = 10
ROOT = Path(__file__).resolve().parents[1]


class Work(NamedTuple):
    """The demo's inputs: plaintext sources, the two copies that it writes, the readers, the rounds of measurement."""

    sources: dict[str, Path]
    copies: tuple[Copy, Copy]
    people: People
    rounds: int


def main() -> int:
    """Run the demo; return 0 if every check passed, else 1."""
    arguments = parse()
    out: Path = arguments.out.resolve()
    screen = Screen(STEPS)

    screen.step(f"Real data: TPC-H customer, orders and lineitem at scale {arguments.scale:g}")
    sources = generate(out / f"tpch-{arguments.scale:g}", arguments.scale)
    for name, file in sources.items():
        say(f"{name:9} {mebibytes(file.stat().st_size):>10}  {file}")

    screen.step("Keys: a keystore for the owner, and one without the key 'pii' for an analyst")
    people = create_keystores(out / "keys")
    say(f"master keys {', '.join(MASTER_KEYS)}; generated on this machine just now")

    screen.step("Spark, with the connector for its version")
    with timed("starting"), errors_into(out / "spark.log"):
        spark = start_spark()
    say(f"Spark {spark.version}, connector {Path(pme.jar_path()).name}")

    plain = Copy("parquet", out / "plaintext")
    encrypted = Copy(FORMAT, out / "encrypted", people.owner)
    try:
        failed = run(screen, spark, Work(sources, (plain, encrypted), people, arguments.rounds))
    finally:
        spark.stop()
    farewell(out, people)
    if failed:
        say("\nA check FAILED: see above.", indent=0)
    return 1 if failed else 0


def run(screen: Screen, spark: SparkSession, work: Work) -> bool:
    """Run the steps that need Spark; return whether a check failed."""
    plain, encrypted = copies = work.copies
    checks = []

    screen.step("Write: the same tables as plaintext Parquet and encrypted (the last step has the times)")
    write_all(spark, work.sources, copies)

    screen.step("Read back and join, with all keys")
    with timed("customers who returned most, from the encrypted tables:"):
        answer = best_returns(spark, encrypted)
    for row in answer:
        say(f"{row.c_name}  {row.c_phone}  {row.returned:>14,.2f}", indent=8)
    checks.append(check("the plaintext copy gives the same answer", answer == best_returns(spark, plain)))

    screen.step("Read without the key 'pii', and read a file that was tampered with")
    analyst = encrypted.as_seen_by(work.people.analyst)
    say("the analyst may add up orders by market segment:")
    for row in sales_by_segment(spark, analyst):
        say(f"{row.c_mktsegment:12} {row.sales:>20,.2f}", indent=8)
    say("the analyst asks for phone numbers:")
    checks.append(refused(analyst.read(spark, "customer").select("c_phone")))
    [first, *_] = evidence.parquet_files(encrypted.directory / "customer")
    altered = evidence.tamper(first, encrypted.directory.parent / "tampered")
    say("the owner reads a file in which somebody changed one bit:")
    checks.append(refused(spark.read.format(FORMAT).options(**work.people.owner.options()).load(str(altered))))

    screen.step("Inspect an encrypted table: what anyone can see in it, without a key")
    checks.append(inspect(encrypted.path("orders")))

    screen.step("Look at the bytes on the disk")
    checks += look_at_bytes(spark, plain, encrypted)

    screen.step("Sizes and times compared with Spark's plaintext Parquet")
    compare(spark, work.sources, copies, work.rounds)

    screen.step("Seal a table: a file that disappears is noticed, and a query opens only files that can match")
    checks += seal(spark, encrypted, work.people.owner)
    return not all(checks)


def write_all(spark: SparkSession, sources: dict[str, Path], copies: tuple[Copy, Copy]) -> None:
    """Write every table twice, and print which key protects which columns."""
    for table in TABLES:
        layout = f", partitioned by {', '.join(table.partition_by)}" if table.partition_by else ""
        keys = "; ".join(f"{key}: {', '.join(columns)}" for key, columns in table.column_keys.items())
        say(f"{table.name}{layout}")
        say(f"{keys}; footer: all others", indent=8)
        # Not timed: the first write of a JVM is slow, whatever its format.
        for copy in copies:
            copy.write(spark, sources[table.name], table)
            say(f"written as {copy.format}", indent=8)


def refused(frame: DataFrame) -> bool:
    """Read the frame, which must fail, and print the error that the user sees."""
    try:
        frame.write.format("noop").mode("overwrite").save()
    except pme.PmeError as error:
        say(f"refused: {error.condition}", indent=8)
        say(str(error), indent=8)
        return True
    return check("the read was refused", passed=False)


def inspect(path: str) -> bool:
    """Print what anyone can see in a table's files; return whether they are as expected."""
    report = pme.inspect(path)
    say(str(report))
    encrypted = all(file.encrypted for file in report.files)
    return check(
        f"all {len(report.files)} files are encrypted, and nothing is wrong with their footers",
        encrypted and not report.findings,
    )


def look_at_bytes(spark: SparkSession, plain: Copy, encrypted: Copy) -> list[bool]:
    """Search both copies for the magic bytes and for canaries."""
    files = evidence.parquet_files(encrypted.directory)
    magics = [evidence.magic(file) for file in files]
    say(f"{files[0].relative_to(encrypted.directory)} ends with {magics[0].decode()} (plaintext Parquet: PAR1)")
    canaries = evidence.canaries(spark, plain)
    in_plain = evidence.readable(plain.directory, canaries)
    in_encrypted = evidence.readable(encrypted.directory, canaries)
    example = next((value for value in canaries if value in in_plain and value.startswith("Customer")), "c_phone")
    say(f"{len(canaries)} names, addresses, phone numbers and column names, looked for in every byte of every file:")
    say(
        f"plaintext copy: {len(in_plain)} are readable, for example {example!r} (compression hides the others)",
        indent=8,
    )
    say(f"encrypted copy: {len(in_encrypted)}", indent=8)
    say("anyone can still see: sizes, file names, directory names such as o_orderstatus=F")
    return [
        check(f"all {len(files)} encrypted files end with PARE", set(magics) == {evidence.ENCRYPTED_FOOTER}),
        check("the search finds canaries where they are readable", bool(in_plain)),
        check("no canary is readable in the encrypted copy", not in_encrypted),
    ]


def seal(spark: SparkSession, encrypted: Copy, keys: pme.Keystore) -> list[bool]:
    """Seal a table with an index, query it, and take a file away."""
    table = encrypted.path("lineitem")
    sealed = pme.seal(spark, table, kms=keys, index=[pme.Bloom("l_orderkey")], expect="unsealed", progress=False)
    say(f"version {sealed.version} lists {sealed.files} files, sealed with {sealed.algorithm}")
    say("one order's lines:")
    [scan] = pme.query_stats(encrypted.read(spark, "lineitem").where("l_orderkey = 2")).scans
    say(f"{scan.files_read} of {scan.files} files are read", indent=8)
    file = min(Path(table).glob("*=*/*.parquet"))
    away = file.rename(encrypted.directory.parent / file.name)
    say("somebody takes a file away:")
    noticed = refused(encrypted.read(spark, "lineitem"))
    away.rename(file)
    few = check(f"the query read at most {scan.files} files, and at least one", 0 < scan.files_read <= scan.files)
    return [few, noticed]


def check(claim: str, passed: bool) -> bool:  # noqa: FBT001  reads as a sentence: check(claim, it holds)
    """Print whether the claim holds."""
    say(f"{'ok' if passed else 'FAILED'}: {claim}")
    return passed


def start_spark() -> SparkSession:
    """Start a local Spark on two cores with the right connector jar, and keep it quiet."""
    logging = ROOT / "examples" / "demo_parts" / "log4j2.properties"
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("pme-parquet demo")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={logging.as_uri()}")
    )
    return pme.configure(builder).getOrCreate()


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Write, read and inspect encrypted TPC-H tables.")
    parser.add_argument("--scale", type=float, default=0.25, help="TPC-H scale factor; 1 is 6 million lineitems")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "demo", help="directory for all output")
    rounds = "timed rounds, after a warm-up round; 0 skips the timing"
    parser.add_argument("--rounds", type=int, default=4, help=rounds)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
