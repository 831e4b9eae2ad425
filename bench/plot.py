"""Ratios as bars: one picture for each group of cases, as SVG and PNG."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from bench.ratios import PLAIN, lines

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from bench.measure import Sample
    from bench.ratios import Line

# The colours of Okabe and Ito, which colour-blind people can distinguish.
COLOURS = {
    "builtin-ctr": "#E69F00",
    "builtin-gcm": "#D55E00",
    "pme-spark": "#56B4E9",
    "pme": "#0072B2",
    "pme-accp": "#009E73",
    "pme-uniform": "#0072B2",
    "pyarrow": "#CC79A7",
    "duckdb": "#999999",
    "pyarrow-plain": "#E6B8D2",
    "duckdb-plain": "#CCCCCC",
}
INCHES = 0.2
MOST = 3.0
OUTLINE = withStroke(linewidth=1.2, foreground="black")


class Picture(NamedTuple):
    """A file, its title, and the cases it shows."""

    name: str
    title: str
    cases: tuple[str, ...]


PICTURES = (
    Picture("ratios-columns", "Scans taken as columns, and small files", ("columns", "growth")),
    Picture("ratios", "Scans, queries, writes", ("scan", "q1", "q6", "q14", "projection", "write")),
    Picture("ratios-files", "Small files and wide tables", ("small-files", "wide", "wide-5")),
    Picture("ratios-selectivity", "Rows found by a filter", ("sorted", "unsorted")),
    Picture("ratios-pages", "Page sizes and codecs", ("pages",)),
    Picture("ratios-outsiders", "Other engines, one key", ("outsiders", "outsiders-3")),
)


def draw(directory: Path, samples: list[Sample], subtitle: str) -> list[Path]:
    """Draw every picture that has data; return the files."""
    mpl.rcParams["svg.hashsalt"] = "bench"
    files = []
    found = [line for line in lines(samples) if PLAIN in line.ratios and line.variant in COLOURS]
    for picture in PICTURES:
        shown = [line for line in found if line.case in picture.cases]
        if shown:
            figure = drawn(picture, shown, subtitle)
            for kind in ("svg", "png"):
                files.append(directory / f"{picture.name}.{kind}")
                figure.savefig(files[-1], dpi=150, bbox_inches="tight")
    return files


def drawn(picture: Picture, shown: list[Line], subtitle: str) -> Figure:
    """Draw wall time on the left and CPU time on the right."""
    labels = list(dict.fromkeys(line.label for line in shown))
    names = [name for name in COLOURS if any(line.variant == name for line in shown)]
    figure = Figure(figsize=(11, 1.6 + len(labels) * INCHES * (len(names) + 1)))
    axes = figure.subplots(1, 2, sharey=True)
    for axis, metric, title in zip(axes, ("wall", "cpu"), ("wall time", "CPU time"), strict=True):
        bars(axis, labels, names, shown, metric)
        axis.set_title(f"{title}, Spark's plaintext Parquet = 1", fontsize=10)
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].invert_yaxis()
    handles, texts = axes[0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="upper center", ncols=len(names), frameon=False, bbox_to_anchor=(0.5, 0.0))
    figure.suptitle(f"{picture.title}\n{subtitle}", fontsize=11)
    figure.tight_layout()
    return figure


def bars(axis: Axes, labels: list[str], names: list[str], shown: list[Line], metric: str) -> None:
    """Draw one bar per line, with whiskers from the lowest to the highest round."""
    height = 1 / (len(names) + 1)
    for index, name in enumerate(names):
        offset = (index - (len(names) - 1) / 2) * height
        own = [line for line in shown if line.variant == name and metric in line.ratios[PLAIN]]
        ratios = [line.ratios[PLAIN][metric] for line in own]
        places = [labels.index(line.label) + offset for line in own]
        spread = [[r.median - r.low for r in ratios], [r.high - r.median for r in ratios]]
        medians = [r.median for r in ratios]
        style = {"ecolor": "#333333", "capsize": 1.5, "elinewidth": 0.8}
        axis.barh(places, medians, height=height * 0.9, color=COLOURS[name], label=name, xerr=spread, error_kw=style)
        for place, value in zip(places, medians, strict=True):
            axis.text(0.02, place, f"{value:.2f}", va="center", fontsize=6, color="white", path_effects=[OUTLINE])
    axis.axvline(1.0, color="black", linewidth=1)
    # A bar that is far longer than the others is cut; its number is not.
    axis.set_xlim(0, min(MOST, max(1.2, *(1.05 * line.ratios[PLAIN][metric].high for line in shown))))
    axis.grid(axis="x", linewidth=0.4, alpha=0.5)
    axis.set_axisbelow(True)
