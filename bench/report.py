"""The report of a run: a table to read, JSON to keep."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.ratios import BUILTIN, PLAIN, lines
from bench.targets import verdicts

if TYPE_CHECKING:
    from bench.measure import Sample
    from bench.ratios import Line, Ratio
    from bench.targets import Verdict

MEBI = 1 << 20
HEADER = (
    f"{'':26} {'':12} {'wall':>8} {'CPU':>8} {'peak':>6} {'read':>7} {'alloc':>7}   "
    f"{'wall / plain':18} {'CPU / plain':18} {'wall / builtin-gcm':18} {'CPU / builtin-gcm':18}"
)
NOTES = """\
Ratios are medians of rounds [lowest-highest]. Cold: the first query of a new JVM. Warm: median of the last repetitions.
peak: sum of the heap pools' peaks, MiB (PyArrow, DuckDB: resident memory). read, alloc: MiB per repetition.
What a write writes is read from plaintext Parquet, whose time counts for every variant alike."""


def table(samples: list[Sample], cannot: dict[str, dict[str, str]]) -> str:
    """Return the table of all cases."""
    rows = [HEADER]
    label = ""
    for line in lines(samples):
        rows.append(row(line, "" if line.label == label else line.label))
        label = line.label
    rows += [f"{case}: {name} cannot: {why}" for case, names in cannot.items() for name, why in names.items()]
    return "\n".join([*rows, "", NOTES])


def row(line: Line, label: str) -> str:
    """Return one line of the table."""
    wall, cpu = line.medians["wall"], line.medians["cpu"]
    sizes = (line.medians[metric] / MEBI for metric in ("peak", "read", "allocated"))
    peak, read, allocated = sizes
    ratios = " ".join(
        f"{in_words(line.ratios.get(base, {}).get(metric)):18}"
        for base in (PLAIN, BUILTIN)
        for metric in ("wall", "cpu")
    )
    start = f"{label:26} {line.variant:12} {wall:8.3f} {cpu:8.3f} {peak:6.0f} {read:7.1f} {allocated:7.0f}"
    return f"{start}   {ratios}".rstrip()


def in_words(ratio: Ratio | None) -> str:
    """Return a ratio with its spread."""
    return "" if ratio is None else f"{ratio.median:.2f} [{ratio.low:.2f}-{ratio.high:.2f}]"


def judged(samples: list[Sample]) -> str:
    """Return the targets and their results; of targets for many lines, the missed ones."""
    by_target: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts(lines(samples)):
        by_target[verdict.target].append(verdict)
    rows = ["Targets"]
    for target, found in by_target.items():
        missed = [verdict for verdict in found if not verdict.met]
        limit, baseline = found[0].limit, found[0].baseline
        rows.append(f"  {target}: at most {limit:.2f} of {baseline}: {len(found) - len(missed)} of {len(found)} met")
        shown = found if len(found) <= 8 else missed  # noqa: PLR2004  nobody would read more
        rows += [f"    {verdict_text(verdict)}" for verdict in shown]
    return "\n".join(rows)


def verdict_text(verdict: Verdict) -> str:
    """Return one verdict, with a note if another run might give another one."""
    ratio = verdict.ratio
    over = "met" if verdict.met else f"MISSED by {ratio.median / verdict.limit - 1:.0%}"
    close = ", limit within the spread" if ratio.low <= verdict.limit <= ratio.high else ""
    return f"{verdict.line:26} {verdict.metric:5} {in_words(ratio):18} {over}{close}"


def sizes(bytes_of: dict[str, dict[str, int]]) -> str:
    """Return how large the tables are, copy by copy."""
    rows = (
        f"{name:18} " + ", ".join(f"{copy} {size / MEBI:.2f}" for copy, size in copies.items())
        for name, copies in bytes_of.items()
    )
    return "\n".join(["MiB on the disk", *(f"  {row}" for row in rows)])


def environment(versions: dict[str, str]) -> dict[str, Any]:
    """Return the environment that the numbers depend on."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "pme-parquet": version("pme-parquet"),
        "load before": os.getloadavg()[0],
        **versions,
    }


def cpu_model() -> str:
    """Return the processor's name."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def write_json(file: Path, head: dict[str, Any], samples: list[Sample], cannot: dict[str, dict[str, str]]) -> None:
    """Write all measurements and their results."""
    found = lines(samples)
    content = head | {
        "lines": [
            line._asdict()
            | {"ratios": {base: {m: r._asdict() for m, r in by.items()} for base, by in line.ratios.items()}}
            for line in found
        ],
        "targets": [v._asdict() | {"ratio": v.ratio._asdict(), "met": v.met} for v in verdicts(found)],
        "cannot": cannot,
        "samples": [sample._asdict() for sample in samples],
    }
    file.write_text(json.dumps(content, indent=1) + "\n")


def say(text: str) -> None:
    """Print."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
