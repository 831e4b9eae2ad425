"""Rounds of processes: each variant is measured in new JVMs, and the variants alternate from round to round."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pme_parquet as pme
from bench.variants import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

Numbers = dict[str, list[float]]


def parser(description: str | None, repetitions: int) -> argparse.ArgumentParser:
    """Return a parser of the options of such a measurement: ``process`` has the place and the work of a process."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--rounds", type=int, default=3)
    made.add_argument("--repetitions", type=int, default=repetitions)
    made.add_argument("--process", nargs=2, metavar=("PLACE", "WORK"), help=argparse.SUPPRESS)
    return made


def in_process(module: str, arguments: Sequence[str], place: Path, work: str) -> Numbers:
    """Run a module again for some work, show what it found, and return it: all rounds can take an hour."""
    command = [sys.executable, "-m", module, *arguments, "--process", str(place), work]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: Numbers = json.loads(done.stdout.splitlines()[-1])
    rounded = {step: [round(value, 2) for value in values] for step, values in found.items()}
    print(work, json.dumps(rounded), file=sys.stderr)  # noqa: T201 for the user
    return found


def alternating(names: Sequence[str], rounds: int) -> Iterator[str]:
    """Yield each name once a round, and begin each round with another one."""
    for number in range(rounds):
        first = number % len(names)
        yield from [*names[first:], *names[:first]]


def session(settings: Mapping[str, str]) -> SparkSession:
    """Start Spark as the other cases do, with more settings."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 only the process that measures loads Spark

    builder = SparkSession.builder.master("local[2]").appName("pme-parquet bench")
    for setting, value in SETTINGS.items():
        builder = builder.config(setting, value)
    builder = pme.configure(builder)
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("ERROR")
    return started
