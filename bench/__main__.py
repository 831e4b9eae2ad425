"""Measure pme-parquet beside Spark's own Parquet, plaintext and encrypted, and beside other engines.

    make bench                       # TPC-H at scale 1, five rounds: hours, on a machine that does nothing else
    make bench-quick                 # a small scale, two rounds: shows that it works, not how fast it is
    python -m bench --only scan --only q6 --scale 1

Each measurement is a new process with a new JVM; variants take turns, round after round, so that each ratio is of two
measurements taken close together.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench import cases, data, plot, report, tables, thresholds
from bench.measure import Effort, run_case
from bench.place import ROOT, Place
from bench.report import say
from bench.variants import variants

if TYPE_CHECKING:
    from bench.cases import Case
    from bench.measure import Findings, Sample
    from bench.tables import Table
    from bench.variants import Variant

BUSY = 0.5


class Plan(NamedTuple):
    """Everything a run needs to know."""

    place: Place
    cases: list[Case]
    variants: dict[str, Variant]
    tables: dict[str, Table]
    effort: Effort


def main() -> int:
    """Run the cases; 0 when every variant gave the same rows, 1 when one did not or failed, whatever the times."""
    # Raises an exception, so that a measuring process ends with this one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    arguments = parse()
    plan = plan_of(arguments)
    load = os.getloadavg()[0]
    if load > BUSY:
        say(f"The machine is busy (load {load:.1f}): times will not mean much.")
    make_all(plan)
    samples: list[Sample] = []
    cannot: dict[str, dict[str, str]] = {}
    wrong: list[str] = []
    sizes = data.sizes(plan.place, sorted({name for case in plan.cases for name in case.tables()}))
    head = {
        "scale": arguments.scale,
        "effort": plan.effort._asdict(),
        "bytes": sizes,
        "environment": report.environment({}),
    }
    if sizes:
        say(report.sizes(sizes))
    for case in plan.cases:
        say(case.title)
        own = [plan.variants[name] for name in case.variants if name in plan.variants]
        found = run_case(plan.place, case, own, plan.tables, plan.effort)
        keep(found, samples, wrong)
        if found.cannot:
            cannot[case.name] = found.cannot
        head["environment"] |= found.versions
        # After each case, so that stopping a run loses no hours of results.
        report.write_json(plan.place.out / "results.json", head | {"wrong": wrong}, samples, cannot)
    finish(plan, arguments.scale, samples, cannot, wrong)
    return 1 if wrong else 0


def keep(found: Findings, samples: list[Sample], wrong: list[str]) -> None:
    """Add the findings of a case, and report errors at once."""
    samples.extend(found.samples)
    wrong.extend(found.wrong)
    for text in found.wrong:
        say(f"  WRONG {text}")


def finish(
    plan: Plan, scale: float, samples: list[Sample], cannot: dict[str, dict[str, str]], wrong: list[str]
) -> None:
    """Print the table and the targets, and draw the pictures."""
    text = f"\n{report.table(samples, cannot)}\n\n{report.judged(samples)}"
    say(text)
    (plan.place.out / "table.txt").write_text(text.lstrip() + "\n")
    subtitle = f"TPC-H scale {scale:g}, local[2], {plan.effort.rounds} rounds; bars are medians, whiskers extremes"
    for file in plot.draw(plan.place.out, samples, subtitle):
        say(f"{file}")
    say(f"{plan.place.out / 'results.json'}")
    shutil.rmtree(plan.place.out / "scratch", ignore_errors=True)
    for line in wrong:
        say(f"WRONG {line}")


def plan_of(arguments: argparse.Namespace) -> Plan:
    """Make the source data, and from it the thresholds, tables and cases."""
    out: Path = arguments.out.resolve()
    directory = out / "data" / f"scale-{arguments.scale:g}"
    say(f"TPC-H at scale {arguments.scale:g} in {directory}")
    place = Place(out, directory, data.generate(directory / "source", arguments.scale))
    limits = thresholds.ask(place.sources["lineitem"])
    quick: bool = arguments.quick
    growth = sorted({max(1, arguments.most_files * tenths // 10) for tenths in (1, 3, 10)})
    all_tables = tables.tables(
        rows=limits.rows, wide_rows=2_000 if quick else 100_000, small_files=100 if quick else 1_000, growth=growth
    )
    all_cases = cases.cases(limits, growth)
    unknown = [name for name in arguments.only if name not in all_cases]
    if unknown:
        sys.exit(f"There is no case {', '.join(unknown)}: there are {', '.join(all_cases)}.")
    chosen = [case for case in all_cases.values() if not arguments.only or case.name in arguments.only]
    effort = Effort(arguments.pairs, 3, 2, 1) if quick else Effort(arguments.pairs, *arguments.repetitions, 3)
    return Plan(place, chosen, variants(directory, out / "jars"), all_tables, effort)


def make_all(plan: Plan) -> None:
    """Write only the tables that the cases read, for the variants that read them."""
    wanted: dict[str, dict[str, Table]] = {}
    for case in plan.cases:
        for variant in (plan.variants[name] for name in case.variants if name in plan.variants):
            wanted.setdefault(variant.copy, {}).update({name: plan.tables[name] for name in case.tables()})
    for copy, own in wanted.items():
        writers = [variant for variant in plan.variants.values() if variant.copy == copy]
        data.make_copies(plan.place, writers[:1], own.values())


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Compare pme-parquet with Spark's Parquet.")
    parser.add_argument("--scale", type=float, help="TPC-H scale factor; 1 is 6 million lineitems (quick: 0.05)")
    parser.add_argument("--pairs", type=int, help="rounds of new processes (default 5; quick: 2)")
    parser.add_argument(
        "--repetitions",
        type=int,
        nargs=2,
        default=(9, 5),
        metavar=("LONG", "SHORT"),
        help="in each process, at least 3",
    )
    files = "the most small files of the case growth, after a tenth and three tenths (default 10000; quick: 100)"
    parser.add_argument("--most-files", type=int, help=files)
    parser.add_argument("--quick", action="store_true", help="few files, few repetitions: to see that it works")
    parser.add_argument("--only", action="append", default=[], metavar="CASE", help="only this case; may be repeated")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "bench", help="where everything is written")
    arguments = parser.parse_args()
    arguments.scale = arguments.scale or (0.05 if arguments.quick else 1)
    arguments.most_files = arguments.most_files or (100 if arguments.quick else 10_000)
    arguments.pairs = arguments.pairs or (2 if arguments.quick else 5)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
