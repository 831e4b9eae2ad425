"""The targets that this project has set itself, and whether a run met them. Medians decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bench.ratios import BUILTIN, PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.ratios import Line, Ratio

TIMES = ("wall", "cpu")
RARE = ("0.1 %", "0.01 %", "0.001 %", "point")


class Target(NamedTuple):
    """At most this ratio for the lines it names; an empty field names all."""

    text: str
    variant: str
    baseline: str
    limit: float
    case: str = ""
    queries: tuple[str, ...] = ()
    temperature: str = ""
    metrics: tuple[str, ...] = TIMES

    def names(self, line: Line) -> bool:
        """Return whether the target is about this line."""
        return (
            line.variant == self.variant
            and self.baseline in line.ratios
            and self.case in {"", line.case}
            and self.temperature in {"", line.temperature}
            and (not self.queries or line.query in self.queries)
        )


class Verdict(NamedTuple):
    """The result of one line for one target."""

    target: str
    line: str
    variant: str
    baseline: str
    metric: str
    ratio: Ratio
    limit: float

    @property
    def met(self) -> bool:
        """Whether the median is within the limit."""
        return self.ratio.median <= self.limit


TARGETS = (
    Target("warm full scan", "pme", PLAIN, 1.00, "scan", temperature="warm"),
    Target("warm full scan with ACCP", "pme-accp", PLAIN, 1.00, "scan", temperature="warm"),
    Target("cold full scan", "pme", PLAIN, 1.15, "scan", temperature="cold"),
    Target("cold full scan with ACCP", "pme-accp", PLAIN, 1.05, "scan", temperature="cold"),
    Target("rare match, unsorted column", "pme", PLAIN, 0.50, "unsorted", RARE),
    Target("warm write", "pme", PLAIN, 1.03, "write", temperature="warm"),
    Target("cold write", "pme", PLAIN, 1.08, "write", temperature="cold"),
    Target("cold full scan against built-in", "pme", BUILTIN, 0.75, "scan", temperature="cold"),
    Target("nowhere slower than built-in", "pme", BUILTIN, 1.00),
    Target("peak heap of a scan against built-in", "pme", BUILTIN, 1.00, "scan", metrics=("peak",), temperature="warm"),
)


def verdicts(lines: Iterable[Line]) -> list[Verdict]:
    """Return the results of every line that a target names."""
    found = list(lines)
    return [
        Verdict(
            target.text,
            line.label,
            line.variant,
            target.baseline,
            metric,
            line.ratios[target.baseline][metric],
            target.limit,
        )
        for target in TARGETS
        for line in found
        if target.names(line)
        for metric in target.metrics
        if metric in line.ratios[target.baseline]
    ]
