"""Measure `pme.encrypt` beside reading and writing the same table, and `pme.verify` beside AES-GCM alone.

    python -m bench.copies --scale 1 --pairs 5

Each measurement is a new process with a new JVM, and the ways take turns. *Cold* is the first time in a JVM, *warm* the
last of three. Encrypting includes the second read in which every module is opened; what Spark writes is not read again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import pme_parquet as pme
from bench.data import generator
from bench.meter import JvmMeter, Reading
from bench.place import ROOT
from bench.tables import MONEY
from bench.variants import COLUMN_KEY, FOOTER_KEY, PME, SETTINGS, master_keys, static_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

WAYS = ("read and write", "encrypt", "encrypt in place", "verify")
AES = "AES-GCM alone"
REPETITIONS = 3
FILES = 4
CORES = 2
MODULE_BYTES = 64 * 1024
MARK = "copies-result: "


class Place(NamedTuple):
    """The directories."""

    source: Path
    encrypted: Path
    target: Path
    keys: Path


def place_of(out: Path, scale: float) -> Place:
    """Return the directories for a scale."""
    root = out / "copies" / f"scale-{scale:g}"
    return Place(root / "source", root / "encrypted", root / "target", root / "keys.json")


def encryption(place: Place) -> pme.Encryption:
    """Return the keys of the benchmark: three columns have their own."""
    kms = static_keys(master_keys(place.keys), place.keys.with_suffix(".txt"))
    return pme.Encryption(kms=kms, footer_key=FOOTER_KEY, column_keys={COLUMN_KEY: list(MONEY)})


def step(spark: SparkSession, way: str, place: Place) -> Callable[[], int]:
    """Return the function to measure, which returns the number of bytes that it opened."""
    enc = encryption(place)
    shutil.rmtree(place.target, ignore_errors=True)
    if way == "encrypt in place":
        shutil.copytree(place.source, place.target)

    def run() -> int:
        if way == "read and write":
            frame = spark.read.parquet(str(place.source))
            frame.write.format(PME).options(**enc.options()).save(str(place.target))
        elif way == "encrypt":
            pme.encrypt(spark, str(place.source), str(place.target), enc)
        elif way == "encrypt in place":
            pme.encrypt(spark, str(place.target), enc=enc, in_place=True)
        else:
            return int(pme.verify(spark, str(place.encrypted), options=enc.options()).opened.bytes)
        return 0

    return run


def worker(way: str, place: Place) -> None:
    """Measure one way in one new session, and print the result."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 the other process should not load it

    builder = SparkSession.builder.master(f"local[{CORES}]")
    for name, value in (SETTINGS | pme.spark_config()).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    meter = JvmMeter(spark)
    done = []
    for _ in range(REPETITIONS):
        run = step(spark, way, place)
        before = Reading.before(meter)
        opened = run()
        done.append({**before.until_now(meter), "opened": opened})
    spark.stop()
    sys.stdout.write(f"\n{MARK}{json.dumps(done)}\n")


def measured(way: str, out: Path, scale: float) -> list[dict[str, Any]]:
    """Measure one way in a new process."""
    command = [sys.executable, "-m", "bench.copies", "--out", str(out), "--scale", str(scale), "--worker", way]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if not said:
        sys.exit(f"{way} failed: {done.stderr[-3000:]}")
    found: list[dict[str, Any]] = json.loads(said[-1].removeprefix(MARK))
    return found


def aes() -> list[dict[str, Any]]:
    """Measure AES-GCM alone in a new JVM."""
    arguments = [str(CORES), str(MODULE_BYTES), "3"]
    command = ["java", str(Path(__file__).with_name("AesThroughput.java")), *arguments]
    speed = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return [{"wall": 1.0, "cpu": float(CORES), "opened": speed}]


def prepare(place: Place, scale: float) -> None:
    """Generate the table, and encrypt it once for `verify`."""
    if not place.source.is_dir():
        parts = place.source.with_name("parts")
        command = ["parquet", f"--scale-factor={scale}", "--tables=lineitem", f"--parts={FILES}"]
        subprocess.run([generator(), *command, f"--output-dir={parts}"], check=True, capture_output=True)
        place.source.mkdir(parents=True)
        for file in parts.rglob("*.parquet"):
            file.rename(place.source / file.name)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.copies")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--pairs", type=int, default=5, help="rounds of new processes")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "bench")
    parser.add_argument("--worker", choices=WAYS)
    arguments = parser.parse_args()
    place = place_of(arguments.out.resolve(), arguments.scale)
    if arguments.worker:
        worker(arguments.worker, place)
        return
    prepare(place, arguments.scale)
    found: dict[str, list[list[dict[str, Any]]]] = defaultdict(list)
    for number in range(arguments.pairs):
        for way in WAYS[number % len(WAYS) :] + WAYS[: number % len(WAYS)]:
            if way == "verify" and not place.encrypted.is_dir():
                continue
            found[way].append(measured(way, arguments.out, arguments.scale))
            say(way, found[way][-1])
            if way == "encrypt" and not place.encrypted.is_dir():
                place.target.rename(place.encrypted)
        found[AES].append(aes())
        say(AES, found[AES][-1])
    size = sum(file.stat().st_size for file in place.source.iterdir())
    sys.stdout.write(f"\n{size / 1e6:.0f} MB, {FILES} files, {arguments.pairs} rounds, load {os.getloadavg()}\n")
    for way, rounds in found.items():
        sys.stdout.write(f"{line(way, rounds, found['read and write'])}\n")


def say(way: str, done: list[dict[str, Any]]) -> None:
    """Print one measurement."""
    told = ", ".join(f"{one['wall']:.2f} s ({one['cpu']:.2f} s CPU)" for one in done)
    sys.stdout.write(f"  {way:18} {told}\n")
    sys.stdout.flush()


def line(way: str, rounds: list[list[dict[str, Any]]], base: list[list[dict[str, Any]]]) -> str:
    """Return medians, and the spread of ratios of the same round."""
    text = [f"{way:18}"]
    for name, place in (("cold", 0), ("warm", -1)):
        for metric in ("wall", "cpu"):
            values = [one[place][metric] for one in rounds]
            text.append(f"{name} {metric} {median(values):6.2f}")
        ratios = [other[place]["wall"] / one[place]["wall"] for one, other in zip(rounds, base, strict=False)]
        text.append(f"x{median(ratios):.1f} [{min(ratios):.1f}-{max(ratios):.1f}]")
        speeds = [one[place]["opened"] / one[place]["wall"] / 1e9 for one in rounds]
        if any(speeds):
            text.append(f"{median(speeds):.2f} GB/s [{min(speeds):.2f}-{max(speeds):.2f}]")
    return "  ".join(text)


if __name__ == "__main__":
    main()
