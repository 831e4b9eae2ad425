"""From samples to ratios: each variant beside a baseline of the same round, then median and spread over the rounds."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bench.measure import Sample

PLAIN, BUILTIN = "plain", "builtin-gcm"
BASELINES = (PLAIN, BUILTIN)


class Ratio(NamedTuple):
    """Median and extremes of the rounds' ratios."""

    median: float
    low: float
    high: float
    rounds: int


class Line(NamedTuple):
    """One query, cold or warm, with one variant: its medians, and its ratios by baseline and metric."""

    case: str
    query: str
    temperature: str
    variant: str
    medians: dict[str, float]
    ratios: dict[str, dict[str, Ratio]]

    @property
    def label(self) -> str:
        """Case and query in one, without repetition."""
        name = self.case if self.query in {self.case, "scan", "small", "3-of-16"} else f"{self.case} {self.query}"
        return f"{name} {self.temperature}"


def lines(samples: list[Sample]) -> list[Line]:
    """Return a line for each query and variant, in the order of the samples' cases and queries."""
    groups: dict[tuple[str, str, str], dict[str, dict[int, dict[str, float]]]] = defaultdict(lambda: defaultdict(dict))
    for sample in samples:
        groups[sample.case, sample.query, sample.temperature][sample.variant][sample.round] = sample.values
    return [
        Line(
            *key,
            variant,
            {metric: median(values[metric] for values in rounds.values()) for metric in next(iter(rounds.values()))},
            {base: compared(rounds, by_variant[base]) for base in BASELINES if base in by_variant and base != variant},
        )
        for key, by_variant in groups.items()
        for variant, rounds in by_variant.items()
    ]


def compared(rounds: dict[int, dict[str, float]], base: dict[int, dict[str, float]]) -> dict[str, Ratio]:
    """Return the ratios of the rounds that both have, without metrics for which the baseline has no value."""
    both = sorted(rounds.keys() & base.keys())
    found = {}
    for metric in rounds[both[0]] if both else ():
        if all(base[number][metric] > 0 and rounds[number][metric] > 0 for number in both):
            values = [rounds[number][metric] / base[number][metric] for number in both]
            found[metric] = Ratio(median(values), min(values), max(values), len(values))
    return found
